"""Tools of development beside the product: masses of documents and drawings for a project."""
