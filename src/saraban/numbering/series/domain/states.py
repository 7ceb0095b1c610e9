"""What the columns of numbering can hold: states, kinds and operations. Stored and JSON texts are the values."""

from enum import StrEnum
from typing import Final

DOCUMENTS: Final = "document"  # the register of all that is no drawing; each register of drawings has a name of its own
SHOP_DRAWINGS: Final = "shop"  # the register of a drawing's number when the request names none
DRAWING: Final = "DRAWING"  # the document type that has registers


def register_of(type_code: str, stated: str | None = None) -> str:
    """Return the register that a number of this type is unique in and counted in (REQ-NUM-27)."""
    return (stated or SHOP_DRAWINGS) if type_code == DRAWING else DOCUMENTS


def series_in(register: str, series: str) -> str:
    """
    Return the name of a series in a register: what two registers print alike they count apart (REQ-NUM-27).

    No format prints a colon, so the name of a series of documents never begins like one of drawings.
    """
    return series if register == DOCUMENTS else f"{register}:{series}"


class NumberState(StrEnum):
    """A number's state in the ledger. Only the first two can still change."""

    RESERVED = "RESERVED"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    VOID = "VOID"


class NumberSource(StrEnum):
    """Where a number comes from: issued by its series, stated by hand, imported, or there before the ledger."""

    DRAW = "DRAW"
    OVERRIDE = "OVERRIDE"
    IMPORT = "IMPORT"
    MIGRATED = "MIGRATED"


class OperationCode(StrEnum):
    """What a row of the number audit records."""

    GENERATE = "GENERATE"
    RESERVE = "RESERVE"
    OVERRIDE = "OVERRIDE"
    IMPORT = "IMPORT"
    CONFIRM = "CONFIRM"
    CANCEL = "CANCEL"
    EXPIRE = "EXPIRE"
    VOID = "VOID"
    REVISE = "REVISE"
    SKIP = "SKIP"
    RANGE = "RANGE"
    RESET = "RESET"
    FORMAT_CHANGE = "FORMAT_CHANGE"


class RenderingKind(StrEnum):
    ISSUE = "ISSUE"
    REVISION = "REVISION"


class RangeKind(StrEnum):
    """A range is reserved for somebody, with a counter of its own, or blocked."""

    KEPT = "KEPT"
    BARRED = "BARRED"


RANGE_RELEASED = "RELEASED"  # what the audit says of a range that is open again


class OverflowRule(StrEnum):
    """What a format does when the digits of its sequence are exhausted."""

    WIDEN = "widen"
    REFUSE = "refuse"


class FormatSource(StrEnum):
    """Which format numbered a document: the type's, the project's default, or the system's fallback."""

    SPECIFIC = "specific"
    DEFAULT = "default"
    FALLBACK = "fallback"
