"""Search, suggestions, and the upkeep of the index."""
