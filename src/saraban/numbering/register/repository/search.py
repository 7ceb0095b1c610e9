"""What the register finds: series by their names, and numbers by a part of any form in which they were ever printed."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased

from saraban.kit.db import AnyRow, AnySelect
from saraban.numbering.register.repository.ledger import RegisterPlace
from saraban.numbering.register.schemas import SeriesOut
from saraban.numbering.series.models import COUNTERS, LedgerEntry, NumberCounter, NumberRendering
from saraban.projects.models import CorrespondenceType, Project

_other = aliased(LedgerEntry, name="other")
_NAMES = 500
_LAST_LETTER = "\U0010ffff"


async def series_page(
    session: AsyncSession,
    place: RegisterPlace,
    *,
    text: str | None,
    after: str | None,
    limit: int,
) -> Sequence[SeriesOut]:
    """Return the series of a project by name, those above `after`, whether they count or have numbers only."""
    counted = await _counted_series(session, place, text=text, after=after, limit=limit)
    upto = counted[-1].series if len(counted) == limit else None
    others = await _uncounted_series(session, place, text=text, after=after, upto=upto, limit=limit)
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
    """Rows of (project code, series, last number, the columns): those that refer to rows of master data."""
    referring = [COUNTERS.c[name] for name in columns]
    statement = (
        sa.select(Project.project_code, NumberCounter.series, NumberCounter.last_number, *referring)
        .join(Project, Project.id == NumberCounter.project_id)
        .where(sa.or_(*(column.in_(keys) for column in referring)))
        .where(NumberCounter.range == 0, NumberCounter.last_number > 0)
        .order_by(Project.project_code, NumberCounter.series)
    )
    return (await session.execute(statement)).all()


def _highest(project_id: InstrumentedAttribute[int], series: InstrumentedAttribute[str]) -> sa.ScalarSelect[int]:
    """By the end of the index: MariaDB would read the whole series for a maximum."""
    return (
        sa.select(_other.sequence_number)
        .where(_other.project_id == project_id, _other.series == series, _other.range == 0)
        .order_by(_other.sequence_number.desc())
        .limit(1)
        .scalar_subquery()
    )


async def _uncounted_series(
    session: AsyncSession, place: RegisterPlace, *, text: str | None, after: str | None, upto: str | None, limit: int
) -> Sequence[SeriesOut]:
    """Return the series that the ledger has and no counter, above `after`, none above `upto`."""
    found: list[SeriesOut] = []
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    while len(found) < limit:
        names = _names(place.project, text, after, upto, most=_NAMES, on_sqlite=on_sqlite)
        rows = (await session.execute(names)).all()
        found += await _by_first_number(session, place, [first for _, first in rows if first is not None])
        if len(rows) < _NAMES:
            break
        after = rows[-1][0]
    return found[:limit]


def _names(
    project_id: int, text: str | None, after: str | None, upto: str | None, *, most: int, on_sqlite: bool
) -> AnySelect:
    """Names in the ledger, each with the key of its first number where it fits and has no counter."""
    bounds = [LedgerEntry.project_id == project_id]
    if upto is not None:
        bounds.append(LedgerEntry.series < upto)
    name = _each_by_a_seek(bounds, after, most) if on_sqlite else _each_of_a_group(bounds, after, most)
    counted = sa.exists().where(
        NumberCounter.project_id == project_id, NumberCounter.series == name.c.series, NumberCounter.range == 0
    )
    fits = name.c.series.contains(text, autoescape=True) if text else sa.true()
    first = (
        sa.select(LedgerEntry.id)
        .where(LedgerEntry.project_id == project_id, LedgerEntry.series == name.c.series)
        .order_by(LedgerEntry.range, LedgerEntry.sequence_number, LedgerEntry.id)
        .limit(1)
        .correlate(name)
        .scalar_subquery()
    )
    return (
        sa.select(name.c.series, sa.case((sa.or_(counted, ~fits), None), else_=first))
        .where(name.c.series.is_not(None))
        .order_by(name.c.series)
    )


def _each_of_a_group(bounds: list[sa.ColumnElement[bool]], after: str | None, most: int) -> sa.Subquery:
    """MariaDB steps from one name to the next when it is told to; by itself it reads a million numbers of one series."""
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


def _each_by_a_seek(bounds: list[sa.ColumnElement[bool]], after: str | None, most: int) -> sa.CTE:
    """SQLite knows no such step: one subquery after the other takes it."""
    here = sa.select(LedgerEntry.series).where(*bounds).order_by(LedgerEntry.series).limit(1)
    begin = here if after is None else here.where(LedgerEntry.series > after)
    name = sa.select(begin.scalar_subquery().label("series"), sa.literal(1).label("place")).cte("name", recursive=True)
    following = here.where(LedgerEntry.series > name.c.series).correlate(name).scalar_subquery()
    return name.union_all(sa.select(following, name.c.place + 1).where(name.c.series.is_not(None), name.c.place < most))


async def _by_first_number(session: AsyncSession, place: RegisterPlace, keys: Sequence[int]) -> Sequence[SeriesOut]:
    """Series that were never drawn from, by their first numbers."""
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
    Return numbers of a project that were ever printed with `text` in them, each once, those that begin with it first.

    Other than by its beginning, a part is looked for in every printed number, along the index that has them; a whole number
    is not.
    """
    printed = NumberRendering.document_number
    found: dict[int, AnyRow] = {}
    for fits in (
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
            .where(NumberRendering.project_id == place.project, fits)
            .where(*place.of(LedgerEntry.originator_organization_id))
            .order_by(printed)
            .limit(limit)
            .prefix_with("STRAIGHT_JOIN", dialect="mariadb")
        )
        for row in await session.execute(statement):
            found.setdefault(row.id, row)
        if len(found) >= limit or any(one.printed == text for one in found.values()):
            break
    return list(found.values())[:limit]
