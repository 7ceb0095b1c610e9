"""Finding what somebody may see, and keeping the index of it."""
