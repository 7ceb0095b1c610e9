"""What the demo documents are and what became of them: data, and the small files that go with them."""
