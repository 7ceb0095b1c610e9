"""Number formats: the template parser, previews, collisions, history."""
