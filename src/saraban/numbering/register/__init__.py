"""The register of numbers: the ledger to read, the history of a number, the consistency check."""
