"""What a document is, decided without a database: labels, dates, who may see what."""
