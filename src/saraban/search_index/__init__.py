"""What texts lead to: the index that search and registers find documents, circulations and drawings by."""
