"""Folding, trigrams, queries and reader keys, without a database."""
