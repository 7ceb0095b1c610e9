"""Pages rendered on the server, with htmx. They call services and decide nothing."""
