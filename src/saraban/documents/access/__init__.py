"""Why somebody may, or may not, do something with a document."""
