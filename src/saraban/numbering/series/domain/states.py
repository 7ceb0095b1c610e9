"""Stored values of numbering: states, kinds, operations."""

from enum import StrEnum
from typing import Final

DOCUMENTS: Final = "document"  # register of all documents except drawings
SHOP_DRAWINGS: Final = "shop"  # default register of drawings
DRAWING: Final = "DRAWING"  # the document type that has registers


def register_of(type_code: str, stated: str | None = None) -> str:
    """The register in which a number counts and is unique (REQ-NUM-27)."""
    return (stated or SHOP_DRAWINGS) if type_code == DRAWING else DOCUMENTS


def series_in(register: str, series: str) -> str:
    """Registers count separately (REQ-NUM-27); formats cannot print the colon of the prefix."""
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
    """When the digits of a sequence are exhausted."""

    WIDEN = "widen"
    REFUSE = "refuse"


class FormatSource(StrEnum):
    """Its type's format, the project's default, or the system's fallback."""

    SPECIFIC = "specific"
    DEFAULT = "default"
    FALLBACK = "fallback"
