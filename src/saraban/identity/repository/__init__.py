"""Queries about people, roles, tokens and organizations; each function is one statement."""
