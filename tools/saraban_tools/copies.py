"""
Many documents like one: every row of it again, with other keys, number, subject and moments, whatever columns there are.

The product's own services wrote the rows. A document's own are its public ids, its printed numbers, its subject, its moments,
and what its series decides.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditLog
from saraban.documents.circulation.models import Circulation, CirculationRouting
from saraban.documents.core.models import Document, DocumentRecipient, DocumentReference, DocumentRevision
from saraban.documents.demo.domain import DemoRegister
from saraban.documents.rfa.models import Rfa, RfaRevision
from saraban.documents.transmittal.models import Transmittal, TransmittalItem
from saraban.kit.db import table_of
from saraban.kit.ids import new_id
from saraban.kit.text import key_text, sort_key
from saraban.numbering import service as numbering
from saraban.numbering.series.models import AUDIT, LEDGER, RENDERINGS
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance, WorkflowWorkItem

HEADS, SHEETS, REVISIONS = table_of(Document), table_of(Circulation), table_of(DocumentRevision)
RFAS, RFA_REVISIONS, ITEMS = table_of(Rfa), table_of(RfaRevision), table_of(TransmittalItem)
_INSTANCES = table_of(WorkflowInstance)
_OF_HEAD = {
    table_of(DocumentRecipient): "correspondence_id",
    table_of(DocumentReference): "src_correspondence_id",
    RFAS: "id",
    table_of(Transmittal): "correspondence_id",
    ITEMS: "transmittal_id",
}
_PUBLIC_IDS = {"uuid", "token", "request_id"}
_HEAD_KEYS = {"correspondence_id", "src_correspondence_id", "transmittal_id", "circulation_id"}
# A day that is stored as a moment of it keeps its hour in the zone, whatever hour the copy was written at.
_WHOLE_DAYS = {"due_date", "received_date"}

Row = dict[str, Any]
Rows = dict[sa.Table, list[Row]]


async def rows_of(session: AsyncSession, public_id: UUID) -> Rows:
    """Return every row of one document, its tables in the order in which they can be written."""
    found: Rows = {}

    async def read(table: sa.Table, column: str, values: Collection[Any], *, of: str = "") -> list[Row]:
        stored = [one for one in table.columns if one.computed is None]
        named = [table.c.entity_type.in_((of, f"{of}_revision"))] if of else []
        rows = await session.execute(sa.select(*stored).where(*named, table.c[column].in_(values)))
        order = [one.name for one in table.primary_key.columns]
        # Sorted here: MariaDB would read a large table from one end to the other in the order of its key.
        found[table] = sorted((dict(row) for row in rows.mappings()), key=lambda row: [row[name] for name in order])
        return found[table]

    heads = await read(HEADS, "uuid", [public_id])
    sheets = [] if heads else await read(SHEETS, "uuid", [public_id])
    ledger = await read(LEDGER, "holder_public_id", [public_id])
    await read(RENDERINGS, "reservation_id", [row["id"] for row in ledger])
    await read(AUDIT, "reservation_uuid", [row["uuid"] for row in ledger])
    entities, kind = [str(public_id)], ledger[0]["holder_kind"]
    if heads:
        document = [heads[0]["id"]]
        revisions = await read(REVISIONS, "correspondence_id", document)
        entities = [str(row["uuid"]) for row in revisions]
        for table, column in _OF_HEAD.items():
            await read(table, column, document)
        await read(RFA_REVISIONS, "id", [row["id"] for row in revisions])
    else:
        await read(table_of(CirculationRouting), "circulation_id", [row["id"] for row in sheets])
    instances = await read(_INSTANCES, "entity_id", entities, of=kind)
    for table in (table_of(WorkflowHistory), table_of(WorkflowWorkItem)):
        await read(table, "instance_id", [row["id"] for row in instances])
    await read(table_of(AuditLog), "entity_id", [str(public_id)], of=kind)
    return {table: rows for table, rows in found.items() if rows}


async def count_documents(session: AsyncSession, project_id: int) -> int:
    counts = [
        await session.scalar(sa.select(sa.func.count()).select_from(table).where(table.c.project_id == project_id))
        for table in (HEADS, SHEETS)
    ]
    return sum(one or 0 for one in counts)


@dataclass(frozen=True, slots=True)
class CarriedDocument:
    """A document that a transmittal may carry, as it is since its last issue."""

    head: int
    revision: int
    number: str
    label: str
    subject: str


class DocumentPattern:
    """A document that people made, with what in its rows is its own."""

    def __init__(self, rows: Rows, public_id: UUID, zone: ZoneInfo) -> None:
        self.rows, self.public_id, self.zone = rows, public_id, zone
        self.head = HEADS if HEADS in rows else SHEETS
        self.at: datetime = rows[self.head][0]["created_at"]
        self.revisions = rows.get(REVISIONS, [])
        self.number = rows[LEDGER][0]
        self.labels = [row["revision_label"] for row in self.revisions] or [self.number["revision_label"]]
        self.prints: dict[str, str] = {row["revision_label"]: row["document_number"] for row in rows[RENDERINGS]}
        subjects = [row["subject"] for row in self.revisions] or [rows[SHEETS][0]["circulation_subject"]]
        self.subject: str = subjects[0]
        own = (row[name] for table, found in rows.items() for name in _id_columns(table) for row in found)
        self.ids = dict.fromkeys(UUID(str(value)) for value in own if value is not None)
        texts = {self.subject, self.number["base_number"], *self.prints.values()}
        texts |= {text for one in self.ids for text in (str(one), one.hex)}
        self.own_texts = re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))))

    def original(self) -> CarriedDocument | None:
        if not self.revisions:
            return None
        last = self.revisions[-1]
        names = ("correspondence_id", "id", "correspondence_number", "revision_label", "subject")
        return CarriedDocument(*(last[name] for name in names))


def _id_columns(table: sa.Table) -> list[str]:
    keys = {one.name for one in table.primary_key.columns if one.name == "id" and not isinstance(one.type, sa.Integer)}
    return [one.name for one in table.columns if one.name in keys | _PUBLIC_IDS]


@dataclass(slots=True)
class CopiedDocument:
    """
    One document to write.

    :param contract: its code, empty without one
    :param carriable: a transmittal may carry it
    :param keys: of its head and its revisions, once it is written
    """

    pattern: DocumentPattern
    where: DemoRegister
    request: numbering.IssueRequest
    at: datetime
    subject: str
    contract: str
    carriable: bool
    carried: CarriedDocument | None = None
    keys: tuple[int, ...] = ()
    number_key: int = 0
    ids: dict[UUID, UUID] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _columns: dict[tuple[sa.Table, str], Any] = field(default_factory=dict)
    _forms: dict[tuple[str, str], str] = field(default_factory=dict)

    @property
    def public_id(self) -> UUID:
        return self.ids[self.pattern.public_id]

    @property
    def number_id(self) -> UUID:
        return self.ids[self.pattern.number["uuid"]]

    def fill(self, issued: numbering.Issued) -> None:
        """Decide everything of the document but its keys."""
        pattern, plan = self.pattern, self.request.plan
        self.ids = {old: new_id() for old in pattern.ids}
        self.prints = {
            label: plan.template.render(plan.values, sequence=issued.sequence, revision=label)
            for label in pattern.labels[1:]
        } | {pattern.labels[0]: issued.number}
        self._texts = {text(old): text(new) for old, new in self.ids.items() for text in (str, _hex)}
        self._texts |= {pattern.subject: self.subject, pattern.number["base_number"]: issued.base_number}
        # A format that prints no revision prints one number for all of them.
        self._texts |= {pattern.prints[label]: self.prints[label] for label in reversed(pattern.prints)}
        base = pattern.number["base_number"]
        self._forms = {("base_number_key", key_text(base)): key_text(issued.base_number)}
        for label, printed in pattern.prints.items():
            self._forms["document_number_key", key_text(printed)] = key_text(self.prints[label])
            self._forms["number_sort", sort_key(printed)] = sort_key(self.prints[label])
        self._columns = {
            (LEDGER, "sequence_number"): issued.sequence,
            (LEDGER, "series"): plan.series,
            (LEDGER, "format_values"): plan.values,
            (LEDGER, "issue_year"): plan.year,
            (AUDIT, "sequence_number"): issued.sequence,
            (AUDIT, "series"): plan.series,
            (AUDIT, "counter_key"): plan.codes_text,
            (HEADS, "discipline_id"): plan.discipline.id if plan.discipline else None,
        }
        if self.carried is not None:
            self._columns |= {
                (ITEMS, "item_correspondence_id"): self.carried.head,
                (ITEMS, "item_revision_id"): self.carried.revision,
                (ITEMS, "document_number"): self.carried.number,
                (ITEMS, "revision_label"): self.carried.label,
                (ITEMS, "subject"): self.carried.subject,
            }

    def rows(self, table: sa.Table) -> list[Row]:
        """Return its rows of a table, without keys that the database gives."""
        given = table.autoincrement_column
        names = [one.name for one in table.columns if one.computed is None and one is not given]
        return [
            {name: self._value(table, name, row[name]) for name in names} for row in self.pattern.rows.get(table, ())
        ]

    def _value(self, table: sa.Table, name: str, value: Any) -> Any:
        if value is None:
            return None
        if name in _HEAD_KEYS or (table is RFAS and name == "id"):
            return self.keys[0]
        if name == "transmittal_revision_id" or (table is RFA_REVISIONS and name == "id"):
            return self.keys[1 + [row["id"] for row in self.pattern.revisions].index(value)]
        if table is RENDERINGS and name == "reservation_id":
            return self.number_key
        if (table, name) in self._columns:
            return self._columns[table, name]
        if isinstance(value, str) and (name, value) in self._forms:
            return self._forms[name, value]
        return self._moved(name, value)

    def _moved(self, name: str, value: Any) -> Any:
        match value:
            case UUID():
                return self.ids.get(value, value)
            case datetime() if name in _WHOLE_DAYS:
                return (value.astimezone(self.pattern.zone) + self._days()).astimezone(UTC)
            case datetime():
                return value + (self.at - self.pattern.at)
            case date():
                return value + self._days()
            case str():
                return self.pattern.own_texts.sub(self._new_text, value)
            case dict():
                return {key: self._moved("", one) for key, one in value.items()}
            case list():
                return [self._moved("", one) for one in value]
        return value

    def _new_text(self, match: re.Match[str]) -> str:
        return self._texts[match.group()]

    def _days(self) -> timedelta:
        zone = self.pattern.zone
        return self.at.astimezone(zone).date() - self.pattern.at.astimezone(zone).date()

    def as_carried(self) -> CarriedDocument:
        """Return it as a later transmittal carries it."""
        last = self.pattern.labels[-1]
        return CarriedDocument(self.keys[0], self.keys[-1], self.prints[last], last, self.subject)


def _hex(one: UUID) -> str:
    return one.hex


async def write(session: AsyncSession, copies: Sequence[CopiedDocument], issued: Sequence[numbering.Issued]) -> None:
    """
    Write documents with the numbers they were given, in the caller's transaction.

    Each contains its keys afterwards: of its head, and of its revisions.
    """
    for one, number in zip(copies, issued, strict=True):
        one.fill(number)
    tables = list(dict.fromkeys(table for one in copies for table in one.pattern.rows))
    for table in (HEADS, SHEETS, LEDGER):
        await _insert(session, table, copies)
    public_ids = [one.public_id for one in copies]
    heads = await _keys(session, HEADS, public_ids) | await _keys(session, SHEETS, public_ids)
    numbers = await _keys(session, LEDGER, [one.number_id for one in copies])
    for one in copies:
        one.keys, one.number_key = (heads[one.public_id],), numbers[one.number_id]
    await _insert(session, REVISIONS, copies)
    ids = [one.ids[row["uuid"]] for one in copies for row in one.pattern.revisions]
    revisions = await _keys(session, REVISIONS, ids)
    for one in copies:
        one.keys += tuple(revisions[one.ids[row["uuid"]]] for row in one.pattern.revisions)
    for table in tables:
        if table not in {HEADS, SHEETS, LEDGER, REVISIONS}:
            await _insert(session, table, copies)


async def _insert(session: AsyncSession, table: sa.Table, copies: Sequence[CopiedDocument]) -> None:
    if rows := [row for one in copies for row in one.rows(table)]:
        await session.execute(sa.insert(table), rows)


async def _keys(session: AsyncSession, table: sa.Table, public_ids: Sequence[UUID]) -> dict[UUID, int]:
    rows = await session.execute(sa.select(table.c.uuid, table.c.id).where(table.c.uuid.in_(public_ids)))
    return {row[0]: row[1] for row in rows}
