"""The states of a number. Stored and JSON texts are the values."""

from enum import StrEnum


class NumberState(StrEnum):
    """A number's state in the ledger. Only the first two can still change."""

    RESERVED = "RESERVED"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    VOID = "VOID"
