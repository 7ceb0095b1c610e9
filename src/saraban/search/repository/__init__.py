"""What search reads and writes: the texts, the entries made of them, the postings that lead to those, and who may see what."""
