"""Rows of documents: what is read in one query, and the few statements that write."""
