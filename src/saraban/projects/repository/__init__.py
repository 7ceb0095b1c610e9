"""Queries about projects and master data; each function is one statement."""
