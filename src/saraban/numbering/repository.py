"""The statements of numbering: Core, built once, because every number runs through them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.pagination import Page, cut, newest_first
from saraban.numbering.domain.counter import CounterKey
from saraban.numbering.models import LedgerEntry, NumberAudit, NumberCounter, NumberError, NumberFormat, NumberRendering
from saraban.projects.models import CorrespondenceType, Project

COUNTERS = cast(sa.Table, NumberCounter.__table__)
LEDGER = cast(sa.Table, LedgerEntry.__table__)
RENDERINGS = cast(sa.Table, NumberRendering.__table__)
AUDIT = cast(sa.Table, NumberAudit.__table__)
ERRORS = cast(sa.Table, NumberError.__table__)

_ONE_COUNTER = sa.and_(
    COUNTERS.c.project_id == sa.bindparam("b_project"),
    COUNTERS.c.series == sa.bindparam("b_series"),
    COUNTERS.c.range == sa.bindparam("b_range"),
)
_READ = sa.select(COUNTERS.c.last_number, COUNTERS.c.version).where(_ONE_COUNTER)
_LOCK = _READ.with_for_update()
_ADVANCE = (
    sa.update(COUNTERS)
    .where(_ONE_COUNTER, COUNTERS.c.version == sa.bindparam("b_version"))
    .values(last_number=sa.bindparam("b_last"), version=COUNTERS.c.version + 1, updated_at=sa.bindparam("b_now"))
)
_INSERT_LEDGER = sa.insert(LEDGER)
_INSERT_RENDERING = sa.insert(RENDERINGS)
_INSERT_AUDIT = sa.insert(AUDIT)
_INSERT_ERROR = sa.insert(ERRORS)

# What the driver says when a number (not a token or anything else) is already there.
NUMBER_CONSTRAINTS = (
    "idx_docnum_ledger_base",
    "idx_docnum_rendering_number",
    "document_number_reservations.base_number",
    "document_number_renderings.document_number",
)
TOKEN_CONSTRAINTS = ("idx_docnum_ledger_token", "document_number_reservations.token")


@dataclass(frozen=True, slots=True)
class Counter:
    """Where a series stands; `version` guards the compare-and-set."""

    last_number: int
    version: int


async def ensure_counter(session: AsyncSession, *, key: CounterKey, series: str, now: datetime) -> None:
    """
    This will make the counter's row if it is absent.

    `ON DUPLICATE KEY UPDATE`, not `IGNORE`, which would hide every other error too; in a transaction of its own,
    because `FOR UPDATE` on a missing row deadlocks, and on 1 January every series is missing (ruling N10).
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
        "version": 0,
        "updated_at": now,
    }
    if session.get_bind().dialect.name == "sqlite":
        await session.execute(sqlite.insert(COUNTERS).values(row).on_conflict_do_nothing())
    else:
        statement = mysql.insert(COUNTERS).values(row)
        await session.execute(statement.on_duplicate_key_update(series=COUNTERS.c.series))


async def counter(session: AsyncSession, *, project_id: int, series: str, lock: bool) -> Counter | None:
    statement = _LOCK if lock else _READ
    row = (await session.execute(statement, {"b_project": project_id, "b_series": series, "b_range": 0})).first()
    return None if row is None else Counter(row[0], row[1])


async def advance(
    session: AsyncSession, *, project_id: int, series: str, seen: Counter, to: int, now: datetime
) -> bool:
    """This will move the counter if its version is still the one that was seen, and say whether it did."""
    done: Any = await session.execute(
        _ADVANCE,
        {
            "b_project": project_id,
            "b_series": series,
            "b_range": 0,
            "b_version": seen.version,
            "b_last": to,
            "b_now": now,
        },
    )
    return bool(done.rowcount == 1)


async def taken_numbers(
    session: AsyncSession, *, project_id: int, bases: Sequence[str], numbers: Sequence[str]
) -> frozenset[str]:
    """This will say which of these base numbers and renderings exist; plain reads, no locks (ruling N2)."""
    held = sa.select(LEDGER.c.base_number).where(LEDGER.c.project_id == project_id, LEDGER.c.base_number.in_(bases))
    printed = sa.select(RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id, RENDERINGS.c.document_number.in_(numbers)
    )
    return frozenset(await session.scalars(held)) | frozenset(await session.scalars(printed))


async def insert_entry(session: AsyncSession, row: dict[str, Any]) -> int:
    result: Any = await session.execute(_INSERT_LEDGER, row)
    return int(result.inserted_primary_key[0])


async def insert_rendering(session: AsyncSession, row: dict[str, Any]) -> None:
    await session.execute(_INSERT_RENDERING, row)


async def printed_by(session: AsyncSession, *, project_id: int, number: str) -> int | None:
    """This will give the key of the ledger entry that was ever printed like this."""
    return await session.scalar(
        sa.select(NumberRendering.reservation_id).where(
            NumberRendering.project_id == project_id, NumberRendering.document_number == number
        )
    )


async def insert_audit(session: AsyncSession, row: dict[str, Any]) -> None:
    await session.execute(_INSERT_AUDIT, row)


async def insert_errors(session: AsyncSession, rows: Sequence[dict[str, Any]]) -> None:
    await session.execute(_INSERT_ERROR, list(rows))


async def by_token(session: AsyncSession, token: UUID) -> LedgerEntry | None:
    return await session.scalar(sa.select(LedgerEntry).where(LedgerEntry.token == token))


async def by_holder(session: AsyncSession, holder: UUID, *, lock: bool = False) -> LedgerEntry | None:
    statement = sa.select(LedgerEntry).where(LedgerEntry.holder_public_id == holder)
    return await session.scalar(statement.with_for_update() if lock else statement)


async def format_for(session: AsyncSession, *, project_id: int, type_id: int) -> NumberFormat | None:
    """This will give the specific format, or else the project's default."""
    statement = (
        sa.select(NumberFormat)
        .where(NumberFormat.project_id == project_id, NumberFormat.type_key.in_([type_id, 0]))
        .order_by(NumberFormat.type_key.desc())
        .limit(1)
    )
    return await session.scalar(statement)


@dataclass(frozen=True, slots=True)
class FormatRow:
    """A format with the codes it is shown by."""

    format: NumberFormat
    project_id: int
    project_public_id: UUID
    project_code: str
    type_code: str | None


def _formats() -> Any:
    return (
        sa.select(NumberFormat, Project.id, Project.public_id, Project.project_code, CorrespondenceType.type_code)
        .join(Project, Project.id == NumberFormat.project_id)
        .outerjoin(CorrespondenceType, CorrespondenceType.id == NumberFormat.correspondence_type_id)
    )


async def formats_page(
    session: AsyncSession, *, project_ids: Sequence[int] | None, cursor: str | None, limit: int
) -> Page[FormatRow]:
    """This will give the formats of these projects, or of all where `project_ids` is None."""
    statement = _formats()
    if project_ids is not None:
        statement = statement.where(NumberFormat.project_id.in_(project_ids))
    statement = newest_first(
        statement, at=NumberFormat.created_at, public_id=NumberFormat.public_id, cursor=cursor, limit=limit
    )
    rows = [FormatRow(*row) for row in (await session.execute(statement)).all()]
    return cut(rows, limit=limit, key=lambda row: (row.format.created_at, row.format.public_id))


async def format_by_public_id(session: AsyncSession, public_id: UUID) -> FormatRow | None:
    row = (await session.execute(_formats().where(NumberFormat.public_id == public_id))).first()
    return None if row is None else FormatRow(*row)


async def format_of(session: AsyncSession, *, project_id: int, type_id: int | None) -> FormatRow | None:
    """This will give the format saved for exactly this type (None: the default)."""
    statement = _formats().where(NumberFormat.project_id == project_id, NumberFormat.type_key == (type_id or 0))
    row = (await session.execute(statement)).first()
    return None if row is None else FormatRow(*row)


async def formats_of_project(session: AsyncSession, project_id: int) -> list[FormatRow]:
    rows = (await session.execute(_formats().where(NumberFormat.project_id == project_id))).all()
    return [FormatRow(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Trace:
    """One operation on a number, with the account that did it."""

    audit: NumberAudit
    username: str
    project_code: str


async def traces_of(session: AsyncSession, number: str) -> list[Trace]:
    """This will give every operation on whatever was ever printed as `number`, in order; several projects may have it."""
    printed = (
        sa.select(LedgerEntry.public_id)
        .join(NumberRendering, NumberRendering.reservation_id == LedgerEntry.id)
        .where(NumberRendering.document_number == number)
    )
    statement = (
        sa.select(NumberAudit, User.username, Project.project_code)
        .join(User, User.user_id == NumberAudit.user_id)
        .join(Project, Project.id == NumberAudit.project_id)
        .where(NumberAudit.reservation_uuid.in_(printed))
        .order_by(NumberAudit.id)
    )
    return [Trace(*row) for row in (await session.execute(statement)).all()]
