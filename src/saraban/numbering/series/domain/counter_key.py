"""The key that a number counts under, the state of its counter, and the period and tokens that it prints (REQ-NUM-03, REQ-FMT-09)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Self
from zoneinfo import ZoneInfo

from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.kit.errors import invalid
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.format_selection import FormatKey
from saraban.numbering.series.domain.sequence import SequenceRange
from saraban.numbering.series.domain.template import Template

FISCAL_YEAR_BEGINS = 10  # on 1 October; named after the calendar year in which it ends
NO_RECIPIENT = -1
NONE = 0
FIRST_BUDDHIST_YEAR = 2400
NO_DISCIPLINE = "GEN"


@dataclass(frozen=True, slots=True)
class Period:
    """
    :param year: A.D.
    """

    year: int
    month: int

    @classmethod
    def of(cls, moment: datetime, zone: ZoneInfo, *, year: int | None = None) -> Self:
        """
        :param year: the stated A.D. year in the place of the moment's; the month stays that of the moment
        """
        local = moment.astimezone(zone)
        return cls(local.year if year is None else year, local.month)

    @property
    def fiscal_year(self) -> int:
        """A.D. year in which the Thai fiscal year of this month ends."""
        return self.year + (self.month >= FISCAL_YEAR_BEGINS)

    @property
    def values(self) -> dict[str, str]:
        """What each token of a period prints."""
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
    """The specification's eight columns; sentinels: recipient -1, the others 0. Inside the process only."""

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
    """The codes that a template can print; empty where the document has none."""

    project: str
    originator: str
    type: str
    recipient: str = ""
    sub_type_number: str = ""
    rfa_type: str = ""
    discipline: str = ""
    category: str = ""


def token_values(codes: PrintedCodes, *, period: Period) -> dict[str, str]:
    """Return the value of every token but `SEQ` and `REV`."""
    return {
        tokens.PROJECT: codes.project,
        tokens.ORIGINATOR: codes.originator,
        tokens.RECIPIENT: codes.recipient,
        tokens.CORR_TYPE: codes.type,
        tokens.SUB_TYPE: codes.sub_type_number,
        tokens.RFA_TYPE: codes.rfa_type,
        tokens.DISCIPLINE: codes.discipline or NO_DISCIPLINE,
        tokens.CATEGORY: codes.category,
        **period.values,
    }


def printed_values(template: Template, values: Mapping[str, str]) -> dict[str, str]:
    """Keep only what the template prints: what the ledger stores to render it again (REQ-NUM-06)."""
    return {name: values[name] for name in sorted(template.tokens & values.keys())}


def year_of_issue(moment: datetime, zone: ZoneInfo) -> int:
    """Return the A.D. year of a moment in the deployment's zone."""
    return moment.astimezone(zone).year


def ad_year(year: int) -> int:
    """
    Return the A.D. year of a year stated in either era: 2400 and above is B.E. (REQ-FMT-14).

    :raises Invalid: for a year outside 1950 to 2150 A.D.
    """
    christian = year - BUDDHIST_OFFSET if year >= FIRST_BUDDHIST_YEAR else year
    if not 1950 <= christian <= 2150:  # no construction project is outside
        raise invalid("/year", "out_of_range", "ปีไม่ถูกต้อง", "The year is not valid.")
    return christian


class SeriesKey(NamedTuple):
    """Which counter: `range` is 0 for the main one."""

    project_id: int
    series: str
    range: int


@dataclass(frozen=True, slots=True)
class CounterState:
    """
    Where a series stands; `version` guards the compare-and-set, and with it everything else that is remembered here.

    :param closed: the ranges that the main counter steps over; for a kept range, none
    :param end: the last sequence of a kept range
    :param formats: what each format of the project is for, to its row's key and version
    :param contested: another server draws from the series too, so that what is remembered will have moved
    """

    last_number: int
    version: int
    closed: tuple[SequenceRange, ...] = ()
    end: int | None = None
    formats: Mapping[FormatKey, tuple[int, int]] = field(default_factory=dict)
    contested: bool = False
