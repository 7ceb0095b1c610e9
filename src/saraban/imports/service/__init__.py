"""Imports of uploaded files: stored, checked, told to go on, worked on under a lease."""
