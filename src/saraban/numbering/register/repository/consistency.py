"""Read all records at once, a page at a time in the order of an index: counters, numbers with their audit rows, the audit."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.kit.db import AnySelect
from saraban.kit.statements import PreparedStatement, Rows
from saraban.numbering.register.domain import AuditedOperation, CounterRow, LedgerNumber
from saraban.numbering.series.domain.states import NumberSource
from saraban.numbering.series.models import (
    AUDIT,
    COUNTER_OF_RANGE,
    LEDGER,
    RENDERINGS,
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberRange,
)
from saraban.projects.models import Project

CounterPlace = tuple[int, str, int]  # project, series, range
_Key = tuple[InstrumentedAttribute[int], InstrumentedAttribute[str], InstrumentedAttribute[int]]


async def counters_page(
    session: AsyncSession, *, after: CounterPlace | None, limit: int
) -> tuple[Sequence[CounterRow], CounterPlace | None]:
    """Return counters of the whole database in the order of their key, and the place to go on from; None at the end."""
    statement = (
        sa.select(
            NumberCounter.project_id,
            Project.project_code,
            NumberCounter.series,
            NumberCounter.range,
            sa.func.coalesce(NumberRange.first_number - 1, 0),
        )
        .outerjoin(Project, Project.id == NumberCounter.project_id)  # outer: its place in the plan stays the last
        .outerjoin(NumberRange, COUNTER_OF_RANGE)
    )
    key = (NumberCounter.project_id, NumberCounter.series, NumberCounter.range)
    if after is not None:
        statement = statement.where(_above(key, after))
    rows = [CounterRow(*row) for row in (await session.execute(statement.order_by(*key).limit(limit))).all()]
    last = rows[-1] if len(rows) == limit else None
    return rows, (last.project_id, last.series, last.range) if last else None


async def uncounted_page(
    session: AsyncSession, *, after: CounterPlace | None, limit: int
) -> tuple[Sequence[CounterRow], CounterPlace | None]:
    """
    Return what the ledger has numbers of and no counter, in the order of the key of counters.

    Series that were only imported or stated by hand have none. Each is found by one step along the index, however many
    numbers it has.

    :param limit: series to look at, counted ones too
    :returns: those found, and the place to go on from; None at the end
    """
    projects = (await session.execute(sa.select(Project.id, Project.project_code).order_by(Project.id))).all()
    found: list[CounterRow] = []
    looks = 0
    for project_id, code in projects:
        if after is not None and project_id < after[0]:
            continue
        place = after[1:] if after is not None and project_id == after[0] else None
        while row := (await session.execute(_following(project_id, place))).first():
            series, range_, before, counted = row
            if not counted:
                found.append(CounterRow(project_id, code, series, range_, before or 0))
            place, looks = (series, range_), looks + 1
            if looks == limit:
                return found, (project_id, series, range_)
    return found, None


def _following(project_id: int, after: tuple[str, int] | None) -> AnySelect:
    """The first series and range behind a place in the ledger: where it began to count, whether it has a counter."""
    here = sa.select(LedgerEntry.series, LedgerEntry.range).where(LedgerEntry.project_id == project_id)
    order = (LedgerEntry.series, LedgerEntry.range)
    if after is None:
        page = here.order_by(*order).limit(1).subquery()
    else:
        series, range_ = after
        sides = (
            here.where(LedgerEntry.series == series, LedgerEntry.range > range_).order_by(*order).limit(1).subquery(),
            here.where(LedgerEntry.series > series).order_by(*order).limit(1).subquery(),
        )
        page = sa.union_all(*(sa.select(side) for side in sides)).subquery()
    counted = sa.exists().where(
        NumberCounter.project_id == project_id,
        NumberCounter.series == page.c.series,
        NumberCounter.range == page.c.range,
    )
    before = sa.select(NumberRange.first_number - 1).where(
        NumberRange.project_id == project_id, NumberRange.series == page.c.series, NumberRange.number == page.c.range
    )
    statement = sa.select(page.c.series, page.c.range, before.scalar_subquery(), counted)
    return statement.order_by(page.c.series, page.c.range).limit(1)


async def last_number(session: AsyncSession, counter: CounterRow) -> int | None:
    """Return where a counter stands; None where it has no row."""
    statement = sa.select(NumberCounter.last_number).where(
        NumberCounter.project_id == counter.project_id,
        NumberCounter.series == counter.series,
        NumberCounter.range == counter.range,
    )
    return await session.scalar(statement)


async def last_issued(session: AsyncSession, counter: CounterRow) -> int:
    """Return the highest sequence that was drawn from a counter, 0 where none was."""
    statement = sa.select(sa.func.max(LedgerEntry.sequence_number)).where(
        LedgerEntry.project_id == counter.project_id,
        LedgerEntry.series == counter.series,
        LedgerEntry.range == counter.range,
        LedgerEntry.source == NumberSource.DRAW,
    )
    return await session.scalar(statement) or 0


def _above(key: _Key, position: CounterPlace) -> sa.ColumnElement[bool]:
    project, series, range_ = key
    same = project == position[0]
    return sa.or_(
        project > position[0],
        sa.and_(same, series > position[1]),
        sa.and_(same, series == position[1], range_ > position[2]),
    )


_KEYS: sa.BindParameter[UUID] = sa.bindparam("keys", expanding=True)
_LIMIT = sa.bindparam("most", type_=sa.Integer)


def _entries() -> AnySelect:
    sequence: sa.BindParameter[int] = sa.bindparam("sequence")
    return (
        sa.select(
            LEDGER.c.id,
            LEDGER.c.uuid,
            LEDGER.c.series,
            LEDGER.c.range,
            LEDGER.c.sequence_number,
            LEDGER.c.base_number,
            LEDGER.c.document_number,
            LEDGER.c.revision_label,
            LEDGER.c.document_number_status,
            LEDGER.c.source,
            LEDGER.c.holder_public_id,
            LEDGER.c.format_template,
            LEDGER.c.format_values,
            LEDGER.c.replaces_uuid,
            LEDGER.c.replaced_by_uuid,
        )
        .where(
            LEDGER.c.project_id == sa.bindparam("project"),
            LEDGER.c.series == sa.bindparam("series"),
            LEDGER.c.range == sa.bindparam("range"),
            LEDGER.c.sequence_number >= sequence,
            sa.or_(LEDGER.c.sequence_number > sequence, LEDGER.c.id > sa.bindparam("key")),
        )
        .order_by(LEDGER.c.sequence_number, LEDGER.c.id)
        .limit(_LIMIT)
    )


_ENTRIES = PreparedStatement(_entries())
_OPERATIONS = PreparedStatement(
    sa.select(
        AUDIT.c.reservation_uuid,
        AUDIT.c.id,
        AUDIT.c.operation,
        AUDIT.c.generated_number,
        AUDIT.c.series,
        AUDIT.c.sequence_number,
        AUDIT.c.new_value,
    )
    .where(AUDIT.c.reservation_uuid.in_(_KEYS))
    .order_by(AUDIT.c.id)
)
_RENDERINGS = PreparedStatement(
    sa.select(RENDERINGS.c.reservation_id, RENDERINGS.c.document_number).where(RENDERINGS.c.reservation_id.in_(_KEYS))
)
_LINKS = PreparedStatement(
    sa.select(LEDGER.c.uuid, LEDGER.c.replaces_uuid, LEDGER.c.replaced_by_uuid).where(LEDGER.c.uuid.in_(_KEYS))
)
_HOLDERS = PreparedStatement(sa.select(LEDGER.c.uuid, LEDGER.c.holder_public_id).where(LEDGER.c.uuid.in_(_KEYS)))
_AUDIT_PAGE = (
    sa.select(AUDIT.c.id).where(AUDIT.c.id > sa.bindparam("after")).order_by(AUDIT.c.id).limit(_LIMIT).subquery()
)
_PAGE_END = PreparedStatement(sa.select(sa.func.max(_AUDIT_PAGE.c.id), sa.func.count()))
# The bounds are known by then: the database looks up each number of the page, and what fits never leaves it.
_ORPHANS = PreparedStatement(
    sa.select(
        AUDIT.c.reservation_uuid,
        AUDIT.c.operation,
        AUDIT.c.generated_number,
        sa.func.coalesce(Project.project_code, ""),
    )
    .outerjoin(LEDGER, LEDGER.c.uuid == AUDIT.c.reservation_uuid)
    .outerjoin(Project, Project.id == AUDIT.c.project_id)
    .where(
        AUDIT.c.id > sa.bindparam("after"),
        AUDIT.c.id <= sa.bindparam("upto"),
        AUDIT.c.reservation_uuid.is_not(None),
        LEDGER.c.id.is_(None),
    )
    .order_by(AUDIT.c.id)
)


async def ledger_numbers(
    session: AsyncSession, counter: CounterRow, *, after: tuple[int, int], limit: int
) -> Sequence[LedgerNumber]:
    """Return the numbers of one counter in order, those above (sequence, id)."""
    sequence, key = after
    rows = await _ENTRIES.rows(
        session,
        project=counter.project_id,
        series=counter.series,
        range=counter.range,
        sequence=sequence,
        key=key,
        most=limit,
    )
    return [LedgerNumber(row[0], row[1], counter.project, *row[2:]) for row in rows]


async def audited_operations(
    session: AsyncSession, public_ids: Sequence[UUID]
) -> Mapping[UUID, list[AuditedOperation]]:
    """Return the audit rows of these numbers, each in order."""
    operations: dict[UUID, list[AuditedOperation]] = {}
    for row in await _OPERATIONS.rows(session, keys=public_ids):
        operations.setdefault(row[0], []).append(AuditedOperation(*row[1:]))
    return operations


async def renderings_of(session: AsyncSession, keys: Sequence[int]) -> Mapping[int, set[str]]:
    """Return what was ever printed for these rows of the ledger."""
    printed: dict[int, set[str]] = {}
    for key, number in await _RENDERINGS.rows(session, keys=keys):
        printed.setdefault(key, set()).add(number)
    return printed


async def links_of(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
    """Return (replaces, replaced by) of these numbers."""
    if not public_ids:
        return {}
    return {row[0]: (row[1], row[2]) for row in await _LINKS.rows(session, keys=public_ids)}


async def holders_of(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, UUID | None]:
    """Return whom these numbers belong to; one that the ledger does not have is left out."""
    return dict(await _HOLDERS.rows(session, keys=public_ids))


async def orphaned_operations(session: AsyncSession, *, above: int, limit: int) -> tuple[Rows, int, int | None]:
    """
    Look through the next rows of the audit for those about a number that the ledger does not have.

    :returns: of each its number's public id, operation, number and project; how many were looked at, and the last
    """
    ((last, count),) = await _PAGE_END.rows(session, after=above, most=limit)
    return await _ORPHANS.rows(session, after=above, upto=last) if count else [], count, last


async def size_of_ledger(session: AsyncSession) -> int:
    return await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry)) or 0


async def size_of_audit(session: AsyncSession) -> int:
    return await session.scalar(sa.select(sa.func.count()).select_from(NumberAudit)) or 0
