"""Decisions of the workflow engine. Pure."""
