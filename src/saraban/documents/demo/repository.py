"""Reads all rows of one document as the database has them, and writes the rows of others like it as text."""

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditLog
from saraban.documents.circulation.models import Circulation, CirculationRouting
from saraban.documents.core.models import Document, DocumentRecipient, DocumentReference, DocumentRevision
from saraban.documents.rfa.models import Rfa, RfaRevision
from saraban.documents.transmittal.models import Transmittal, TransmittalItem
from saraban.kit.db import table_of
from saraban.kit.driver import DriverConnection, SqlStatement
from saraban.numbering.series.models import AUDIT, LEDGER, RENDERINGS
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem

HEADS, SHEETS, REVISIONS = table_of(Document), table_of(Circulation), table_of(DocumentRevision)
RFAS, RFA_REVISIONS, ITEMS = table_of(Rfa), table_of(RfaRevision), table_of(TransmittalItem)
_INSTANCES, _TRAIL = table_of(WorkflowInstance), table_of(AuditLog)
_OF_HEAD = {
    table_of(DocumentRecipient): "correspondence_id",
    table_of(DocumentReference): "src_correspondence_id",
    RFAS: "id",
    table_of(Transmittal): "correspondence_id",
    ITEMS: "transmittal_id",
}
_OF_INSTANCE = (table_of(WorkflowHistory), table_of(WorkflowWorkItem))
_BYTES = 1 << 20  # of one statement

RawRow = dict[str, Any]


def columns_of(table: sa.Table) -> list[sa.Column[Any]]:
    """Return the columns that an insert names: all but keys the database gives and what it computes."""
    given = table.autoincrement_column
    return [one for one in table.columns if one.computed is None and one is not given]


async def rows_of(session: AsyncSession, public_id: UUID) -> dict[sa.Table, list[RawRow]]:
    """Return every row of one document, as the driver gives it, its tables in the order in which they can be written."""
    found: dict[sa.Table, list[RawRow]] = {}

    async def read(table: sa.Table, column: str, values: Collection[Any], *, of: str = "") -> list[RawRow]:
        given = table.autoincrement_column
        order = [one.name for one in ([given] if given is not None else table.primary_key.columns)]
        raw = [sa.type_coerce(one, sa.types.NULLTYPE).label(one.name) for one in table.columns if one.computed is None]
        named = [table.c.entity_type.in_((of, f"{of}_revision"))] if of else []
        rows = await session.execute(sa.select(*raw).where(*named, table.c[column].in_(values)))
        # Sorted here: asked for in the order of its key, MariaDB reads a large table from one end to the other.
        found[table] = sorted((dict(row) for row in rows.mappings()), key=itemgetter(*order))
        return found[table]

    heads = await read(HEADS, "uuid", [public_id])
    sheets = [] if heads else await read(SHEETS, "uuid", [public_id])
    ledger = await read(LEDGER, "holder_public_id", [public_id])
    await read(RENDERINGS, "reservation_id", [row["id"] for row in ledger])
    await read(AUDIT, "reservation_uuid", [UUID(str(row["uuid"])) for row in ledger])
    moved, kind = [str(public_id)], ledger[0]["holder_kind"]
    if heads:
        document = [heads[0]["id"]]
        revisions = await read(REVISIONS, "correspondence_id", document)
        moved = [str(UUID(str(row["uuid"]))) for row in revisions]
        for table, column in _OF_HEAD.items():
            await read(table, column, document)
        await read(RFA_REVISIONS, "id", [row["id"] for row in revisions])
    else:
        await read(table_of(CirculationRouting), "circulation_id", [row["id"] for row in sheets])
    instances = await read(_INSTANCES, "entity_id", moved, of=kind)
    for table in _OF_INSTANCE:
        await read(table, "instance_id", [row["id"] for row in instances])
    await read(_TRAIL, "entity_id", [str(public_id)], of=kind)
    return {table: rows for table, rows in found.items() if rows}


async def insert(driver: DriverConnection, texts: Mapping[sa.Table, Sequence[str]]) -> None:
    """Insert rows that are written out already, each as `(…)` or several of them with commas between."""
    quote = driver.dialect.identifier_preparer.quote
    for table, rows in texts.items():
        names = ",".join(quote(one.name) for one in columns_of(table))
        begin = f"INSERT INTO {quote(table.name)} ({names}) VALUES "  # noqa: S608  names of the mapped table
        part: list[str] = []
        size = 0
        for row in rows:
            part.append(row)
            size += len(row)
            if size > _BYTES:
                await driver.run([SqlStatement(begin + ",".join(part))])
                part, size = [], 0
        if part:
            await driver.run([SqlStatement(begin + ",".join(part))])


async def keys_of(session: AsyncSession, table: sa.Table, public_ids: Sequence[UUID]) -> list[int]:
    """Return the key of each, in their order."""
    rows = await session.execute(sa.select(table.c.uuid, table.c.id).where(table.c.uuid.in_(public_ids)))
    found: dict[UUID, int] = {row[0]: row[1] for row in rows}
    return [found[one] for one in public_ids]


async def documents_in(session: AsyncSession, project_id: int) -> int:
    """Count the documents of a project."""
    counts = [
        await session.scalar(sa.select(sa.func.count()).select_from(table).where(table.c.project_id == project_id))
        for table in (HEADS, SHEETS)
    ]
    return sum(one or 0 for one in counts)
