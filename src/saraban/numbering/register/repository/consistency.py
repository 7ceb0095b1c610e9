"""Reads of the consistency check, page by page in index order."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import AnyRow, AnySelect
from saraban.numbering.register.domain import (
    AuditedOperation,
    CounterRow,
    LedgerNumber,
    NumberedDocument,
)
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode
from saraban.numbering.series.models import (
    AUDIT,
    COUNTER_OF_RANGE,
    LEDGER,
    RENDERINGS,
    LedgerEntry,
    NumberCounter,
    NumberRange,
)
from saraban.projects.models import Project

CounterPlace = tuple[int, str, int]  # project, series, range


async def counters_page(
    session: AsyncSession, *, after: CounterPlace | None, limit: int
) -> tuple[Sequence[CounterRow], CounterPlace | None]:
    """Return counters in key order, and the place to continue from; None at the end."""
    statement = (
        sa.select(
            NumberCounter.project_id,
            Project.project_code,
            NumberCounter.series,
            NumberCounter.range,
            sa.func.coalesce(NumberRange.first_number - 1, 0),
        )
        .outerjoin(Project, Project.id == NumberCounter.project_id)  # outer, so that the join stays last in the plan
        .outerjoin(NumberRange, COUNTER_OF_RANGE)
    )
    key = project, series, range_ = NumberCounter.project_id, NumberCounter.series, NumberCounter.range
    if after is not None:
        is_same_project = project == after[0]
        statement = statement.where(
            sa.or_(
                project > after[0],
                sa.and_(is_same_project, series > after[1]),
                sa.and_(is_same_project, series == after[1], range_ > after[2]),
            )
        )
    rows = [CounterRow(*row) for row in (await session.execute(statement.order_by(*key).limit(limit))).all()]
    last = rows[-1] if len(rows) == limit else None
    return rows, (last.project_id, last.series, last.range) if last else None


async def uncounted_page(
    session: AsyncSession, *, after: CounterPlace | None, limit: int
) -> tuple[Sequence[CounterRow], CounterPlace | None]:
    """
    Return series of the ledger without a counter, one index step each, and the place to continue from.

    :param limit: series to examine, including counted ones
    """
    projects = (await session.execute(sa.select(Project.id, Project.project_code).order_by(Project.id))).all()
    uncounted: list[CounterRow] = []
    examined = 0
    for project_id, code in projects:
        if after is not None and project_id < after[0]:
            continue
        place = after[1:] if after is not None and project_id == after[0] else None
        while row := (await session.execute(_next_series_statement(project_id, place))).first():
            series, range_, before, counted = row
            if not counted:
                uncounted.append(CounterRow(project_id, code, series, range_, before or 0))
            place, examined = (series, range_), examined + 1
            if examined == limit:
                return uncounted, (project_id, series, range_)
    return uncounted, None


def _next_series_statement(project_id: int, after: tuple[str, int] | None) -> AnySelect:
    places = sa.select(LedgerEntry.series, LedgerEntry.range).where(LedgerEntry.project_id == project_id)
    order = (LedgerEntry.series, LedgerEntry.range)
    if after is None:
        page = places.order_by(*order).limit(1).subquery()
    else:
        series, range_ = after
        sides = (
            places.where(LedgerEntry.series == series, LedgerEntry.range > range_).order_by(*order).limit(1).subquery(),
            places.where(LedgerEntry.series > series).order_by(*order).limit(1).subquery(),
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
    statement = sa.select(NumberCounter.last_number).where(
        NumberCounter.project_id == counter.project_id,
        NumberCounter.series == counter.series,
        NumberCounter.range == counter.range,
    )
    return await session.scalar(statement)


async def last_issued(session: AsyncSession, counter: CounterRow) -> int:
    """0 for none."""
    statement = sa.select(sa.func.max(LedgerEntry.sequence_number)).where(
        LedgerEntry.project_id == counter.project_id,
        LedgerEntry.series == counter.series,
        LedgerEntry.range == counter.range,
        LedgerEntry.source == NumberSource.DRAW,
    )
    return await session.scalar(statement) or 0


HIGHEST_KEY = 2**63 - 1


class NumberedDocuments:
    """
    :param printed: attribute with the current number
    :param ended: attribute with the moment of cancellation
    """

    def __init__(self, document: Any, printed: Any, ended: Any = None) -> None:
        ended = document.cancelled_at if ended is None else ended
        self._document = document
        self._columns = (document.public_id, document.number_uuid, printed, ended.is_not(None))
        self.key: sa.ColumnElement[int] = document.id
        # Condition on a ledger row: an active document of this table holds and prints it.
        self.hold = sa.exists().where(
            document.public_id == LEDGER.c.holder_public_id,
            document.number_uuid == LEDGER.c.uuid,
            printed == LEDGER.c.document_number,
            ended.is_(None),
        )

    def named(self, public_ids: Sequence[UUID]) -> AnySelect:
        return sa.select(*self._columns).where(self._document.public_id.in_(public_ids))

    def without_number(self, *, above: int, upto: int) -> AnySelect:
        """Select documents whose number is missing or has another holder."""
        document, holder = self._document, LEDGER.c.holder_public_id
        # With both bounds, the database looks up each number of the page and returns only faults.
        return (
            sa.select(_PROJECT_CODE, *self._columns)
            .outerjoin(LEDGER, LEDGER.c.uuid == document.number_uuid)
            .outerjoin(Project, Project.id == document.project_id)
            .where(self.key > above, self.key <= upto, sa.or_(holder.is_(None), holder != document.public_id))
            .order_by(self.key)
        )


async def _page_end(
    session: AsyncSession, key: sa.ColumnElement[int], *, above: int, limit: int
) -> tuple[int | None, int]:
    page = sa.select(key.label("id")).where(key > above).order_by(key).limit(limit).subquery()
    last, count = (await session.execute(sa.select(sa.func.max(page.c.id), sa.func.count()))).one()
    return last, count


_PROJECT_CODE = sa.func.coalesce(Project.project_code, "")
_NUMBERS = sa.select(
    LEDGER.c.id,
    LEDGER.c.uuid,
    _PROJECT_CODE,
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
).outerjoin(Project, Project.id == LEDGER.c.project_id)


async def plain_numbers(
    session: AsyncSession, carriers: Sequence[NumberedDocuments], *, above: int, limit: int
) -> Sequence[AnyRow]:
    """
    Return a page of the ledger: columns of each rendering, and whether the number is plain.

    A plain number has one final issuing operation, at most revisions since, and agreeing records.
    """
    is_own_audit = AUDIT.c.reservation_uuid == LEDGER.c.uuid
    # Imported and manual numbers are issued by the operation with the name of their source.
    generated = sa.literal(OperationCode.GENERATE, sa.String)
    issue = sa.case((LEDGER.c.source == NumberSource.DRAW, generated), else_=LEDGER.c.source)
    is_issue = sa.and_(
        AUDIT.c.operation == issue,
        AUDIT.c.series == LEDGER.c.series,
        AUDIT.c.sequence_number == LEDGER.c.sequence_number,
    )
    is_revision = AUDIT.c.operation == OperationCode.REVISE
    operations = sa.select(sa.func.sum(sa.case((is_issue, 1), (is_revision, 0), else_=2))).where(is_own_audit)
    printed = sa.select(sa.case((is_revision, AUDIT.c.new_value), else_=AUDIT.c.generated_number)).where(is_own_audit)
    rendering = (RENDERINGS.c.reservation_id == LEDGER.c.id, RENDERINGS.c.document_number == LEDGER.c.document_number)
    conditions = (
        LEDGER.c.document_number_status == NumberState.CONFIRMED,
        LEDGER.c.replaces_uuid.is_(None),
        LEDGER.c.replaced_by_uuid.is_(None),
        operations.scalar_subquery() == 1,
        printed.order_by(AUDIT.c.id.desc()).limit(1).scalar_subquery() == LEDGER.c.document_number,
        sa.exists().where(*rendering),
        sa.or_(LEDGER.c.holder_public_id.is_(None), *(register.hold for register in carriers)),
    )
    statement = (
        sa.select(
            LEDGER.c.id,
            sa.case((sa.and_(*conditions), 1), else_=0),
            sa.type_coerce(LEDGER.c.format_values, sa.String),
            LEDGER.c.sequence_number,
            LEDGER.c.base_number,
            LEDGER.c.document_number,
            LEDGER.c.revision_label,
            LEDGER.c.format_template,
        )
        .where(LEDGER.c.id > above)
        .order_by(LEDGER.c.id)
        .limit(limit)
    )
    return (await session.execute(statement)).all()


def _numbers_above(statement: AnySelect, counter: CounterRow, *, after: tuple[int, int], limit: int) -> AnySelect:
    number, (sequence, key) = LEDGER.c.sequence_number, after
    return (
        statement.where(
            LEDGER.c.project_id == counter.project_id,
            LEDGER.c.series == counter.series,
            LEDGER.c.range == counter.range,
            number >= sequence,
            sa.or_(number > sequence, LEDGER.c.id > key),
        )
        .order_by(number, LEDGER.c.id)
        .limit(limit)
    )


async def sequences(
    session: AsyncSession, counter: CounterRow, *, after: tuple[int, int], limit: int
) -> Sequence[tuple[int, str]]:
    """Return sequence and source of the next numbers after (sequence, id)."""
    statement = sa.select(LEDGER.c.sequence_number, LEDGER.c.source)
    rows = await session.execute(_numbers_above(statement, counter, after=after, limit=limit))
    return [(sequence, source) for sequence, source in rows]


async def ledger_numbers(
    session: AsyncSession, counter: CounterRow, *, after: tuple[int, int], limit: int
) -> Sequence[LedgerNumber]:
    rows = await session.execute(_numbers_above(_NUMBERS, counter, after=after, limit=limit))
    return [LedgerNumber(*row) for row in rows]


async def numbers_of(session: AsyncSession, keys: Sequence[int]) -> Sequence[LedgerNumber]:
    if not keys:
        return []
    rows = await session.execute(_NUMBERS.where(LEDGER.c.id.in_(keys)).order_by(LEDGER.c.id))
    return [LedgerNumber(*row) for row in rows]


async def audited_operations(
    session: AsyncSession, public_ids: Sequence[UUID]
) -> Mapping[UUID, list[AuditedOperation]]:
    statement = sa.select(
        AUDIT.c.reservation_uuid,
        AUDIT.c.id,
        AUDIT.c.operation,
        AUDIT.c.generated_number,
        AUDIT.c.series,
        AUDIT.c.sequence_number,
        AUDIT.c.new_value,
    ).where(AUDIT.c.reservation_uuid.in_(public_ids))
    operations: dict[UUID, list[AuditedOperation]] = {}
    for public_id, *row in await session.execute(statement.order_by(AUDIT.c.id)) if public_ids else ():
        operations.setdefault(public_id, []).append(AuditedOperation(*row))
    return operations


async def renderings_of(session: AsyncSession, keys: Sequence[int]) -> Mapping[int, set[str]]:
    statement = sa.select(RENDERINGS.c.reservation_id, RENDERINGS.c.document_number)
    printed: dict[int, set[str]] = {}
    for key, number in await session.execute(statement.where(RENDERINGS.c.reservation_id.in_(keys))) if keys else ():
        printed.setdefault(key, set()).add(number)
    return printed


async def links_of(session: AsyncSession, public_ids: Sequence[UUID]) -> Mapping[UUID, tuple[UUID | None, UUID | None]]:
    if not public_ids:
        return {}
    statement = sa.select(LEDGER.c.uuid, LEDGER.c.replaces_uuid, LEDGER.c.replaced_by_uuid)
    rows = await session.execute(statement.where(LEDGER.c.uuid.in_(public_ids)))
    return {public_id: (replaces, replaced_by) for public_id, replaces, replaced_by in rows}


async def documents_of(
    session: AsyncSession, carriers: Sequence[NumberedDocuments], public_ids: Sequence[UUID]
) -> Mapping[UUID, NumberedDocument]:
    if not public_ids:
        return {}
    rows = [row for register in carriers for row in await session.execute(register.named(public_ids))]
    return {row[0]: NumberedDocument(*row) for row in rows}


async def documents_without_number(
    session: AsyncSession, register: NumberedDocuments, *, above: int, limit: int
) -> tuple[Sequence[tuple[str, NumberedDocument]], int, int | None]:
    """:returns: faults; documents examined; key of the last"""
    last, count = await _page_end(session, register.key, above=above, limit=limit)
    rows = await session.execute(register.without_number(above=above, upto=last)) if last is not None else ()
    return [(project, NumberedDocument(*row)) for project, *row in rows], count, last


async def orphaned_operations(
    session: AsyncSession, *, above: int, limit: int
) -> tuple[Sequence[AnyRow], int, int | None]:
    """:returns: audit rows without a ledger row; rows examined; key of the last"""
    last, count = await _page_end(session, AUDIT.c.id, above=above, limit=limit)
    if last is None:
        return [], count, last
    statement = (
        sa.select(AUDIT.c.reservation_uuid, AUDIT.c.operation, AUDIT.c.generated_number, _PROJECT_CODE)
        .outerjoin(LEDGER, LEDGER.c.uuid == AUDIT.c.reservation_uuid)
        .outerjoin(Project, Project.id == AUDIT.c.project_id)
        .where(AUDIT.c.id > above, AUDIT.c.id <= last, AUDIT.c.reservation_uuid.is_not(None), LEDGER.c.id.is_(None))
        .order_by(AUDIT.c.id)
    )
    return (await session.execute(statement)).all(), count, last


async def count_rows(session: AsyncSession, carriers: Sequence[NumberedDocuments]) -> int:
    keys = (LEDGER.c.id, AUDIT.c.id, *(register.key for register in carriers))
    return sum([await session.scalar(sa.select(sa.func.count(key))) or 0 for key in keys])
