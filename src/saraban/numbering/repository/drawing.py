"""The statements that every number runs through: the counter, the taken numbers, and the rows of a whole batch at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.bulk import Driver, insert_many
from saraban.numbering.domain.counter import CounterKey
from saraban.numbering.domain.stretch import Stretch
from saraban.numbering.models import (
    LedgerEntry,
    NumberAudit,
    NumberCounter,
    NumberFormat,
    NumberRange,
    NumberRendering,
)

COUNTERS = cast(sa.Table, NumberCounter.__table__)
LEDGER = cast(sa.Table, LedgerEntry.__table__)
RENDERINGS = cast(sa.Table, NumberRendering.__table__)
AUDIT = cast(sa.Table, NumberAudit.__table__)

_ONE_COUNTER = sa.and_(
    COUNTERS.c.project_id == sa.bindparam("b_project"),
    COUNTERS.c.series == sa.bindparam("b_series"),
    COUNTERS.c.range == sa.bindparam("b_range"),
)
_READ = sa.select(COUNTERS.c.last_number, COUNTERS.c.version, COUNTERS.c.range_count).where(_ONE_COUNTER)
_LOCK = _READ.with_for_update()
# By the driver itself, as the rows of a batch are written. Whoever sets `last_number` by hand may forget the version.
_ADVANCE = (
    f"UPDATE {COUNTERS.name} SET last_number = %s, version = version + 1, updated_at = %s "  # noqa: S608  no values in it
    "WHERE project_id = %s AND series = %s AND `range` = %s AND version = %s AND last_number = %s"
)

# What the driver says when a number (not a token or anything else) is already there.
NUMBER_CONSTRAINTS = (
    "idx_docnum_ledger_base",
    "idx_docnum_rendering_number",
    "document_number_reservations.base_number",
    "document_number_renderings.document_number",
)
TOKEN_CONSTRAINTS = ("idx_docnum_ledger_token", "document_number_reservations.token")

LEDGER_COLUMNS = (
    "uuid",
    "token",
    "project_id",
    "correspondence_type_id",
    "originator_organization_id",
    "recipient_organization_id",
    "series",
    "range",
    "sequence_number",
    "base_number",
    "document_number",
    "revision_label",
    "document_number_status",
    "source",
    "holder_kind",
    "holder_public_id",
    "format_template",
    "format_values",
    "issue_year",
    "user_id",
    "ip_address",
    "reason",
    "reserved_at",
    "expires_at",
    "confirmed_at",
    "created_at",
)
RENDERING_COLUMNS = ("project_id", "reservation_id", "document_number", "revision_label", "kind", "created_at")
AUDIT_COLUMNS = (
    "uuid",
    "operation",
    "project_id",
    "reservation_uuid",
    "document_number",
    "document_type",
    "holder_public_id",
    "series",
    "counter_key",
    "template_used",
    "sequence_number",
    "skipped_to",
    "reason",
    "user_id",
    "ip_address",
    "idempotency_key",
    "retry_count",
    "lock_wait_ms",
    "lock_path",
    "created_at",
)


@dataclass(frozen=True, slots=True)
class Standing:
    """
    Where a series stands; `version` guards the compare-and-set, and with it everything else that is remembered here.

    :param closed: the stretches that the main counter steps over; for a kept range, none
    :param end: the last sequence of a kept range
    :param formats: type id (0: the project's default) to the format's key and version
    """

    last_number: int
    version: int
    closed: tuple[Stretch, ...] = ()
    end: int | None = None
    formats: Mapping[int, tuple[int, int]] = field(default_factory=dict)


async def ensure_counter(session: AsyncSession, *, key: CounterKey, series: str, now: datetime) -> None:
    """
    This will make the main counter's row if it is absent; a kept range gets its own row when the range is made.

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
        "range_count": 0,
        "version": 0,
        "updated_at": now,
    }
    if session.get_bind().dialect.name == "sqlite":
        await session.execute(sqlite.insert(COUNTERS).values(row).on_conflict_do_nothing())
    else:
        statement = mysql.insert(COUNTERS).values(row)
        await session.execute(statement.on_duplicate_key_update(series=COUNTERS.c.series))


async def standing(session: AsyncSession, *, project_id: int, series: str, range_: int, lock: bool) -> Standing | None:
    """
    This will read a counter with everything its next numbers depend on.

    :param lock: `FOR UPDATE` on the counter's row
    """
    key = {"b_project": project_id, "b_series": series, "b_range": range_}
    row = (await session.execute(_LOCK if lock else _READ, key)).first()
    if row is None:
        return None
    last_number, version, range_count = row
    closed: tuple[Stretch, ...] = ()
    end = None
    if range_count or range_:
        ranges = await _ranges(session, project_id=project_id, series=series)
        if range_ == 0:
            closed = tuple(Stretch(one.first_number, one.last_number) for one in ranges)
        else:
            end = next((one.last_number for one in ranges if one.number == range_), 0)
    return Standing(last_number, version, closed, end, await _formats(session, project_id))


async def _ranges(session: AsyncSession, *, project_id: int, series: str) -> Sequence[NumberRange]:
    statement = (
        sa.select(NumberRange)
        .where(NumberRange.project_id == project_id, NumberRange.series == series, NumberRange.released_at.is_(None))
        .order_by(NumberRange.first_number)
    )
    return (await session.scalars(statement)).all()


async def range_by_public_id(session: AsyncSession, public_id: UUID) -> NumberRange | None:
    return await session.scalar(sa.select(NumberRange).where(NumberRange.public_id == public_id))


async def _formats(session: AsyncSession, project_id: int) -> dict[int, tuple[int, int]]:
    rows = await session.execute(
        sa.select(NumberFormat.type_key, NumberFormat.id, NumberFormat.version).where(
            NumberFormat.project_id == project_id
        )
    )
    return {type_key: (key, version) for type_key, key, version in rows}


async def advance(
    driver: Driver, *, project_id: int, series: str, range_: int, seen: Standing, to: int, now: datetime
) -> bool:
    """This will move the counter if its version is still the one that was seen, and say whether it did."""
    moment = now.astimezone(UTC).replace(tzinfo=None)
    values = (to, str(moment), project_id, series, range_, seen.version, seen.last_number)
    changed, _ = await driver.execute(_ADVANCE.replace("%s", "?") if driver.on_sqlite else _ADVANCE, values)
    return changed == 1


async def taken_numbers(
    session: AsyncSession, *, project_id: int, bases: Sequence[str], numbers: Sequence[str]
) -> frozenset[str]:
    """This will say which of these base numbers and renderings exist; plain reads, no locks (ruling N2)."""
    held = sa.select(LEDGER.c.base_number).where(LEDGER.c.project_id == project_id, LEDGER.c.base_number.in_(bases))
    printed = sa.select(RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id, RENDERINGS.c.document_number.in_(numbers)
    )
    return frozenset(await session.scalars(held)) | frozenset(await session.scalars(printed))


async def insert_entries(driver: Driver, rows: Iterable[Sequence[Any]]) -> dict[int, int]:
    """This will write rows of one series into the ledger, and give the key of each by its sequence number."""
    given = await insert_many(driver, LEDGER, LEDGER_COLUMNS, rows, returning=("id", "sequence_number"))
    return {sequence: key for key, sequence in given}


async def insert_renderings(driver: Driver, rows: Iterable[Sequence[Any]]) -> None:
    await insert_many(driver, RENDERINGS, RENDERING_COLUMNS, rows)


async def insert_audits(driver: Driver, rows: Iterable[Sequence[Any]]) -> None:
    await insert_many(driver, AUDIT, AUDIT_COLUMNS, rows)


async def by_tokens(session: AsyncSession, tokens: Sequence[UUID]) -> dict[UUID, LedgerEntry]:
    entries = await session.scalars(sa.select(LedgerEntry).where(LedgerEntry.token.in_(tokens)))
    return {entry.token: entry for entry in entries}


async def mark_cancelled(session: AsyncSession, *, public_id: UUID, reason: str, now: datetime) -> bool:
    """This will cancel a number that nobody holds, and say whether it was there to be cancelled."""
    done: Any = await session.execute(
        sa.update(LedgerEntry)
        .where(
            LedgerEntry.public_id == public_id,
            LedgerEntry.document_number_status.in_(["CONFIRMED", "RESERVED"]),
            LedgerEntry.holder_public_id.is_(None),
        )
        .values(document_number_status="CANCELLED", cancelled_at=now, reason=reason)
    )
    return bool(done.rowcount == 1)


async def database_now(session: AsyncSession) -> datetime:
    """This will give the database's clock: what expiries are set and judged by, whichever server asks (ruling N12)."""
    if session.get_bind().dialect.name == "sqlite":
        text = await session.scalar(sa.text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
    moment: datetime = (await session.execute(sa.text("SELECT UTC_TIMESTAMP(6)"))).scalar_one()
    return moment.replace(tzinfo=UTC)


async def largest_packet(session: AsyncSession) -> int:
    """This will give the bytes that one statement may have: `max_allowed_packet`; SQLite's own limit is far away."""
    if session.get_bind().dialect.name == "sqlite":
        return 1 << 30
    return int((await session.execute(sa.text("SELECT @@max_allowed_packet"))).scalar_one())
