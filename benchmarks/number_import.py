"""An old register brought into the ledger, beside bare inserts of the very rows that this wrote."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from benchmarks.bench import Bench, Suite
from benchmarks.number_baselines import connect
from benchmarks.numbering import ratio
from benchmarks.results import Row
from saraban.kit.sheet_columns import SheetRow
from saraban.numbering.imports.service.legacy_import import SourceFile, import_at_terminal
from tests.factories.contexts import context
from tests.numbering_world import BANGKOK

LINES = 50_000
BATCH = 1000
NOW = datetime(2026, 11, 20, 5, 0, tzinfo=UTC)
_FIRST_YEAR = 2550
NUMBER_TABLES = ("document_number_reservations", "document_number_audit", "document_number_renderings")


def lines(count: int, *, year: int) -> Iterator[SheetRow]:
    """Letters of one sender to one recipient, as a sheet has them."""
    for sequence in range(1, count + 1):
        said = {
            "number": f"คคง.-ผรม.1-{sequence:04}-{year}",
            "type": "LETTER",
            "originator": "คคง.",
            "recipient": "ผรม.1",
            "year": str(year),
        }
        yield SheetRow(sequence + 1, said)


async def imports(b: Bench, *, count: int = LINES) -> list[Row]:
    """
    50,000 lines, each round those of another year.

    The bare side is given the rows ready made, in the same three tables (copies with all their indexes, without foreign
    keys), in the same batches, a transaction each: no reading, no judging, no looking whether a number is taken.
    """
    ours, bare = [], []
    connection = await connect(b.world.db.url)
    try:
        for number in range(b.rounds):
            b.say(f"import of {count:,} lines")
            before = await last_rows(connection, NUMBER_TABLES)
            ours.append(await _imported(b, count, year=_FIRST_YEAR + number))
            b.say("the same rows, inserted")
            bare.append(await insert_bare(connection, before, batch=BATCH))
    finally:
        connection.close()
    slower = median(one / other for one, other in zip(ours, bare, strict=True))
    return [
        Row("numbering", f"import of {count:,} lines", count / median(ours), "lines/s"),
        ratio("import, time against bare inserts of the same rows", slower, "<= 1.5"),
    ]


async def _imported(b: Bench, count: int, *, year: int) -> float:
    listed = list(lines(count, year=year))
    started = time.perf_counter()
    _, turn = await import_at_terminal(
        context(caller=b.world.caller, now=NOW, zone=BANGKOK),
        b.world.db,
        project_public_id=b.world.project,
        rows=listed,
        file=SourceFile(f"{year}.csv", f"{year:064}"),
    )
    seconds = time.perf_counter() - started
    assert turn.report()["ready"] == count, turn.report()
    return seconds


async def last_rows(connection: Any, tables: Sequence[str]) -> dict[str, int]:
    """Return the last key of each table."""
    found = {}
    for table in tables:
        async with connection.cursor() as cursor:
            await cursor.execute(f"SELECT COALESCE(MAX(id), 0) FROM {table}")
            (last,) = await cursor.fetchone()
        found[table] = int(last)
    await connection.commit()
    return found


async def insert_bare(connection: Any, before: Mapping[str, int], *, batch: int) -> float:
    """
    Return how many seconds it takes to insert into copies of tables what they have after some keys.

    :param batch: rows of the first table in a transaction; the others have their share
    """
    work = []
    async with connection.cursor() as cursor:
        for table, last in before.items():
            await cursor.execute(f"CREATE OR REPLACE TABLE bare_{table} LIKE {table}")
            work.append(await _rows(cursor, table, last))
        await connection.commit()
        turns = -(-len(work[0][1]) // batch)
        started = time.perf_counter()
        for turn in range(turns):
            for statement, rows in work:
                share = -(-len(rows) // turns)
                await cursor.executemany(statement, rows[turn * share : (turn + 1) * share])
            await connection.commit()
        return time.perf_counter() - started


async def _rows(cursor: Any, table: str, last: int) -> tuple[str, Sequence[Any]]:
    """Return the statement that inserts into the copy of `table`, and the rows after `last` for it."""
    await cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
        "AND extra NOT LIKE '%%GENERATED%%' ORDER BY ordinal_position",
        (table,),
    )
    names = ", ".join(f"`{name}`" for (name,) in await cursor.fetchall())
    await cursor.execute(f"SELECT {names} FROM {table} WHERE id > {last} ORDER BY id")
    rows = await cursor.fetchall()
    marks = ", ".join(["%s"] * (names.count(",") + 1))
    return f"INSERT INTO bare_{table} ({names}) VALUES ({marks})", rows


SUITES: dict[str, Suite] = {"import": imports}
