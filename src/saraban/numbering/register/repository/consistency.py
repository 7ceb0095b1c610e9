"""Read all records at once, a page at a time in the order of an index: counters, numbers with their audit rows, the audit."""

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
    key = project, series, range_ = NumberCounter.project_id, NumberCounter.series, NumberCounter.range
    if after is not None:
        same = project == after[0]
        statement = statement.where(
            sa.or_(
                project > after[0],
                sa.and_(same, series > after[1]),
                sa.and_(same, series == after[1], range_ > after[2]),
            )
        )
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


HIGHEST_KEY = 2**63 - 1


class NumberedDocuments:
    """
    The numbers that the documents of one table carry.

    :param document: the mapped class of the documents
    :param printed: its attribute with the number as it is printed now
    :param ended: its attribute with the moment at which the document, and its number with it, was cancelled
    """

    def __init__(self, document: Any, printed: Any, ended: Any = None) -> None:
        ended = document.cancelled_at if ended is None else ended
        self._document = document
        self._carried = (document.public_id, document.number_uuid, printed, ended.is_not(None))
        self.key: sa.ColumnElement[int] = document.id
        # Of a number of the ledger: whether its holder is one of these, and prints it.
        self.hold = sa.exists().where(
            document.public_id == LEDGER.c.holder_public_id,
            document.number_uuid == LEDGER.c.uuid,
            printed == LEDGER.c.document_number,
            ended.is_(None),
        )

    def named(self, public_ids: Sequence[UUID]) -> AnySelect:
        return sa.select(*self._carried).where(self._document.public_id.in_(public_ids))

    def without_number(self, *, above: int, upto: int) -> AnySelect:
        """Return project and facts of the documents whose number is not theirs."""
        document, holder = self._document, LEDGER.c.holder_public_id
        # The bounds are known by then: the database looks up each number of the page, and what fits never leaves it.
        return (
            sa.select(_PROJECT_CODE, *self._carried)
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
    Return a page of the ledger: of each number what it is printed from, and whether all else is plain.

    A number is plain that one operation issued for good, that was revised at most since, and that the other records show
    as it is. Any other may be in order too, and has to be looked at.
    """
    about = AUDIT.c.reservation_uuid == LEDGER.c.uuid
    # What is imported or stated by hand is issued by the operation of that name.
    generated = sa.literal(OperationCode.GENERATE, sa.String)
    issue = sa.case((LEDGER.c.source == NumberSource.DRAW, generated), else_=LEDGER.c.source)
    issued = sa.and_(
        AUDIT.c.operation == issue,
        AUDIT.c.series == LEDGER.c.series,
        AUDIT.c.sequence_number == LEDGER.c.sequence_number,
    )
    revised = AUDIT.c.operation == OperationCode.REVISE
    operations = sa.select(sa.func.sum(sa.case((issued, 1), (revised, 0), else_=2))).where(about)
    printed = sa.select(sa.case((revised, AUDIT.c.new_value), else_=AUDIT.c.generated_number)).where(about)
    rendering = (RENDERINGS.c.reservation_id == LEDGER.c.id, RENDERINGS.c.document_number == LEDGER.c.document_number)
    plain = (
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
            sa.case((sa.and_(*plain), 1), else_=0),
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
    """Limit a statement to the next numbers of a counter above (sequence, id)."""
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
    """Return sequence and source of the next numbers of one counter in order, those above (sequence, id)."""
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
    """Return the audit rows of these numbers, each in order."""
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
    """
    Look through the next documents of a register for those whose number is not theirs.

    :returns: of each its project and what it carries; how many were looked at, and the last
    """
    last, count = await _page_end(session, register.key, above=above, limit=limit)
    rows = await session.execute(register.without_number(above=above, upto=last)) if last is not None else ()
    return [(project, NumberedDocument(*row)) for project, *row in rows], count, last


async def orphaned_operations(
    session: AsyncSession, *, above: int, limit: int
) -> tuple[Sequence[AnyRow], int, int | None]:
    """
    Look through the next rows of the audit for those about a number that the ledger does not have.

    :returns: of each its number's public id, operation, number and project; how many were looked at, and the last
    """
    last, count = await _page_end(session, AUDIT.c.id, above=above, limit=limit)
    if last is None:
        return [], count, last
    # As with documents: what fits never leaves the database.
    statement = (
        sa.select(AUDIT.c.reservation_uuid, AUDIT.c.operation, AUDIT.c.generated_number, _PROJECT_CODE)
        .outerjoin(LEDGER, LEDGER.c.uuid == AUDIT.c.reservation_uuid)
        .outerjoin(Project, Project.id == AUDIT.c.project_id)
        .where(AUDIT.c.id > above, AUDIT.c.id <= last, AUDIT.c.reservation_uuid.is_not(None), LEDGER.c.id.is_(None))
        .order_by(AUDIT.c.id)
    )
    return (await session.execute(statement)).all(), count, last


async def count_rows(session: AsyncSession, carriers: Sequence[NumberedDocuments]) -> int:
    """Count what there is to look at: the ledger, the audit and the documents."""
    keys = (LEDGER.c.id, AUDIT.c.id, *(register.key for register in carriers))
    return sum([await session.scalar(sa.select(sa.func.count(key))) or 0 for key in keys])
