"""Rows of the three registers of drawings: where they stand, how they are found, and how they are written."""
