"""What became of every number of a series, from the first on, and which series a project has."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.errors import Invalid, NotFound, invalid
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering.domain.account import LedgerLine, ledger_lines
from saraban.numbering.repository import books
from saraban.numbering.repository.books import NumberRow, SeriesRow
from saraban.projects import service as projects

VIEW_COUNTERS = "numbering.view_counters"
_HIGHEST = 2**31 - 1  # that the column holds


@dataclass(frozen=True, slots=True)
class SeriesLedger:
    """
    A page of the account of a series.

    :param counter: where the main counter stands; nothing above it is missing
    """

    project_code: str
    series: str
    counter: int
    lines: list[LedgerLine[NumberRow]]
    next_cursor: str | None


async def list_series(
    session: AsyncSession,
    *,
    caller: Caller,
    project_public_id: UUID,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[SeriesRow]:
    """
    Return the series of a project by name: those that count, and those that were only imported or stated.

    :param text: only those whose name contains it
    :raises Forbidden: for who may not see the counters of the project
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    caller.require(VIEW_COUNTERS, Scope(project=project.id))
    after = _name(cursor) if cursor else None
    rows = await books.series_page(
        session, project_id=project.id, text=fold(text) if text else None, after=after, limit=limit + 1
    )
    more = len(rows) > limit
    return Page(list(rows[:limit]), _encoded(rows[limit - 1].series.encode()) if more else None)


async def series_ledger(
    session: AsyncSession,
    *,
    caller: Caller,
    project_public_id: UUID,
    series: str,
    first: int = 1,
    cursor: str | None = None,
    limit: int = 50,
) -> SeriesLedger:
    """
    Return what became of the numbers of a series, in order, holes with their reasons among them.

    :param first: the sequence to begin with, where no cursor says it
    :param limit: numbers on a page; its holes come on top
    :raises NotFound: for a series that never counted and has no number
    :raises Forbidden: for who may not see the counters of the project
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    caller.require(VIEW_COUNTERS, Scope(project=project.id))
    series = fold(series)
    counter = (await books.counters_of(session, project_id=project.id, series=series)).get(0)
    ranges = await books.ranges_of(session, project_id=project.id, series=series)
    after = _sequence(cursor) if cursor else first - 1
    rows = await books.numbers(
        session, project_id=project.id, series=series, ranges=ranges, after=after, limit=limit + 1
    )
    if counter is None and not rows:
        raise NotFound("There is no such series.")
    gaps, _ = await books.gaps_of(session, project_id=project.id, series=series)
    more = len(rows) > limit
    if more:
        rows = _whole(rows[:limit], following=rows[limit])
    lines = list(ledger_lines(rows, after=after, counter=counter or 0, gaps=gaps, upto=0 if more else None))
    following = _encoded(rows[-1].sequence.to_bytes(8, "big")) if more else None
    return SeriesLedger(project.code, series, counter or 0, lines, following)


def _whole(rows: Sequence[NumberRow], *, following: NumberRow) -> Sequence[NumberRow]:
    """A page ends between two sequences, never within one that two widths have printed."""
    kept = [row for row in rows if row.sequence != following.sequence]
    return kept or rows


def _encoded(place: bytes) -> str:
    return base64.urlsafe_b64encode(place).rstrip(b"=").decode()


def _decoded(cursor: str) -> bytes:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as fault:
        raise _malformed() from fault


def _name(cursor: str) -> str:
    try:
        return _decoded(cursor).decode()
    except UnicodeDecodeError as fault:
        raise _malformed() from fault


def _sequence(cursor: str) -> int:
    place = _decoded(cursor)
    if len(place) != 8 or (sequence := int.from_bytes(place, "big")) > _HIGHEST:
        raise _malformed()
    return sequence


def _malformed() -> Invalid:
    return invalid("query:cursor", "malformed", "ตัวชี้หน้าไม่ถูกต้อง", "The cursor is not valid for this list.")
