"""Reads of the search: texts of entries, names, and readers."""
