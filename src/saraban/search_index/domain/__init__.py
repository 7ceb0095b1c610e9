"""Parts of the search index without a database: folding, trigrams, queries, reader keys."""
