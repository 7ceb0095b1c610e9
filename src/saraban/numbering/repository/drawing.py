"""The statements that every number runs through: the counter, the taken numbers, and the rows of a whole batch at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import SessionOrConnection
from saraban.kit.pipeline import DriverConnection, SqlStatement, insert_statement
from saraban.numbering.domain.counter import CounterKey
from saraban.numbering.domain.narrowing import FormatKey, Narrowing
from saraban.numbering.domain.stretch import SequenceRange
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
# Whoever sets `last_number` by hand may forget the version.
_ADVANCE = (
    f"UPDATE {COUNTERS.name} SET last_number = {{}}, version = version + 1, updated_at = {{}} "  # noqa: S608  no values yet
    "WHERE project_id = {} AND series = {} AND `range` = {} AND version = {} AND last_number = {}"
)
# The ledger's rows that the statement before has written, each with its key.
_PRINT = (
    f"INSERT INTO {RENDERINGS.name} (project_id, reservation_id, document_number, revision_label, kind, created_at) "  # noqa: S608
    f"SELECT project_id, id, document_number, revision_label, 'ISSUE', created_at FROM {LEDGER.name}{{}} "
    "WHERE {} AND project_id = {} AND series = {} AND `range` = {} AND sequence_number BETWEEN {} AND {}"
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
    "format_uuid",
    "format_source",
    "issue_year",
    "user_id",
    "ip_address",
    "reason",
    "reserved_at",
    "expires_at",
    "confirmed_at",
    "created_at",
)
AUDIT_COLUMNS = (
    "uuid",
    "operation",
    "project_id",
    "reservation_uuid",
    "generated_number",
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


class SeriesKey(NamedTuple):
    """Which counter: `range` is 0 for the main one."""

    project_id: int
    series: str
    range: int


@dataclass(frozen=True, slots=True)
class CounterState:
    """
    Where a series stands; `version` guards the compare-and-set, and with it everything else that is remembered here.

    :param closed: the stretches that the main counter steps over; for a kept range, none
    :param end: the last sequence of a kept range
    :param formats: what each format of the project is for, to its row's key and version
    :param contested: another server draws from the series too, so that what is remembered will have moved
    """

    last_number: int
    version: int
    closed: tuple[SequenceRange, ...] = ()
    end: int | None = None
    formats: Mapping[FormatKey, tuple[int, int]] = field(default_factory=dict)
    contested: bool = False


async def ensure_counter(session: AsyncSession, *, key: CounterKey, series: str, now: datetime) -> None:
    """
    Make the main counter's row if it is absent; a kept range gets its own row when the range is made.

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


async def counter_state(connected: SessionOrConnection, place: SeriesKey, *, lock: bool) -> CounterState | None:
    """
    Read a counter with everything its next numbers depend on.

    :param lock: `FOR UPDATE` on the counter's row
    """
    key = {"b_project": place.project_id, "b_series": place.series, "b_range": place.range}
    row = (await connected.execute(_LOCK if lock else _READ, key)).first()
    if row is None:
        return None
    last_number, version, range_count = row
    closed: tuple[SequenceRange, ...] = ()
    end = None
    if range_count or place.range:
        ranges = await _ranges(connected, place)
        if place.range == 0:
            closed = tuple(SequenceRange(first, last) for _, first, last in ranges)
        else:
            end = next((last for number, _, last in ranges if number == place.range), 0)
    return CounterState(last_number, version, closed, end, await _formats(connected, place.project_id))


async def _ranges(connected: SessionOrConnection, place: SeriesKey) -> Sequence[tuple[int, int, int]]:
    """:returns: (number, first, last) of the ranges that are not released"""
    statement = (
        sa.select(NumberRange.number, NumberRange.first_number, NumberRange.last_number)
        .where(
            NumberRange.project_id == place.project_id,
            NumberRange.series == place.series,
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


async def write_batch(
    driver: DriverConnection,
    place: SeriesKey,
    *,
    seen: CounterState,
    to: int,
    now: datetime,
    entries: Sequence[Sequence[Any]],
    audits: Sequence[Sequence[Any]],
) -> bool:
    """
    Move the counter if its version is still the one that was seen, and write the rows if it was.

    :param entries: rows of the ledger, in the order of `LEDGER_COLUMNS`; their printed forms follow from them
    :param audits: rows of the audit, in the order of `AUDIT_COLUMNS`
    :returns: whether the counter was moved; if not, nothing was written
    """
    moment = str(now.astimezone(UTC).replace(tzinfo=None))
    advance = (to, moment, *place, seen.version, seen.last_number)
    if driver.on_sqlite:
        if await driver.run([_filled(driver, _ADVANCE, advance)]) != [1]:
            return False
        # Not `last_insert_rowid()`, which moves while the statement runs.
        written = f"id > (SELECT max(id) FROM {LEDGER.name}) - {len(entries)}"  # noqa: S608
        await driver.run(
            [
                insert_statement(driver, LEDGER, LEDGER_COLUMNS, entries),
                _print(driver, "", written, place, seen.last_number + 1, to),
                insert_statement(driver, AUDIT, AUDIT_COLUMNS, audits),
            ]
        )
        return True
    # All in one round trip: what follows the first statement does nothing unless that has moved the counter.
    moved = "@moved = 1"
    changed = await driver.run(
        [
            _filled(driver, _ADVANCE, advance),
            SqlStatement("SET @moved = ROW_COUNT()"),
            insert_statement(driver, LEDGER, LEDGER_COLUMNS, entries, only_if=moved),
            # Left to itself the server reads all of the series.
            _print(
                driver,
                " FORCE INDEX (PRIMARY)",
                f"{moved} AND id >= LAST_INSERT_ID()",
                place,
                seen.last_number + 1,
                to,
            ),
            insert_statement(driver, AUDIT, AUDIT_COLUMNS, audits, only_if=moved),
        ]
    )
    return changed[0] == 1


def _print(driver: DriverConnection, how: str, which: str, place: SeriesKey, first: int, last: int) -> SqlStatement:
    return _filled(driver, _PRINT.replace("{}", how, 1).replace("{}", which, 1), (*place, first, last))


def _filled(driver: DriverConnection, text: str, values: Sequence[Any]) -> SqlStatement:
    """Put the values into the places that are left open for them."""
    if driver.on_sqlite:
        return SqlStatement(text.replace("{}", "?"), values)
    return SqlStatement(text.format(*map(driver.literal, values)))


async def taken_numbers(
    connected: SessionOrConnection, *, project_id: int, bases: Sequence[str], numbers: Sequence[str]
) -> frozenset[str]:
    """Return which of these base numbers and renderings exist; plain reads, no locks (ruling N2)."""
    held = sa.select(LEDGER.c.base_number).where(LEDGER.c.project_id == project_id, LEDGER.c.base_number.in_(bases))
    printed = sa.select(RENDERINGS.c.document_number).where(
        RENDERINGS.c.project_id == project_id, RENDERINGS.c.document_number.in_(numbers)
    )
    return frozenset(await connected.scalars(held)) | frozenset(await connected.scalars(printed))


async def by_tokens(session: AsyncSession, tokens: Sequence[UUID]) -> dict[UUID, LedgerEntry]:
    entries = await session.scalars(sa.select(LedgerEntry).where(LedgerEntry.token.in_(tokens)))
    return {entry.token: entry for entry in entries}


async def mark_cancelled(session: AsyncSession, *, public_id: UUID, reason: str, now: datetime) -> bool:
    """Cancel a number that nobody holds, and say whether it was there to be cancelled."""
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


async def database_now(connected: SessionOrConnection) -> datetime:
    """Return the database's clock: what expiries are set and judged by, whichever server asks (ruling N12)."""
    if _dialect(connected).name == "sqlite":
        text = (await connected.execute(sa.text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))).scalar_one()
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
    moment: datetime = (await connected.execute(sa.text("SELECT UTC_TIMESTAMP(6)"))).scalar_one()
    return moment.replace(tzinfo=UTC)


def _dialect(connected: SessionOrConnection) -> sa.Dialect:
    return connected.get_bind().dialect if isinstance(connected, AsyncSession) else connected.dialect


async def largest_packet(session: AsyncSession) -> int:
    """Return the bytes that one statement may have: `max_allowed_packet`; SQLite's own limit is far away."""
    if session.get_bind().dialect.name == "sqlite":
        return 1 << 30
    return int((await session.execute(sa.text("SELECT @@max_allowed_packet"))).scalar_one())
