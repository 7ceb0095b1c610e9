"""What search reads: the texts of entries, and who may see them."""
