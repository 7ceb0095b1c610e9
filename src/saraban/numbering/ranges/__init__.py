"""Ranges of a series that are reserved for an organization, or blocked."""
