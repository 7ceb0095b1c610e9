"""Issue of numbers, and operations on issued numbers."""
