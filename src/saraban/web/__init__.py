"""Pages for people: rendered on the server, in Thai and English, moved by htmx. They call services and decide nothing."""
