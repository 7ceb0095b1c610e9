"""
What creating a document is compared with: one transaction that leaves the same rows, with the bare driver.

The rows are those of a document that the product has just created, with other keys: nobody has to say which they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from benchmarks.load import Operation
from benchmarks.number_baselines import Pool
from saraban.kit.ids import new_id

_LEDGER, _HEAD, _REVISION = "document_number_reservations", "correspondences", "correspondence_revisions"
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
    ("document_reach", "document_id"): _HEAD,
    ("document_reach", "revision_id"): _REVISION,
}
_OWN = {"uuid", "id", "token", "reservation_token", "instance_id"}  # columns whose public ids are the document's alone
_UUID = 36

Rows = dict[str, set[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Insert:
    table: str
    statement: str


@dataclass(frozen=True, slots=True)
class CreationPattern:
    """The statements of one creation; `«…»` stands where each document has something of its own."""

    counter: str
    inserts: Sequence[Insert]
    public_ids: int

    def creating(self, pool: Pool) -> Operation:
        """Return one transaction: the counter, which others wait for as they would, and a statement for each row."""
        numbers = count(1_000_000)

        async def operation() -> object:
            number, keys = next(numbers), {f"«u{place}»": str(new_id()) for place in range(self.public_ids)}
            keys["«n»"] = str(number)
            async with pool.transaction() as cursor:
                await cursor.execute(self.counter)
                for insert in self.inserts:
                    await cursor.execute(_filled(insert.statement, keys))
                    if cursor.lastrowid:
                        keys[f"«{insert.table}»"] = str(cursor.lastrowid)
            return number

        return operation


def _filled(statement: str, keys: Mapping[str, str]) -> str:
    for mark, value in keys.items():
        statement = statement.replace(mark, value)
    return statement


async def rows_of(cursor: Any) -> Rows:
    """Return what stands in the tables of a document."""
    found = {}
    for table in TABLES:
        await cursor.execute(f"SELECT * FROM {table}")
        found[table] = set(await cursor.fetchall())
    return found


async def pattern_of(cursor: Any, before: Rows) -> CreationPattern:
    """Return the pattern of the one document that was created since `before`."""
    after = await rows_of(cursor)
    columns = {table: await _columns(cursor, table) for table in TABLES}
    new = {
        table: [dict(zip(columns[table], row, strict=True)) for row in after[table] - before[table]] for table in TABLES
    }
    ledger = new[_LEDGER][0]
    own = _public_ids(new)
    marks = {one: f"«u{place}»" for place, one in enumerate(own)} | {
        str(ledger["base_number"]): f"{ledger['base_number']}-«n»"
    }
    escape = cursor.connection.escape
    inserts = []
    for table in TABLES:
        left_out = await _made_by_the_server(cursor, table)
        inserts += [Insert(table, _insert(table, row, left_out, marks, escape)) for row in new[table]]
    counter = (
        "UPDATE document_number_counters SET last_number = last_number + 1, version = version + 1 "
        f"WHERE project_id = {ledger['project_id']} AND series = {escape(ledger['series'])}"
    )
    return CreationPattern(counter, inserts, len(own))


def _public_ids(new: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    found = {
        str(row[name])
        for rows in new.values()
        for row in rows
        for name in _OWN & row.keys()
        if len(str(row[name])) == _UUID
    }
    return sorted(found)


def _insert(table: str, row: Mapping[str, Any], left_out: set[str], marks: Mapping[str, str], escape: Any) -> str:
    def said(name: str, value: Any) -> str:
        if (table, name) in _GIVEN:
            return f"«{_GIVEN[table, name]}»"
        if name == "sequence_number":
            return "«n»"
        return _filled(str(escape(value)), marks)

    values = {name: said(name, value) for name, value in row.items() if name not in left_out}
    names = ", ".join(f"`{name}`" for name in values)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(values.values())})"


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
