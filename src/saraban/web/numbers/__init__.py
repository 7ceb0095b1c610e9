"""Pages of the number register."""
