"""What search decides without a database: how texts are compared, what a query asks for, and how the index keeps its entries."""
