"""Pages of documents: registers, forms, and the page of a document with its actions."""
