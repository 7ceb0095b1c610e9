"""What search decides without a database: how texts are compared and split, what a query asks for, and who finds what."""
