"""
What a number is drawn for, and which visible series that belongs to (rulings N2-N5).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.kit.errors import invalid
from saraban.numbering.domain import template as tokens
from saraban.numbering.domain.period import Period
from saraban.numbering.domain.template import Template

NO_RECIPIENT = -1
NONE = 0
FIRST_BUDDHIST_YEAR = 2400
NO_DISCIPLINE = "GEN"


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
    """Keep only what the template prints: what the ledger stores to render it again (ruling N8)."""
    return {name: values[name] for name in sorted(template.tokens & values.keys())}


def year_of_issue(moment: datetime, zone: ZoneInfo) -> int:
    """Return the A.D. year of a moment in the deployment's zone."""
    return moment.astimezone(zone).year


def ad_year(year: int) -> int:
    """
    Return the A.D. year of a year stated in either era: 2400 and above is B.E. (ruling N5).

    :raises Invalid: for a year outside 1950 to 2150 A.D.
    """
    christian = year - BUDDHIST_OFFSET if year >= FIRST_BUDDHIST_YEAR else year
    if not 1950 <= christian <= 2150:  # no construction project is outside
        raise invalid("/year", "out_of_range", "ปีไม่ถูกต้อง", "The year is not valid.")
    return christian
