"""Number formats: parsing, previews, collisions, history."""
