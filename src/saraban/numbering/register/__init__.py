"""The number register: ledger, history, consistency check."""
