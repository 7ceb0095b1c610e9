"""What the engine decides: steps, whom a state waits for, the values that steps bring. Pure."""
