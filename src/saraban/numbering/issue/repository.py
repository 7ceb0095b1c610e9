"""Rows of ledger, audit and errors. Of two concurrent conditional updates, one wins."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from saraban.identity.domain.context import RequestContext
from saraban.identity.models import Organization, User
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.fastlane import FastStatement, Packet
from saraban.kit.ids import new_id
from saraban.kit.keys import is_spelled, spelled
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.kit.text import key_text
from saraban.numbering.issue.domain import NumberErrorFilters
from saraban.numbering.series.domain.counter import CounterState, SeriesKey
from saraban.numbering.series.domain.states import NumberState, OperationCode, RenderingKind
from saraban.numbering.series.models import (
    AUDIT,
    AUDIT_COLUMNS,
    COUNTERS,
    FORMAT_COLUMNS,
    LEDGER,
    LEDGER_COLUMNS,
    PERSON_NAME,
    RENDERINGS,
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberError,
    NumberErrorRow,
    NumberFormat,
    NumberRendering,
)
from saraban.projects.domain.drawing_settings import CONTRACT_REGISTER
from saraban.projects.models import (
    ContractDrawingCategory,
    CorrespondenceSubType,
    CorrespondenceType,
    Discipline,
    Project,
    RfaType,
    ShopDrawingMainCategory,
)

_INSERT_RENDERING = sa.insert(RENDERINGS)
_INSERT_AUDIT = sa.insert(AUDIT)
_ISSUED_BY = (OperationCode.GENERATE, OperationCode.RESERVE, OperationCode.OVERRIDE, OperationCode.IMPORT)


async def taken_numbers(
    session: AsyncSession, *, project_id: int, bases: Sequence[str], numbers: Sequence[str], register: str
) -> dict[str, str]:
    """Return taken numbers with their look-alikes; plain reads, no locks (REQ-NUM-05)."""
    base_numbers = sa.select(LEDGER.c.base_number_key, LEDGER.c.base_number).where(
        LEDGER.c.project_id == project_id, LEDGER.c.base_number_key.in_(bases), LEDGER.c.register == register
    )
    renderings = sa.select(RENDERINGS.c.document_number_key, RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id,
        RENDERINGS.c.document_number_key.in_(numbers),
        RENDERINGS.c.register == register,
    )
    taken = {row[0]: row[1] for statement in (base_numbers, renderings) for row in await session.execute(statement)}
    return {name: taken[key] for name in {*bases, *numbers} if (key := key_text(name)) in taken} if taken else {}


async def by_tokens(session: AsyncSession, tokens: Sequence[UUID]) -> dict[UUID, LedgerEntry]:
    entries = await session.scalars(sa.select(LedgerEntry).where(LedgerEntry.token.in_(tokens)))
    return {entry.token: entry for entry in entries}


async def mark_cancelled(session: AsyncSession, *, public_id: UUID, reason: str, now: datetime) -> bool:
    """Cancel a number without a holder; False if there is none."""
    done: Any = await session.execute(
        sa.update(LedgerEntry)
        .where(
            LedgerEntry.public_id == public_id,
            LedgerEntry.document_number_status.in_([NumberState.CONFIRMED, NumberState.RESERVED]),
            LedgerEntry.holder_public_id.is_(None),
        )
        .values(document_number_status=NumberState.CANCELLED, cancelled_at=now, reason=reason)
    )
    return bool(done.rowcount == 1)


_ENTRY = LEDGER.c
_FORMAT_OF_NUMBER = (
    sa.select(CorrespondenceType.type_code, *FORMAT_COLUMNS)
    .select_from(LedgerEntry)
    .join(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
    .outerjoin(NumberFormat, NumberFormat.public_id == LedgerEntry.format_uuid)
    .where(LedgerEntry.public_id == sa.bindparam("number"))
)


async def format_of_number(session: AsyncSession, public_id: UUID) -> AnyRow | None:
    return (await session.execute(_FORMAT_OF_NUMBER, {"number": public_id})).first()


async def insert_rendering(session: AsyncSession, row: dict[str, object]) -> None:
    await session.execute(_INSERT_RENDERING, row)


async def has_drawing_category(session: AsyncSession, project_id: int, register: str, code: str) -> bool:
    is_contract = register == CONTRACT_REGISTER
    column = ContractDrawingCategory.cat_code if is_contract else ShopDrawingMainCategory.main_category_code
    model = column.class_
    statement = sa.select(model.id).where(model.project_id == project_id, is_spelled(column, [code]), model.is_active)
    return await session.scalar(statement) is not None


async def printed_by(session: AsyncSession, *, project_id: int, number: str, register: str) -> int | None:
    return await session.scalar(
        sa.select(NumberRendering.reservation_id).where(
            NumberRendering.project_id == project_id,
            NumberRendering.document_number == number,
            NumberRendering.register == register,
        )
    )


async def insert_audit(
    ctx: RequestContext, session: AsyncSession, operation: OperationCode, row: dict[str, object]
) -> None:
    """For operations that do not wait for a series lock."""
    origin = {"user_id": ctx.caller.user_id, "ip_address": ctx.address[:45] or None, "created_at": ctx.now}
    defaults = {"uuid": new_id(), "operation": operation, "retry_count": 0, "lock_wait_ms": 0}
    await session.execute(_INSERT_AUDIT, defaults | origin | row)


class HeldNumber(NamedTuple):
    public_id: UUID
    project_id: int
    originator_organization_id: int


_HELD_NUMBER = sa.select(_ENTRY.uuid, _ENTRY.project_id, _ENTRY.originator_organization_id).where(
    _ENTRY.holder_public_id == sa.bindparam("holder"), _ENTRY.replaced_by_uuid.is_(None)
)


async def held_by(session: AsyncSession, holder: UUID) -> HeldNumber | None:
    """Return the current number; replaced numbers keep their holder and are excluded."""
    row = (await session.execute(_HELD_NUMBER, {"holder": holder})).first()
    return HeldNumber(*row) if row else None


async def lock_held_by(session: AsyncSession, holder: UUID) -> LedgerEntry | None:
    statement = sa.select(LedgerEntry).where(
        LedgerEntry.holder_public_id == holder, LedgerEntry.replaced_by_uuid.is_(None)
    )
    return await session.scalar(statement.with_for_update())


async def by_public_id(session: AsyncSession, public_id: UUID, *, lock: bool = False) -> LedgerEntry | None:
    statement = sa.select(LedgerEntry).where(LedgerEntry.public_id == public_id)
    statement = statement.execution_options(populate_existing=True)
    return await session.scalar(statement.with_for_update() if lock else statement)


async def end_reservation(
    session: AsyncSession, *, public_id: UUID, source: str, user_id: int, now: datetime, values: dict[str, object]
) -> bool:
    """Update an unexpired reservation without a holder; `now` is the database's clock."""
    conditions = [
        LedgerEntry.public_id == public_id,
        LedgerEntry.user_id == user_id,
        LedgerEntry.document_number_status == source,
        LedgerEntry.holder_public_id.is_(None),
        LedgerEntry.expires_at > now,
    ]
    return await _update_one(session, conditions, values)


async def void_number(session: AsyncSession, *, public_id: UUID, source: str, values: dict[str, object]) -> bool:
    """Update only a number in the state `source`; return whether a row changed."""
    return await _update_one(
        session, [LedgerEntry.public_id == public_id, LedgerEntry.document_number_status == source], values
    )


async def link_replacement(session: AsyncSession, *, public_id: UUID, replaces: UUID) -> None:
    await _update_one(session, [LedgerEntry.public_id == public_id], {"replaces_uuid": replaces})


async def _update_one(
    session: AsyncSession, conditions: Sequence[sa.ColumnElement[bool]], values: dict[str, object]
) -> bool:
    statement = sa.update(LedgerEntry).where(*conditions).values(**values)
    done: Any = await session.execute(statement.execution_options(synchronize_session=False))
    return bool(done.rowcount == 1)


async def overdue(session: AsyncSession, *, source: str, now: datetime, limit: int) -> Sequence[LedgerEntry]:
    """Return and lock reservations past their expiry, oldest first."""
    statement = sa.select(LedgerEntry).where(*_overdue_conditions(source, now)).order_by(LedgerEntry.expires_at)
    return (await session.scalars(statement.limit(limit).with_for_update())).all()


async def any_overdue(session: AsyncSession, *, source: str, now: datetime) -> bool:
    return await session.scalar(sa.select(LedgerEntry.id).where(*_overdue_conditions(source, now)).limit(1)) is not None


def _overdue_conditions(source: str, now: datetime) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        LedgerEntry.holder_public_id.is_(None),
        LedgerEntry.document_number_status == source,
        LedgerEntry.expires_at <= now,
    )


async def project_and_type_of(session: AsyncSession, entry: LedgerEntry) -> tuple[UUID, str, str]:
    row = (
        await session.execute(
            sa.select(Project.public_id, Project.project_code, CorrespondenceType.type_code)
            .select_from(LedgerEntry)
            .join(Project, Project.id == LedgerEntry.project_id)
            .join(CorrespondenceType, CorrespondenceType.id == LedgerEntry.correspondence_type_id)
            .where(LedgerEntry.id == entry.id)
        )
    ).one()
    return row[0], row[1], row[2]


async def by_printed_number(
    session: AsyncSession, *, project_id: int, number: str, register: str
) -> LedgerEntry | None:
    statement = (
        sa.select(LedgerEntry)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(
            NumberRendering.project_id == project_id,
            NumberRendering.document_number == number,
            NumberRendering.register == register,
        )
    )
    return await session.scalar(statement)


async def recorded_issue(session: AsyncSession, public_id: UUID) -> tuple[str | None, str] | None:
    """Return type and counter key from the audit row of the issue."""
    row = (
        await session.execute(
            sa.select(NumberAudit.document_type, NumberAudit.counter_key).where(
                NumberAudit.reservation_uuid == public_id,
                NumberAudit.operation.in_(_ISSUED_BY),
                NumberAudit.counter_key.is_not(None),
            )
        )
    ).first()
    return (row.document_type, str(row.counter_key)) if row is not None else None


async def codes_of_counter(session: AsyncSession, counter: NumberCounter) -> Mapping[str, str | None]:
    return await _select_codes(
        session,
        project=_code(Project.project_code, Project.id, counter.project_id),
        originator=_code(Organization.organization_code, Organization.id, counter.originator_organization_id),
        recipient=_code(Organization.organization_code, Organization.id, counter.recipient_organization_id),
        type=_code(CorrespondenceType.type_code, CorrespondenceType.id, counter.correspondence_type_id),
        subType=_code(CorrespondenceSubType.sub_type_code, CorrespondenceSubType.id, counter.sub_type_id),
        rfaType=_code(RfaType.type_code, RfaType.id, counter.rfa_type_id),
        discipline=_code(Discipline.discipline_code, Discipline.id, counter.discipline_id),
    )


async def codes_of_entry(session: AsyncSession, entry: LedgerEntry) -> Mapping[str, str | None]:
    """For migrated numbers, whose issue has no audit row."""
    return await _select_codes(
        session,
        project=_code(Project.project_code, Project.id, entry.project_id),
        originator=_code(Organization.organization_code, Organization.id, entry.originator_organization_id),
        recipient=_code(Organization.organization_code, Organization.id, entry.recipient_organization_id),
        type=_code(CorrespondenceType.type_code, CorrespondenceType.id, entry.correspondence_type_id),
    )


def _code(code: InstrumentedAttribute[str], key: InstrumentedAttribute[int], value: int) -> sa.ScalarSelect[str]:
    return sa.select(code).where(key == value).scalar_subquery()


async def _select_codes(session: AsyncSession, **columns: sa.ScalarSelect[str]) -> Mapping[str, str | None]:
    statement: AnySelect = sa.select(*(column.label(name) for name, column in columns.items()))
    return dict((await session.execute(statement)).mappings().one())


# Compare `last_number` too: a manual change in the database may leave the version as it is.
_ADVANCE = (
    sa.update(COUNTERS)
    .where(
        COUNTERS.c.project_id == sa.bindparam("project"),
        COUNTERS.c.series == sa.bindparam("in_series"),
        COUNTERS.c.range == sa.bindparam("in_range"),
        COUNTERS.c.version == sa.bindparam("seen_version"),
        COUNTERS.c.last_number == sa.bindparam("seen_number"),
    )
    .values(
        last_number=sa.bindparam("to"),
        version=COUNTERS.c.version + 1,
        updated_at=sa.bindparam("now", type_=COUNTERS.c.updated_at.type),
    )
)
_ADVANCE_ALONE = FastStatement(_ADVANCE)
# A counter locked elsewhere must not delay the other series of a shared transaction.
_ADVANCE_AT_ONCE = FastStatement(_ADVANCE, before="SET STATEMENT innodb_lock_wait_timeout = 0 FOR ")
# Constraint names in the driver's message when a number (not a token) exists already.
NUMBER_CONSTRAINTS = (
    *("idx_docnum_ledger_base", "idx_docnum_ledger_key", "idx_docnum_rendering_number", "idx_docnum_rendering_key"),
    "document_number_reservations.base_number",  # or its key
    "document_number_renderings.document_number",
)
TOKEN_CONSTRAINTS = ("idx_docnum_ledger_token", "document_number_reservations.token")


_RENDERING_COLUMNS = (
    "project_id",
    "register",
    "document_number",
    "document_number_key",
    "revision_label",
    "created_at",
)
_KEYED_COLUMNS = (*LEDGER_COLUMNS, "base_number_key", "document_number_key")
_UUID = LEDGER_COLUMNS.index("uuid")
_BASE, _NUMBER = LEDGER_COLUMNS.index("base_number"), LEDGER_COLUMNS.index("document_number")
Moved = Sequence[tuple[SeriesKey, CounterState, int]]


def queue_numbers(
    packet: Packet,
    moved: Moved,
    *,
    now: datetime,
    entries: Sequence[Sequence[object]],
    audits: Sequence[Sequence[object]],
    refusal: Exception,
) -> None:
    """
    Queue the compare-and-set of the counters, then rows in the order of `LEDGER_COLUMNS` and `AUDIT_COLUMNS`.

    :param refusal: raised where a counter has moved; nothing of the packet behind it is written
    """
    queue_advances(packet, moved, now=now, refusal=refusal)
    _queue_rows(packet, entries, audits)


def queue_advances(packet: Packet, moved: Moved, *, now: datetime, refusal: Exception) -> None:
    """:param moved: series, its state as read, its new last number; sorted here against deadlocks"""
    advance = _ADVANCE_ALONE if len(moved) == 1 else _ADVANCE_AT_ONCE
    for key, seen, to in sorted(moved):
        packet.execute(
            advance,
            refusal,
            guards=True,
            project=key.project_id,
            in_series=key.series,
            in_range=key.range,
            seen_version=seen.version,
            seen_number=seen.last_number,
            to=to,
            now=now,
        )


async def insert_numbers(
    session: AsyncSession, *, entries: Sequence[Sequence[object]], audits: Sequence[Sequence[object]]
) -> None:
    """Rows are in the order of `LEDGER_COLUMNS` and `AUDIT_COLUMNS`."""
    packet = Packet(session)
    _queue_rows(packet, entries, audits)
    await packet.send()


def _queue_rows(packet: Packet, entries: Sequence[Sequence[object]], audits: Sequence[Sequence[object]]) -> None:
    packet.insert(LEDGER, _KEYED_COLUMNS, [[*entry, entry[_BASE], entry[_NUMBER]] for entry in entries])
    packet.execute(_rendering_statement(packet.on_sqlite), entries=[entry[_UUID] for entry in entries])
    packet.insert(AUDIT, AUDIT_COLUMNS, audits)


@cache
def _rendering_statement(on_sqlite: bool) -> FastStatement:
    """Must directly follow the insert of the ledger rows."""
    rows = sa.select(
        *(LEDGER.c[name] for name in _RENDERING_COLUMNS), LEDGER.c.id, sa.literal_column(f"'{RenderingKind.ISSUE}'")
    ).where(LEDGER.c.uuid.in_(sa.bindparam("entries", expanding=True, type_=LEDGER.c.uuid.type)))
    if not on_sqlite:  # the keys of one insert are consecutive
        rows = rows.where(LEDGER.c.id >= sa.func.last_insert_id()).with_hint(LEDGER, "FORCE INDEX (PRIMARY)", "mariadb")
    insertion = sa.insert(RENDERINGS)
    return FastStatement(
        insertion.from_select([*_RENDERING_COLUMNS, "reservation_id", "kind"], rows, include_defaults=False)
    )


async def largest_packet(session: AsyncSession) -> int:
    """Return the maximum bytes of a statement; a constant on SQLite."""
    if session.get_bind().dialect.name == "sqlite":
        return 1 << 30
    return int((await session.execute(sa.text("SELECT @@max_allowed_packet"))).scalar_one())


_INSERT_ERROR = sa.insert(cast(sa.Table, NumberError.__table__))


async def errors_page(
    session: AsyncSession, filters: NumberErrorFilters, *, cursor: str | None, limit: int
) -> Page[NumberErrorRow]:
    statement: AnySelect = sa.select(NumberError, User.username, PERSON_NAME).outerjoin(
        User, User.user_id == NumberError.user_id
    )
    if filters.kind is not None:
        statement = statement.where(NumberError.error_type == filters.kind)
    if filters.username is not None:  # by key: with a condition on the joined table MariaDB would start there
        key = spelled(sa.select(User.user_id), User.username, filters.username).scalar_subquery()
        statement = statement.where(NumberError.user_id == key)
    if filters.trace is not None:
        statement = statement.where(NumberError.trace_id == filters.trace)
    if filters.since is not None:
        statement = statement.where(NumberError.created_at >= filters.since)
    if filters.until is not None:
        statement = statement.where(NumberError.created_at < filters.until)
    statement = newest_first(
        statement, at=NumberError.created_at, public_id=NumberError.public_id, cursor=cursor, limit=limit
    )
    rows = [NumberErrorRow(*row) for row in (await session.execute(statement)).all()]
    return page_of(rows, limit=limit, key=lambda row: (row.error.created_at, row.error.public_id))


async def existing_errors(session: AsyncSession, public_ids: Sequence[UUID]) -> frozenset[UUID]:
    rows = await session.scalars(sa.select(NumberError.public_id).where(NumberError.public_id.in_(public_ids)))
    return frozenset(rows)


async def insert_errors(session: AsyncSession, rows: Sequence[dict[str, object]]) -> None:
    await session.execute(_INSERT_ERROR, list(rows))


async def delete_errors(session: AsyncSession, *, before: datetime, limit: int) -> int:
    statement = sa.select(NumberError.id).where(NumberError.created_at < before).order_by(NumberError.created_at)
    ids = (await session.scalars(statement.limit(limit))).all()
    if ids:
        await session.execute(sa.delete(NumberError).where(NumberError.id.in_(ids)))
    return len(ids)
