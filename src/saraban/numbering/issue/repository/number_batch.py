"""The statements that write a whole batch of numbers in one round trip."""

from collections.abc import Sequence
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.pipeline import DriverConnection, SqlStatement, insert_statement
from saraban.numbering.series.domain.counter_key import CounterState, SeriesKey
from saraban.numbering.series.models import AUDIT, AUDIT_COLUMNS, COUNTERS, LEDGER, LEDGER_COLUMNS, RENDERINGS

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


async def write_batch(
    driver: DriverConnection,
    place: SeriesKey,
    *,
    seen: CounterState,
    to: int,
    now: datetime,
    entries: Sequence[Sequence[object]],
    audits: Sequence[Sequence[object]],
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


def _filled(driver: DriverConnection, text: str, values: Sequence[object]) -> SqlStatement:
    """Put the values into the places that are left open for them."""
    if driver.on_sqlite:
        return SqlStatement(text.replace("{}", "?"), values)
    return SqlStatement(text.format(*map(driver.literal, values)))


async def largest_packet(session: AsyncSession) -> int:
    """Return the bytes that one statement may have: `max_allowed_packet`; SQLite's own limit is far away."""
    if session.get_bind().dialect.name == "sqlite":
        return 1 << 30
    return int((await session.execute(sa.text("SELECT @@max_allowed_packet"))).scalar_one())
