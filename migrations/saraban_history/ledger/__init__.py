"""From counters and reservations to series and the ledger, with every row that is there, and back."""
