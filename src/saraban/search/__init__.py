"""Search in all that a caller may see, and the upkeep of its index."""
