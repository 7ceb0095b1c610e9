"""Drawings over HTTP: registers, what a project decides for them, and imports."""
