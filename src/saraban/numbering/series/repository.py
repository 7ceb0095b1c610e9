"""Reads of counters with all that their next numbers depend on."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import SessionOrConnection
from saraban.numbering.series.domain.counter import CounterKey, CounterState, SequenceRange, SeriesKey
from saraban.numbering.series.domain.template import FormatKey, Narrowing
from saraban.numbering.series.models import (
    COUNTERS,
    LEDGER,
    NumberCounter,
    NumberFormat,
    NumberRange,
)

_ONE_COUNTER = sa.and_(
    COUNTERS.c.project_id == sa.bindparam("b_project"),
    COUNTERS.c.series == sa.bindparam("b_series"),
    COUNTERS.c.range == sa.bindparam("b_range"),
)
_READ_COUNTER = sa.select(COUNTERS.c.last_number, COUNTERS.c.version, COUNTERS.c.range_count).where(_ONE_COUNTER)
_LOCK_COUNTER = _READ_COUNTER.with_for_update()


async def ensure_counter(session: AsyncSession, *, key: CounterKey, series: str, now: datetime) -> None:
    """
    Create the main counter if absent; call it in a separate transaction.

    `FOR UPDATE` on a missing row deadlocks, and on 1 January every series is missing (REQ-LCK-12). `INSERT IGNORE`
    would hide other errors.
    """
    row = {
        "project_id": key.project_id,
        "series": series,
        "range": 0,
        "originator_organization_id": key.originator_organization_id,
        "recipient_organization_id": key.recipient_organization_id,
        "correspondence_type_id": key.correspondence_type_id,
        "sub_type_id": key.sub_type_id,
        "rfa_type_id": key.rfa_type_id,
        "discipline_id": key.discipline_id,
        "current_year": key.current_year,
        "last_number": 0,
        "range_count": 0,
        "version": 0,
        "updated_at": now,
    }
    if session.get_bind().dialect.name == "sqlite":
        await session.execute(sqlite.insert(COUNTERS).values(row).on_conflict_do_nothing())
    else:
        statement = mysql.insert(COUNTERS).values(row)
        await session.execute(statement.on_duplicate_key_update(series=COUNTERS.c.series))


async def counter_or_new(connected: SessionOrConnection, key: SeriesKey) -> CounterState:
    """Read without a lock; a missing counter is at 0."""
    return await counter_state(connected, key, lock=False) or CounterState(0, 0)


async def counter_state(connected: SessionOrConnection, key: SeriesKey, *, lock: bool) -> CounterState | None:
    """:param lock: `FOR UPDATE`"""
    parameters = {"b_project": key.project_id, "b_series": key.series, "b_range": key.range}
    row = (await connected.execute(_LOCK_COUNTER if lock else _READ_COUNTER, parameters)).first()
    if row is None:
        return None
    last_number, version, range_count = row
    closed: tuple[SequenceRange, ...] = ()
    end = None
    if range_count or key.range:
        ranges = await _ranges(connected, key)
        if key.range == 0:
            closed = tuple(SequenceRange(first, last) for _, first, last in ranges)
        else:
            end = next((last for number, _, last in ranges if number == key.range), 0)
    return CounterState(last_number, version, closed, end, await _formats(connected, key.project_id))


async def lock_counters(session: AsyncSession, *, project_id: int, series: Sequence[str]) -> dict[str, CounterState]:
    """Lock existing main counters, always in the same order."""
    rows = await session.execute(
        sa.select(COUNTERS.c.series, COUNTERS.c.last_number, COUNTERS.c.version, COUNTERS.c.range_count)
        .where(COUNTERS.c.project_id == project_id, COUNTERS.c.range == 0, COUNTERS.c.series.in_(series))
        .order_by(COUNTERS.c.series)
        .with_for_update()
    )
    formats = await _formats(session, project_id)
    states: dict[str, CounterState] = {}
    for name, last_number, version, range_count in rows.all():
        ranges = await _ranges(session, SeriesKey(project_id, name, 0)) if range_count else ()
        closed = tuple(SequenceRange(first, last) for _, first, last in ranges)
        states[name] = CounterState(last_number, version, closed, formats=formats)
    return states


async def _ranges(connected: SessionOrConnection, key: SeriesKey) -> Sequence[tuple[int, int, int]]:
    """:returns: (number, first, last) of active ranges"""
    statement = (
        sa.select(NumberRange.number, NumberRange.first_number, NumberRange.last_number)
        .where(
            NumberRange.project_id == key.project_id,
            NumberRange.series == key.series,
            NumberRange.released_at.is_(None),
        )
        .order_by(NumberRange.first_number)
    )
    return [(row[0], row[1], row[2]) for row in (await connected.execute(statement)).all()]


async def range_by_public_id(session: AsyncSession, public_id: UUID) -> NumberRange | None:
    return await session.scalar(sa.select(NumberRange).where(NumberRange.public_id == public_id))


async def _formats(connected: SessionOrConnection, project_id: int) -> dict[FormatKey, tuple[int, int]]:
    rows = await connected.execute(
        sa.select(
            NumberFormat.id,
            NumberFormat.version,
            NumberFormat.type_key,
            NumberFormat.sub_type_code,
            NumberFormat.rfa_type_code,
            NumberFormat.discipline_code,
        ).where(NumberFormat.project_id == project_id)
    )
    return {FormatKey(type_key, Narrowing(*codes)): (key, version) for key, version, type_key, *codes in rows}


async def format_for(session: AsyncSession, *, project_id: int, keys: Sequence[FormatKey]) -> NumberFormat | None:
    """:param keys: of matching formats, best first"""
    types = {key.type_id for key in keys}
    rows = await session.scalars(
        sa.select(NumberFormat).where(NumberFormat.project_id == project_id, NumberFormat.type_key.in_(types))
    )
    saved = {row.key: row for row in rows}
    return next((saved[key] for key in keys if key in saved), None)


async def locked_counter(session: AsyncSession, *, project_id: int, series: str) -> NumberCounter | None:
    statement = (
        sa.select(NumberCounter)
        .where(NumberCounter.project_id == project_id, NumberCounter.series == series, NumberCounter.range == 0)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    return await session.scalar(statement)


async def raise_versions(session: AsyncSession, *, project_id: int) -> None:
    """Make every allocator read the project's counters again; `updated_at` stays."""
    await session.execute(
        sa.update(NumberCounter).where(NumberCounter.project_id == project_id).values(version=NumberCounter.version + 1)
    )


async def last_number(session: AsyncSession, *, project_id: int, series: str) -> int:
    number = await session.scalar(
        sa.select(NumberCounter.last_number).where(
            NumberCounter.project_id == project_id, NumberCounter.series == series, NumberCounter.range == 0
        )
    )
    return number or 0


async def covering_range(
    session: AsyncSession, *, project_id: int, series: str, sequence: int
) -> tuple[NumberRange, UUID | None, str | None] | None:
    statement = (
        sa.select(NumberRange, Organization.public_id, Organization.organization_code)
        .outerjoin(Organization, Organization.id == NumberRange.organization_id)
        .where(
            NumberRange.project_id == project_id,
            NumberRange.series == series,
            NumberRange.released_at.is_(None),
            NumberRange.first_number <= sequence,
            NumberRange.last_number >= sequence,
        )
    )
    row = (await session.execute(statement)).first()
    return (row[0], row[1], row[2]) if row is not None else None


async def list_counters(
    session: AsyncSession, project_id: int, series: str | None, *, lock: bool
) -> Sequence[NumberCounter]:
    """In the common order of locking."""
    conditions = NumberCounter.project_id == project_id, NumberCounter.series == series if series else sa.true()
    statement = sa.select(NumberCounter).where(*conditions).order_by(NumberCounter.series, NumberCounter.range)
    return (await session.scalars(statement.with_for_update() if lock else statement)).all()


async def taken_sequences(session: AsyncSession, counter: NumberCounter) -> frozenset[int]:
    """Sequences above the counter: imported, manual, or issued before a reset."""
    statement = sa.select(LEDGER.c.sequence_number).where(
        LEDGER.c.project_id == counter.project_id,
        LEDGER.c.series == counter.series,
        LEDGER.c.range.in_({0, counter.range}),
        LEDGER.c.sequence_number > counter.last_number,
    )
    return frozenset(await session.scalars(statement))
