"""Values of numbering columns: states, kinds, operations. The texts are stored and appear in JSON."""

from enum import StrEnum
from typing import Final

DOCUMENTS: Final = "document"  # register of all documents except drawings
SHOP_DRAWINGS: Final = "shop"  # default register of drawings
DRAWING: Final = "DRAWING"  # the document type that has registers


def register_of(type_code: str, stated: str | None = None) -> str:
    """Return the register in which a number of this type counts and is unique (REQ-NUM-27)."""
    return (stated or SHOP_DRAWINGS) if type_code == DRAWING else DOCUMENTS


def series_in(register: str, series: str) -> str:
    """
    Return the name of a series in a register; registers count separately even if they print alike (REQ-NUM-27).

    Formats cannot print a colon, so the prefix never collides with a series of documents.
    """
    return series if register == DOCUMENTS else f"{register}:{series}"


class NumberState(StrEnum):
    """A number's state in the ledger; only the first two can change."""

    RESERVED = "RESERVED"
    CONFIRMED = "CONFIRMED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    VOID = "VOID"


class NumberSource(StrEnum):
    """Origin of a number: issued by its series, manual, imported, or older than the ledger."""

    DRAW = "DRAW"
    OVERRIDE = "OVERRIDE"
    IMPORT = "IMPORT"
    MIGRATED = "MIGRATED"


class OperationCode(StrEnum):
    """Operations in the number audit."""

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
    """KEPT: reserved, with a counter for itself. BARRED: blocked."""

    KEPT = "KEPT"
    BARRED = "BARRED"


RANGE_RELEASED = "RELEASED"  # state of a released range in the audit


class OverflowRule(StrEnum):
    """Behaviour when the digits of a sequence are exhausted."""

    WIDEN = "widen"
    REFUSE = "refuse"


class FormatSource(StrEnum):
    """Origin of a document's format: its type, the project's default, or the system's fallback."""

    SPECIFIC = "specific"
    DEFAULT = "default"
    FALLBACK = "fallback"
