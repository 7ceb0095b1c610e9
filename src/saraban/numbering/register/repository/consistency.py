"""Read all records at once, a page at a time in the order of an index: counters, numbers with their audit rows, the audit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.numbering.register.domain import AuditedOperation, CounterRow, LedgerNumber
from saraban.numbering.series.domain.states import NumberSource
from saraban.numbering.series.models import (
    COUNTER_OF_RANGE,
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberRange,
    NumberRendering,
)
from saraban.projects.models import Project

_Key = tuple[InstrumentedAttribute[int], InstrumentedAttribute[str], InstrumentedAttribute[int]]


async def counters_page(
    session: AsyncSession, *, after: tuple[int, str, int] | None, limit: int
) -> Sequence[CounterRow]:
    """Return counters of the whole database in the order of their key."""
    statement = (
        sa.select(
            NumberCounter.project_id,
            Project.project_code,
            NumberCounter.series,
            NumberCounter.range,
            NumberCounter.last_number,
            sa.func.coalesce(NumberRange.first_number - 1, 0),
        )
        .join(Project, Project.id == NumberCounter.project_id)
        .outerjoin(NumberRange, COUNTER_OF_RANGE)
    )
    key = (NumberCounter.project_id, NumberCounter.series, NumberCounter.range)
    if after is not None:
        statement = statement.where(_above(key, after))
    return [CounterRow(*row) for row in (await session.execute(statement.order_by(*key).limit(limit))).all()]


async def uncounted_page(
    session: AsyncSession, *, after: tuple[int, str, int] | None, limit: int
) -> Sequence[CounterRow]:
    """
    Return what the ledger has numbers of and no counter, in the order of the key of counters.

    Series that were only imported or stated by hand have none; there the last number is 0, as with a new counter.
    """
    key = (LedgerEntry.project_id, LedgerEntry.series, LedgerEntry.range)
    counted = sa.exists().where(
        NumberCounter.project_id == LedgerEntry.project_id,
        NumberCounter.series == LedgerEntry.series,
        NumberCounter.range == LedgerEntry.range,
    )
    keys = sa.select(*key).where(~counted).distinct().order_by(*key).limit(limit)
    if after is not None:
        keys = keys.where(_above(key, after))
    page = keys.subquery()
    statement = (
        sa.select(
            page.c.project_id,
            Project.project_code,
            page.c.series,
            page.c.range,
            sa.literal(0),
            sa.func.coalesce(NumberRange.first_number - 1, 0),
            sa.literal(value=False),
        )
        .join_from(page, Project, Project.id == page.c.project_id)
        .outerjoin(
            NumberRange,
            sa.and_(
                NumberRange.project_id == page.c.project_id,
                NumberRange.series == page.c.series,
                NumberRange.number == page.c.range,
            ),
        )
        .order_by(page.c.project_id, page.c.series, page.c.range)
    )
    return [CounterRow(*row) for row in (await session.execute(statement)).all()]


async def last_issued(session: AsyncSession, counter: CounterRow) -> int:
    """Return the highest sequence that was drawn from a counter, 0 where none was."""
    statement = sa.select(sa.func.max(LedgerEntry.sequence_number)).where(
        LedgerEntry.project_id == counter.project_id,
        LedgerEntry.series == counter.series,
        LedgerEntry.range == counter.range,
        LedgerEntry.source == NumberSource.DRAW,
    )
    return await session.scalar(statement) or 0


def _above(key: _Key, position: tuple[int, str, int]) -> sa.ColumnElement[bool]:
    project, series, range_ = key
    same = project == position[0]
    return sa.or_(
        project > position[0],
        sa.and_(same, series > position[1]),
        sa.and_(same, series == position[1], range_ > position[2]),
    )


_ENTRY = (
    LedgerEntry.id,
    LedgerEntry.public_id,
    Project.project_code,
    LedgerEntry.series,
    LedgerEntry.range,
    LedgerEntry.sequence_number,
    LedgerEntry.base_number,
    LedgerEntry.document_number,
    LedgerEntry.revision_label,
    LedgerEntry.document_number_status,
    LedgerEntry.source,
    LedgerEntry.holder_public_id,
    LedgerEntry.format_template,
    LedgerEntry.format_values,
    LedgerEntry.replaces_uuid,
    LedgerEntry.replaced_by_uuid,
)


async def ledger_numbers(
    session: AsyncSession, counter: CounterRow, *, after: tuple[int, int], limit: int
) -> Sequence[LedgerNumber]:
    """Return the numbers of one counter in order, those above (sequence, id)."""
    sequence, key = after
    statement = (
        sa.select(*_ENTRY)
        .join(Project, Project.id == LedgerEntry.project_id)
        .where(
            LedgerEntry.project_id == counter.project_id,
            LedgerEntry.series == counter.series,
            LedgerEntry.range == counter.range,
            LedgerEntry.sequence_number >= sequence,
            sa.or_(LedgerEntry.sequence_number > sequence, LedgerEntry.id > key),
        )
        .order_by(LedgerEntry.sequence_number, LedgerEntry.id)
        .limit(limit)
    )
    return list(starmap(LedgerNumber, (await session.execute(statement)).all()))


async def audited_operations(
    session: AsyncSession, public_ids: Sequence[UUID]
) -> Mapping[UUID, list[AuditedOperation]]:
    """Return the audit rows of these numbers, each in order."""
    statement = (
        sa.select(
            NumberAudit.reservation_uuid,
            NumberAudit.id,
            NumberAudit.operation,
            NumberAudit.generated_number,
            NumberAudit.series,
            NumberAudit.sequence_number,
            NumberAudit.new_value,
        )
        .where(NumberAudit.reservation_uuid.in_(public_ids))
        .order_by(NumberAudit.id)
    )
    operations: dict[UUID, list[AuditedOperation]] = {}
    for row in (await session.execute(statement)).all():
        operations.setdefault(row.reservation_uuid, []).append(AuditedOperation(*row[1:]))
    return operations


async def renderings_of(session: AsyncSession, keys: Sequence[int]) -> Mapping[int, set[str]]:
    """Return what was ever printed for these rows of the ledger."""
    statement = sa.select(NumberRendering.reservation_id, NumberRendering.document_number).where(
        NumberRendering.reservation_id.in_(keys)
    )
    printed: dict[int, set[str]] = {}
    for key, number in (await session.execute(statement)).all():
        printed.setdefault(key, set()).add(number)
    return printed


async def links_of(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
    """Return (replaces, replaced by) of these numbers."""
    if not public_ids:
        return {}
    statement = sa.select(LedgerEntry.public_id, LedgerEntry.replaces_uuid, LedgerEntry.replaced_by_uuid).where(
        LedgerEntry.public_id.in_(public_ids)
    )
    return {row[0]: (row[1], row[2]) for row in (await session.execute(statement)).all()}


async def holders_of(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, UUID | None]:
    """Return whom these numbers belong to; one that the ledger does not have is left out."""
    statement = sa.select(LedgerEntry.public_id, LedgerEntry.holder_public_id).where(
        LedgerEntry.public_id.in_(public_ids)
    )
    return {row[0]: row[1] for row in (await session.execute(statement)).all()}


@dataclass(frozen=True, slots=True)
class AuditedRow:
    id: int
    number_id: UUID | None
    operation: str
    number: str | None
    project: str


async def audited_page(session: AsyncSession, *, after: int, limit: int) -> Sequence[AuditedRow]:
    """Return the rows of the audit in order, as far as they name a number."""
    statement = (
        sa.select(
            NumberAudit.id,
            NumberAudit.reservation_uuid,
            NumberAudit.operation,
            NumberAudit.generated_number,
            sa.func.coalesce(Project.project_code, ""),
        )
        .outerjoin(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.id > after)
        .order_by(NumberAudit.id)
        .limit(limit)
    )
    return [AuditedRow(*row) for row in (await session.execute(statement)).all()]


async def sizes(session: AsyncSession) -> tuple[int, int]:
    """Count the rows of ledger and audit."""
    ledger = await session.scalar(sa.select(sa.func.count()).select_from(LedgerEntry))
    audit = await session.scalar(sa.select(sa.func.count()).select_from(NumberAudit))
    return ledger or 0, audit or 0
