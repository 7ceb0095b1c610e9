"""Templates, tokens, counters and sequences of numbers, with their tables."""
