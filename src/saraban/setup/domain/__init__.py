"""Project files: reading, checking, comparing and writing them; pure."""
