"""Rows that only an RFA has: its type and verdict, and what it asks approval for."""
