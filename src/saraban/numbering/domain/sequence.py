"""The outcomes of advancing a series that have nothing to do with locks."""

from typing import Final

from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text

LARGEST: Final = 2**31 - 1  # that the columns hold
LARGEST_STATED: Final = 999_999_999  # by a person: a typing error shall not use a series up


class SequenceExhausted(DomainError):
    """The next sequence has more digits than the format allows, and the format says to refuse (ruling N6)."""

    kind, code = ErrorKind.CONFLICT, "SEQUENCE_EXHAUSTED"
    says = Text("เลขลำดับของชุดเลขที่นี้เต็มแล้ว", "This series has no numbers left.")
    recovery = (Text("ให้ผู้ดูแลโครงการเพิ่มจำนวนหลักของ {SEQ:n}", "Ask the project administrator to add digits to {SEQ:n}."),)


class NumberTaken(DomainError):
    """A new rendering of a number would equal one that another document holds."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_TAKEN"
    says = Text("เลขที่ “{number}” มีเอกสารอื่นใช้อยู่แล้ว", "The number “{number}” belongs to another document.")
    recovery = (Text("ติดต่อผู้ดูแลโครงการ", "Ask the project administrator."),)


class NumberNotHeld(DomainError):
    """The document holds no number that this operation could act on."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_NOT_HELD"
    says = Text("เอกสารนี้ไม่มีเลขที่ที่ใช้งานอยู่", "This document has no active number.")
    recovery = (REFRESH,)
