"""Numbers of an earlier register, from a file: a dry run first, then the import."""
