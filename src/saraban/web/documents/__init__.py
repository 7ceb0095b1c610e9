"""Pages of documents: registers, forms, the page of one document and what is done there."""
