"""
What creating a document is compared with: one transaction that leaves the same rows, with the bare driver.

The rows are those of a document that the product has just created, with other keys: nobody has to say which they are.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from benchmarks.number_baselines import Pool
from saraban.kit.ids import new_id
from saraban.kit.text import key_text

_LEDGER, _HEAD, _REVISION = "document_number_reservations", "correspondences", "correspondence_revisions"
_ITEMS = ("rfa_items", "rfa_item_claims")  # written in one statement each, however many there are
# In the order in which they refer to one another.
TABLES = (
    _LEDGER,
    "document_number_renderings",
    "document_number_audit",
    _HEAD,
    "correspondence_recipients",
    _REVISION,
    "rfas",
    "rfa_revisions",
    *_ITEMS,
    "workflow_instances",
    "workflow_work_items",
    "audit_logs",
    "outbox_events",
    "document_reach",
)
# Whose columns hold a key that another of these tables has given.
_GIVEN = {
    ("document_number_renderings", "reservation_id"): _LEDGER,
    ("correspondence_recipients", "correspondence_id"): _HEAD,
    (_REVISION, "correspondence_id"): _HEAD,
    ("rfas", "id"): _HEAD,
    ("rfa_revisions", "id"): _REVISION,
    **{(table, "rfa_revision_id"): _REVISION for table in _ITEMS},
    ("document_reach", "document_id"): _HEAD,
    ("document_reach", "revision_id"): _REVISION,
}
_OWN = {"uuid", "id", "token", "reservation_token", "instance_id"}  # columns whose public ids are the document's alone
_UUID = 36

Rows = dict[str, set[tuple[Any, ...]]]
Keys = dict[str, str]


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    statement: str


@dataclass(frozen=True, slots=True)
class CreationPattern:
    """
    The statements of one creation; `«…»` stands where each document has something of its own.

    :param marks: what stands for each public id of the document that is copied
    """

    counter: str
    inserts: Sequence[Insert]
    marks: Mapping[str, str]

    def creating(self, pool: Pool, numbers: Iterator[int] | None = None) -> Callable[[], Awaitable[Keys]]:
        """
        Return one transaction: the counter, which others wait for as they would, and a statement for each row, the items of an
        RFA apart. It gives what the marks stood for.

        :param numbers: of those who share a database
        """
        numbers = numbers or count(1_000_000)

        async def operation() -> Keys:
            keys = new_keys(self.marks)
            keys["«n»"] = str(next(numbers))
            async with pool.transaction() as cursor:
                await cursor.execute(self.counter)
                for insert in self.inserts:
                    await cursor.execute(filled(insert.statement, keys))
                    if cursor.lastrowid:
                        keys[f"«{insert.table}»"] = str(cursor.lastrowid)
            return keys

        return operation


def new_keys(marks: Mapping[str, str]) -> Keys:
    """Return a new public id for each mark."""
    return {mark: str(new_id()) for mark in marks.values()}


def filled(statement: str, keys: Mapping[str, str]) -> str:
    for mark, value in keys.items():
        statement = statement.replace(mark, value)
    return statement


async def rows_of(cursor: Any, tables: Sequence[str] = TABLES) -> Rows:
    """Return what stands in the tables of a document."""
    found = {}
    for table in tables:
        await cursor.execute(f"SELECT * FROM {table}")
        found[table] = set(await cursor.fetchall())
    return found


async def pattern_of(cursor: Any, before: Rows) -> CreationPattern:
    """Return the pattern of the one document that was created since `before`."""
    new = await new_rows(cursor, before)
    ledger = new[_LEDGER][0]
    marks = marks_of(new)
    number = str(ledger["base_number"])
    said = marks | {number: f"{number}-«n»", key_text(number): f"{key_text(number)}-«n»"}
    counter = (
        "UPDATE document_number_counters SET last_number = last_number + 1, version = version + 1 "
        f"WHERE project_id = {ledger['project_id']} AND series = {cursor.connection.escape(ledger['series'])}"
    )
    return CreationPattern(counter, await inserts_of(cursor, new, said), marks)


async def new_rows(cursor: Any, before: Rows) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that have come since, by the names of their columns."""
    after, found = await rows_of(cursor, list(before)), {}
    for table, rows in after.items():
        columns = await _columns(cursor, table)
        found[table] = [dict(zip(columns, row, strict=True)) for row in sorted(rows - before[table], key=str)]
    return found


def marks_of(new: Mapping[str, Sequence[Mapping[str, Any]]], *, named: str = "u") -> dict[str, str]:
    """Return what stands for each public id that these rows alone have."""
    return {one: f"«{named}{place}»" for place, one in enumerate(_public_ids(new))}


async def inserts_of(
    cursor: Any, new: Mapping[str, Sequence[Mapping[str, Any]]], marks: Mapping[str, str]
) -> list[Insert]:
    """Return the statements that write rows, with marks: one for each row, and one for all items of an RFA."""
    escape, inserts = cursor.connection.escape, []
    for table, rows in new.items():
        left_out = await _made_by_the_server(cursor, table)
        values = [_values(table, row, left_out, marks, escape) for row in rows]
        for at_once in [values] if table in _ITEMS and values else [[one] for one in values]:
            names = ", ".join(f"`{name}`" for name in at_once[0])
            listed = ", ".join(f"({', '.join(one.values())})" for one in at_once)
            inserts.append(Insert(table, f"INSERT INTO {table} ({names}) VALUES {listed}"))
    return inserts


def _public_ids(new: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    found = {
        str(row[name])
        for rows in new.values()
        for row in rows
        for name in _OWN & row.keys()
        if len(str(row[name])) == _UUID
    }
    return sorted(found)


def _values(
    table: str, row: Mapping[str, Any], left_out: set[str], marks: Mapping[str, str], escape: Any
) -> dict[str, str]:
    def said(name: str, value: Any) -> str:
        if (table, name) in _GIVEN:
            return f"«{_GIVEN[table, name]}»"
        if name == "sequence_number":
            return "«n»"
        return filled(str(escape(value)), marks)

    return {name: said(name, value) for name, value in row.items() if name not in left_out}


async def _columns(cursor: Any, table: str) -> list[str]:
    return await _named(cursor, table, "")


async def _made_by_the_server(cursor: Any, table: str) -> set[str]:
    return set(await _named(cursor, table, "AND (extra LIKE '%%GENERATED%%' OR extra LIKE '%%auto_increment%%')"))


async def _named(cursor: Any, table: str, which: str) -> list[str]:
    await cursor.execute(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
        f"{which} ORDER BY ordinal_position",
        (table,),
    )
    return [name for (name,) in await cursor.fetchall()]
