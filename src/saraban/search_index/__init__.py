"""The full-text index of documents, circulations and drawings."""
