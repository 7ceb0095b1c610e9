"""Search of series by name, and of numbers by part of any printed form."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from saraban.kit.db import AnyRow, AnySelect
from saraban.numbering.register.repository.ledger import RegisterPlace
from saraban.numbering.register.schemas import SeriesOut
from saraban.numbering.series.models import COUNTERS, LedgerEntry, NumberCounter, NumberRendering
from saraban.projects.models import CorrespondenceType, Project

_other_entry = aliased(LedgerEntry, name="other")
_NAMES_PER_READ = 500
_LAST_LETTER = "\U0010ffff"


async def series_page(
    session: AsyncSession,
    place: RegisterPlace,
    *,
    text: str | None,
    after: str | None,
    limit: int,
) -> Sequence[SeriesOut]:
    counted = await _counted_series(session, place, text=text, after=after, limit=limit)
    last_name = counted[-1].series if len(counted) == limit else None
    others = await _uncounted_series(session, place, text=text, after=after, upto=last_name, limit=limit)
    return sorted([*counted, *others], key=lambda row: row.series)[:limit]


async def _counted_series(
    session: AsyncSession, place: RegisterPlace, *, text: str | None, after: str | None, limit: int
) -> Sequence[SeriesOut]:
    statement = (
        sa.select(
            NumberCounter.series,
            CorrespondenceType.type_code.label("document_type"),
            NumberCounter.current_year.label("year"),
            NumberCounter.last_number,
            sa.func.coalesce(_highest(NumberCounter.project_id, NumberCounter.series), 0).label("highest_number"),
            NumberCounter.range_count.label("ranges"),
            NumberCounter.updated_at,
        )
        .outerjoin(CorrespondenceType, CorrespondenceType.id == NumberCounter.correspondence_type_id)
        .where(NumberCounter.project_id == place.project, NumberCounter.range == 0)
        .where(*place.with_series(NumberCounter.originator_organization_id, NumberCounter.series))
    )
    if text:
        statement = statement.where(NumberCounter.series.contains(text, autoescape=True))
    if after is not None:
        statement = statement.where(NumberCounter.series > after)
    rows = await session.execute(statement.order_by(NumberCounter.series).limit(limit))
    return list(map(SeriesOut.model_validate, rows))


async def series_of(session: AsyncSession, *, columns: Sequence[str], keys: Collection[int]) -> Sequence[AnyRow]:
    """Return counters that refer to `keys` in one of the columns."""
    references = [COUNTERS.c[name] for name in columns]
    statement = (
        sa.select(Project.project_code, NumberCounter.series, NumberCounter.last_number, *references)
        .join(Project, Project.id == NumberCounter.project_id)
        .where(sa.or_(*(column.in_(keys) for column in references)))
        .where(NumberCounter.range == 0, NumberCounter.last_number > 0)
        .order_by(Project.project_code, NumberCounter.series)
    )
    return (await session.execute(statement)).all()


def _highest(project_id: InstrumentedAttribute[int], series: InstrumentedAttribute[str]) -> sa.ScalarSelect[int]:
    """Read the end of the index: for `max` MariaDB would read the whole series."""
    return (
        sa.select(_other_entry.sequence_number)
        .where(_other_entry.project_id == project_id, _other_entry.series == series, _other_entry.range == 0)
        .order_by(_other_entry.sequence_number.desc())
        .limit(1)
        .scalar_subquery()
    )


async def _uncounted_series(
    session: AsyncSession, place: RegisterPlace, *, text: str | None, after: str | None, upto: str | None, limit: int
) -> Sequence[SeriesOut]:
    """Above `after` and below `upto`."""
    series: list[SeriesOut] = []
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    while len(series) < limit:
        names = _name_statement(place.project, text, after, upto, most=_NAMES_PER_READ, on_sqlite=on_sqlite)
        rows = (await session.execute(names)).all()
        series += await _find_series(session, place, [first for _, first in rows if first is not None])
        if len(rows) < _NAMES_PER_READ:
            break
        after = rows[-1][0]
    return series[:limit]


def _name_statement(
    project_id: int, text: str | None, after: str | None, upto: str | None, *, most: int, on_sqlite: bool
) -> AnySelect:
    """The key of a first number is null if the name does not match or has a counter."""
    bounds = [LedgerEntry.project_id == project_id]
    if upto is not None:
        bounds.append(LedgerEntry.series < upto)
    name = _names_by_recursion(bounds, after, most) if on_sqlite else _names_by_grouping(bounds, after, most)
    has_counter = sa.exists().where(
        NumberCounter.project_id == project_id, NumberCounter.series == name.c.series, NumberCounter.range == 0
    )
    matches = name.c.series.contains(text, autoescape=True) if text else sa.true()
    first = (
        sa.select(LedgerEntry.id)
        .where(LedgerEntry.project_id == project_id, LedgerEntry.series == name.c.series)
        .order_by(LedgerEntry.range, LedgerEntry.sequence_number, LedgerEntry.id)
        .limit(1)
        .correlate(name)
        .scalar_subquery()
    )
    return (
        sa.select(name.c.series, sa.case((sa.or_(has_counter, ~matches), None), else_=first))
        .where(name.c.series.is_not(None))
        .order_by(name.c.series)
    )


def _names_by_grouping(bounds: list[sa.ColumnElement[bool]], after: str | None, most: int) -> sa.Subquery:
    """Force the index for grouping; otherwise MariaDB reads every number of a series."""
    statement = (
        sa.select(LedgerEntry.series)
        .with_hint(LedgerEntry, "FORCE INDEX FOR GROUP BY (idx_docnum_ledger_series)", "mariadb")
        .where(*bounds)
        .group_by(LedgerEntry.project_id, LedgerEntry.series)
        .order_by(LedgerEntry.project_id, LedgerEntry.series)
        .limit(most)
    )
    if after is not None:
        statement = statement.where(LedgerEntry.series > after)
    return statement.subquery("name")


def _names_by_recursion(bounds: list[sa.ColumnElement[bool]], after: str | None, most: int) -> sa.CTE:
    """Step through the index with a recursive query, since SQLite has no loose index scan."""
    names = sa.select(LedgerEntry.series).where(*bounds).order_by(LedgerEntry.series).limit(1)
    begin = names if after is None else names.where(LedgerEntry.series > after)
    name = sa.select(begin.scalar_subquery().label("series"), sa.literal(1).label("place")).cte("name", recursive=True)
    following = names.where(LedgerEntry.series > name.c.series).correlate(name).scalar_subquery()
    return name.union_all(sa.select(following, name.c.place + 1).where(name.c.series.is_not(None), name.c.place < most))


async def _find_series(session: AsyncSession, place: RegisterPlace, keys: Sequence[int]) -> Sequence[SeriesOut]:
    if not keys:
        return []
    statement = (
        sa.select(
            LedgerEntry.series,
            CorrespondenceType.type_code.label("document_type"),
            LedgerEntry.issue_year.label("year"),
            sa.literal(0).label("last_number"),
            sa.func.coalesce(_highest(LedgerEntry.project_id, LedgerEntry.series), 0).label("highest_number"),
            sa.literal(0).label("ranges"),
            LedgerEntry.created_at.label("updated_at"),
        )
        .outerjoin(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
        .where(
            LedgerEntry.id.in_(keys),
            *place.with_series(LedgerEntry.originator_organization_id, LedgerEntry.series),
        )
        .order_by(LedgerEntry.series)
    )
    return list(map(SeriesOut.model_validate, await session.execute(statement)))


async def find_numbers(session: AsyncSession, place: RegisterPlace, *, text: str, limit: int) -> Sequence[AnyRow]:
    """
    Return numbers with `text` in any printed form; prefixes come first.

    The scan of all forms is skipped if the prefixes fill the page or one is the exact number.
    """
    printed = NumberRendering.document_number
    numbers: dict[int, AnyRow] = {}
    for condition in (
        sa.and_(printed >= text, printed < text + _LAST_LETTER),
        sa.func.instr(sa.func.upper(printed), text.upper()) > 0,
    ):
        statement = (
            sa.select(
                LedgerEntry.id,
                printed.label("printed"),
                LedgerEntry.public_id,
                LedgerEntry.document_number,
                LedgerEntry.document_number_status,
                LedgerEntry.series,
                LedgerEntry.holder_kind,
                LedgerEntry.holder_public_id,
                LedgerEntry.replaced_by_uuid,
            )
            .join_from(NumberRendering, LedgerEntry, LedgerEntry.id == NumberRendering.reservation_id)
            .where(NumberRendering.project_id == place.project, condition)
            .where(*place.of(LedgerEntry.originator_organization_id))
            .order_by(printed)
            .limit(limit)
            .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
        )
        for row in await session.execute(statement):
            numbers.setdefault(row.id, row)
        if len(numbers) >= limit or any(match.printed == text for match in numbers.values()):
            break
    return list(numbers.values())[:limit]
