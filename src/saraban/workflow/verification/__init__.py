"""Checks of a definition before publication, without I/O."""
