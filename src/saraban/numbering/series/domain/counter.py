"""Counter keys, periods, next sequences (REQ-NUM-03, REQ-FMT-09)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, Self
from uuid import UUID
from zoneinfo import ZoneInfo

from saraban.kit.dates import BUDDHIST_OFFSET, EARLIEST_BUDDHIST
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.states import RangeKind
from saraban.numbering.series.domain.template import FormatKey, Template

LARGEST: Final = 2**31 - 1  # limit of the columns
LARGEST_STATED: Final = 999_999_999  # limit for users, so that a typing error does not exhaust a series


@dataclass(frozen=True, slots=True, order=True)
class SequenceRange:
    first: int
    last: int

    def __contains__(self, sequence: int) -> bool:
        return self.first <= sequence <= self.last


@dataclass(frozen=True, slots=True)
class RangeDraft:
    """
    :param organization: the only permitted issuer; None: every issuer
    :param confirmed_size: needed for large ranges
    """

    kind: RangeKind
    first: int
    last: int
    organization: UUID | None = None
    reason: str = ""
    confirmed_size: int | None = None

    @property
    def size(self) -> int:
        return self.last - self.first + 1


def open_sequences(after: int, *, closed: Sequence[SequenceRange], taken: Collection[int] = ()) -> Iterator[int]:
    """Yield free sequences above `after`, endlessly; `closed` is sorted and does not overlap."""
    sequence = after + 1
    for closed_range in closed:
        while sequence < closed_range.first:
            if sequence not in taken:
                yield sequence
            sequence += 1
        sequence = max(sequence, closed_range.last + 1)
    while True:
        if sequence not in taken:
            yield sequence
        sequence += 1


def sequence_ranges(sequences: Collection[int]) -> list[SequenceRange]:
    ranges: list[SequenceRange] = []
    for sequence in sorted(sequences):
        if ranges and ranges[-1].last == sequence - 1:
            ranges[-1] = SequenceRange(ranges[-1].first, sequence)
        else:
            ranges.append(SequenceRange(sequence, sequence))
    return ranges


FISCAL_YEAR_BEGINS = 10  # on 1 October; named after the calendar year in which it ends
NO_RECIPIENT = -1
NONE = 0
NO_DISCIPLINE = "GEN"


@dataclass(frozen=True, slots=True)
class Period:
    """:param year: A.D."""

    year: int
    month: int

    @classmethod
    def of(cls, moment: datetime, zone: ZoneInfo, *, year: int | None = None) -> Self:
        """:param year: replaces the moment's A.D. year; the month stays"""
        local = moment.astimezone(zone)
        return cls(local.year if year is None else year, local.month)

    @property
    def fiscal_year(self) -> int:
        """A.D. year in which the Thai fiscal year of this month ends."""
        return self.year + (self.month >= FISCAL_YEAR_BEGINS)

    @property
    def values(self) -> dict[str, str]:
        buddhist = self.year + BUDDHIST_OFFSET
        return {
            tokens.YEAR_BE: str(buddhist),
            tokens.YEAR_AD: str(self.year),
            tokens.YY_BE: f"{buddhist % 100:02}",
            tokens.YY_AD: f"{self.year % 100:02}",
            tokens.MONTH: f"{self.month:02}",
            tokens.FISCAL_BE: str(self.fiscal_year + BUDDHIST_OFFSET),
        }


@dataclass(frozen=True, slots=True)
class CounterKey:
    """The specification's eight columns; sentinels: recipient -1, the others 0."""

    project_id: int
    originator_organization_id: int
    recipient_organization_id: int
    correspondence_type_id: int
    sub_type_id: int
    rfa_type_id: int
    discipline_id: int
    current_year: int


@dataclass(frozen=True, slots=True)
class PrintedCodes:
    project: str
    originator: str
    type: str
    recipient: str = ""
    sub_type_number: str = ""
    rfa_type: str = ""
    discipline: str = ""
    category: str = ""

    @property
    def values(self) -> dict[str, str]:
        return {
            tokens.PROJECT: self.project,
            tokens.ORIGINATOR: self.originator,
            tokens.RECIPIENT: self.recipient,
            tokens.CORR_TYPE: self.type,
            tokens.SUB_TYPE: self.sub_type_number,
            tokens.RFA_TYPE: self.rfa_type,
            tokens.DISCIPLINE: self.discipline or NO_DISCIPLINE,
            tokens.CATEGORY: self.category,
        }


def token_values(codes: PrintedCodes, *, period: Period) -> dict[str, str]:
    return codes.values | period.values


def printed_values(template: Template, values: Mapping[str, str]) -> dict[str, str]:
    """Values that the ledger stores for later renderings (REQ-NUM-06)."""
    return {name: values[name] for name in sorted(template.tokens & values.keys())}


def year_of_issue(moment: datetime, zone: ZoneInfo) -> int:
    return moment.astimezone(zone).year


def ad_year(year: int) -> int:
    """
    2400 and above is B.E. (REQ-FMT-14).

    :raises Invalid: for a year outside 1950 to 2150 A.D.
    """
    christian = year - BUDDHIST_OFFSET if year >= EARLIEST_BUDDHIST else year
    if not 1950 <= christian <= 2150:
        raise invalid("/year", "out_of_range", "ปีไม่ถูกต้อง", "The year is not valid.")
    return christian


class SeriesKey(NamedTuple):
    """:param range: 0 for the main counter"""

    project_id: int
    series: str
    range: int


@dataclass(frozen=True, slots=True)
class CounterState:
    """
    `version` guards the compare-and-set, and thereby all that is remembered here.

    :param closed: ranges that the main counter skips
    :param end: the last sequence of a reserved range
    :param formats: id and version of each format of the project
    :param contested: another server issues from the series too, so a remembered state is probably outdated
    """

    last_number: int
    version: int
    closed: tuple[SequenceRange, ...] = ()
    end: int | None = None
    formats: Mapping[FormatKey, tuple[int, int]] = field(default_factory=dict)
    contested: bool = False


class SequenceExhausted(DomainError):
    """The next sequence has too many digits for a format that refuses overflow (REQ-FMT-03), or is past its range."""

    kind, code = ErrorKind.CONFLICT, "SEQUENCE_EXHAUSTED"
    says = Text("เลขลำดับของชุดเลขที่นี้เต็มแล้ว", "This series has no numbers left.")
    recovery = (Text("ให้ผู้ดูแลโครงการเพิ่มจำนวนหลักของ {SEQ:n}", "Ask the project administrator to add digits to {SEQ:n}."),)


class NumberTaken(DomainError):
    """Another document has, or had, the same number or one that looks like it."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_TAKEN"
    says = Text("เลขที่ “{number}” มีเอกสารอื่นใช้อยู่แล้ว", "The number “{number}” belongs to another document.")
    recovery = (Text("ติดต่อผู้ดูแลโครงการ", "Ask the project administrator."),)


class NumberNotHeld(DomainError):
    """The document has no active number for this operation."""

    kind, code = ErrorKind.CONFLICT, "NUMBER_NOT_HELD"
    says = Text("เอกสารนี้ไม่มีเลขที่ที่ใช้งานอยู่", "This document has no active number.")
    recovery = (REFRESH,)
