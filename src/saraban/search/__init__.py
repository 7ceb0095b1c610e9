"""One search over everything that is registered: documents, circulations and drawings, as far as its reader may see them."""
