"""
Many documents like one: every row of it again, with other keys, number, subject and moments, whatever columns there are.

What a row says is not known here: it was written by the product's own services. Known is which values are a document's own:
its public ids, its printed numbers, its subject, its moments, and what its series decides.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.demo import repository
from saraban.documents.demo.domain import DemoRegister
from saraban.documents.demo.repository import HEADS, ITEMS, REVISIONS, RFA_REVISIONS, RFAS, SHEETS, RawRow
from saraban.kit.db import UtcDateTime
from saraban.kit.driver import DriverConnection
from saraban.kit.ids import new_id
from saraban.kit.text import key_text, sort_key
from saraban.numbering import service as numbering
from saraban.numbering.series.models import AUDIT, LEDGER, RENDERINGS

_FIRST, _SECOND = (HEADS, SHEETS, LEDGER), (REVISIONS,)
_PUBLIC_IDS = {"uuid", "token", "request_id"}
_HEAD = {"correspondence_id", "src_correspondence_id", "transmittal_id", "circulation_id"}
# A day that stands as a moment of it keeps its hour in the zone, whatever hour the copy was written at.
_WHOLE_DAYS = {"due_date", "received_date"}
_OF_PLAN = {
    LEDGER: {"sequence_number": "sequence", "series": "series", "format_values": "values", "issue_year": "year"},
    AUDIT: {"sequence_number": "sequence", "series": "series", "counter_key": "key"},
}
_CARRIED = ("item_correspondence_id", "item_revision_id", "document_number", "revision_label", "subject")

Values = list[Any]


@dataclass(frozen=True, slots=True)
class CarriedDocument:
    """A document that a transmittal may carry, as it stands since its last issue."""

    head: int
    revision: int
    number: str
    label: str
    subject: str


@dataclass(slots=True)
class CopiedDocument:
    """
    One document to write.

    :param contract: its code, empty without one
    :param carriable: a transmittal may carry it
    :param keys: of its head and its revisions, once it is written
    """

    pattern: "DocumentPattern"
    where: DemoRegister
    request: numbering.IssueRequest
    at: datetime
    subject: str
    contract: str
    carriable: bool
    carried: CarriedDocument | None = None
    values: Values = field(default_factory=list)
    ids: list[UUID] = field(default_factory=list)
    keys: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _TableText:
    """All rows of a table, with places for what is a document's own."""

    text: str
    own: Callable[[Values], Any]


@dataclass(slots=True)
class DocumentPattern:
    """
    A document taken apart.

    :param slots: what is a document's own, in the order of `Values`
    """

    at: datetime
    zone: ZoneInfo
    head: sa.Table
    on_sqlite: bool
    parts: dict[sa.Table, _TableText]
    slots: list[tuple[str, Any]]
    ids: list[UUID]
    labels: list[str]
    revisions: list[UUID]
    public_id: UUID
    number_id: UUID
    original: CarriedDocument | None

    def fill(self, one: CopiedDocument, issued: numbering.Issued) -> None:
        """Decide everything of a document but its keys."""
        plan = one.request.plan
        made = {old: new_id() for old in self.ids}
        later = {
            label: plan.template.render(plan.values, sequence=issued.sequence, revision=label)
            for label in self.labels[1:]
        }
        prints = {self.labels[0]: issued.number, **later}
        said = self._said(one, issued)
        since = one.at - self.at
        days = one.at.astimezone(self.zone).date() - self.at.astimezone(self.zone).date()
        values: Values = []
        for kind, what in self.slots:
            if kind == "hex":
                values.append(made[what].hex)
            elif kind == "dashed":
                values.append(str(made[what]))
            elif kind == "moment":
                values.append((what + since).isoformat(" ", "microseconds"))
            elif kind == "day":
                values.append((what + days).isoformat())
            elif kind == "whole":
                moved = (what + days).astimezone(UTC).replace(tzinfo=None)
                values.append(moved.isoformat(" ", "microseconds"))
            elif kind == "print":
                values.append(self._inside(prints[what]))
            elif kind == "form":
                form, label = what
                values.append(self._inside(form(prints.get(label, issued.base_number))))
            else:
                values.append(said.get(kind))
        one.values = values
        one.ids = [made[self.public_id], made[self.number_id], *(made[each] for each in self.revisions)]

    def _said(self, one: CopiedDocument, issued: numbering.Issued) -> dict[str, object]:
        plan = one.request.plan
        said: dict[str, object] = {
            "sequence": issued.sequence,
            "series": self._inside(plan.series),
            "values": self._inside(orjson.dumps(plan.values).decode()),
            "year": plan.year,
            "key": self._inside(plan.codes_text),
            "base": self._inside(issued.base_number),
            "subject": self._inside(one.subject),
            "discipline": plan.discipline.id if plan.discipline else "NULL",
        }
        if one.carried is not None:
            carried = one.carried
            said |= {
                "item_correspondence_id": carried.head,
                "item_revision_id": carried.revision,
                "document_number": self._inside(carried.number),
                "revision_label": carried.label,
                "item_subject": self._inside(carried.subject),
            }
        return said

    def _inside(self, text: str) -> str:
        """Return a text as it stands between quotes in a statement."""
        return _inside(text, on_sqlite=self.on_sqlite)

    def keys(self, one: CopiedDocument, kind: str, keys: Sequence[int]) -> None:
        """Fill in keys that the database has given: of the head, the number, or the revisions."""
        for place, (slot, what) in enumerate(self.slots):
            if slot == kind:
                one.values[place] = keys[what]

    def carried_by(self, one: CopiedDocument) -> CarriedDocument:
        """Return it as a later transmittal carries it."""
        plan, last = one.request.plan, self.labels[-1]
        sequence = next(one.values[place] for place, (kind, _) in enumerate(self.slots) if kind == "sequence")
        number = plan.template.render(plan.values, sequence=sequence, revision=last)
        return CarriedDocument(one.keys[0], one.keys[-1], number, last, one.subject)


async def take_apart(session: AsyncSession, public_id: UUID, *, zone: ZoneInfo) -> DocumentPattern:
    """Read a document that people have made, and find in each of its rows what is its own."""
    rows = await repository.rows_of(session, public_id)
    on_sqlite = session.get_bind().dialect.name == "sqlite"
    return _Reading(rows, zone, on_sqlite=on_sqlite).pattern(public_id)


class _Reading:
    """Turns rows into text, and collects what is different in each copy."""

    def __init__(self, rows: Mapping[sa.Table, list[RawRow]], zone: ZoneInfo, *, on_sqlite: bool) -> None:
        self._rows, self._zone, self._on_sqlite = rows, zone, on_sqlite
        self._slots: dict[tuple[str, Hashable], int] = {}
        self._head = HEADS if HEADS in rows else SHEETS
        self._revisions = rows.get(REVISIONS, [])
        self._ids = [UUID(str(text)) for text in dict.fromkeys(self._own_ids())]
        number = rows[LEDGER][0]
        subjects = [row["subject"] for row in self._revisions] or [rows[SHEETS][0]["circulation_subject"]]
        self._texts: dict[str, tuple[str, Hashable]] = {subjects[0]: ("subject", None)}
        self._texts |= {str(one): ("dashed", one) for one in self._ids} | {one.hex: ("hex", one) for one in self._ids}
        self._texts[number["base_number"]] = ("base", None)
        # A format that prints no revision prints one number for all of them.
        for row in reversed(rows[RENDERINGS]):
            self._texts[row["document_number"]] = ("print", row["revision_label"])
        self._forms: dict[tuple[str, str], tuple[str, Hashable]] = {}
        for label, printed in [(row["revision_label"], row["document_number"]) for row in rows[RENDERINGS]]:
            self._forms["document_number_key", key_text(printed)] = ("form", (key_text, label))
            self._forms["number_sort", sort_key(printed)] = ("form", (sort_key, label))
        self._forms["base_number_key", key_text(number["base_number"])] = ("form", (key_text, None))
        longest_first = sorted(self._texts, key=len, reverse=True)
        self._pattern = re.compile("|".join(re.escape(text) for text in longest_first))

    def _own_ids(self) -> list[str]:
        found = []
        for table, rows in self._rows.items():
            key = next(iter(table.primary_key.columns))
            names = [one.name for one in table.columns if one.name in _PUBLIC_IDS]
            names += [key.name] if key.name == "id" and not isinstance(key.type, sa.Integer) else []
            found += [row[name] for row in rows for name in names if row[name] is not None]
        return found

    def pattern(self, public_id: UUID) -> DocumentPattern:
        parts = {table: self._part(table, rows) for table, rows in self._rows.items()}
        labels = [row["revision_label"] for row in self._revisions] or [self._rows[LEDGER][0]["revision_label"]]
        return DocumentPattern(
            at=_moment(self._rows[self._head][0]["created_at"]).replace(tzinfo=UTC),
            zone=self._zone,
            head=self._head,
            on_sqlite=self._on_sqlite,
            parts=parts,
            slots=list(self._slots),
            ids=self._ids,
            labels=labels,
            revisions=[UUID(str(row["uuid"])) for row in self._revisions],
            public_id=public_id,
            number_id=UUID(str(self._rows[LEDGER][0]["uuid"])),
            original=self._original(),
        )

    def _original(self) -> CarriedDocument | None:
        if not self._revisions:
            return None
        last = self._revisions[-1]
        said = (last["correspondence_number"], last["revision_label"], last["subject"])
        return CarriedDocument(last["correspondence_id"], last["id"], *said)

    def _part(self, table: sa.Table, rows: Sequence[RawRow]) -> _TableText:
        own: list[int] = []
        columns = repository.columns_of(table)
        texts = ["(" + ",".join(self._cell(table, one, row[one.name], own) for one in columns) + ")" for row in rows]
        return _TableText(",".join(texts), itemgetter(*own) if len(own) > 1 else lambda values: values[own[0]])

    def _slot(self, own: list[int], kind: str, what: Hashable = None) -> str:
        own.append(self._slots.setdefault((kind, what), len(self._slots)))
        return "%s"

    def _cell(self, table: sa.Table, column: sa.Column[Any], value: Any, own: list[int]) -> str:
        name = column.name
        if value is None:
            return "NULL"
        kind = self._key(table, name)
        if kind is not None:
            return self._slot(own, *kind(value))
        if (name, value) in self._forms:
            return f"'{self._slot(own, *self._forms[name, value])}'"
        if name in _OF_PLAN.get(table, {}):
            slot = self._slot(own, _OF_PLAN[table][name])
            return slot if isinstance(value, int) else f"'{slot}'"
        if table is HEADS and name == "discipline_id":
            return self._slot(own, "discipline")
        if table is ITEMS and name in _CARRIED:
            slot = self._slot(own, "item_subject" if name == "subject" else name)
            return slot if isinstance(value, int) else f"'{slot}'"
        if isinstance(column.type, UtcDateTime | sa.DateTime):
            return f"'{self._at(name, _moment(value), own)}'"
        if isinstance(column.type, sa.Date):
            day = value if isinstance(value, date) else date.fromisoformat(value)
            return f"'{self._slot(own, 'day', day)}'"
        if isinstance(value, int | float):
            return str(int(value)) if isinstance(value, int) else str(value)
        return f"'{self._text(str(value), own)}'"

    def _key(self, table: sa.Table, name: str) -> Callable[[int], tuple[str, Hashable]] | None:
        """Whose key a column holds, if it is one that each copy has its own of."""
        if name in _HEAD or (table is RFAS and name == "id"):
            return lambda _key: ("head", 0)
        if name == "transmittal_revision_id" or (table is RFA_REVISIONS and name == "id"):
            places = {row["id"]: place for place, row in enumerate(self._revisions)}
            return lambda key: ("revision", places[key])
        return (lambda _key: ("number", 0)) if table is RENDERINGS and name == "reservation_id" else None

    def _at(self, name: str, moment: datetime, own: list[int]) -> str:
        if name in _WHOLE_DAYS:
            return self._slot(own, "whole", moment.replace(tzinfo=UTC).astimezone(self._zone))
        return self._slot(own, "moment", moment)

    def _text(self, text: str, own: list[int]) -> str:
        said, before = "", 0
        for match in self._pattern.finditer(text):
            said += self._plain(text[before : match.start()]) + self._slot(own, *self._texts[match.group()])
            before = match.end()
        return said + self._plain(text[before:])

    def _plain(self, text: str) -> str:
        return _inside(text, on_sqlite=self._on_sqlite).replace("%", "%%")


def _moment(value: Any) -> datetime:
    """Return a moment as both drivers give it: naive, in UTC."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _inside(text: str, *, on_sqlite: bool) -> str:
    """Return a text as it stands between quotes; MariaDB takes a backslash for an escape."""
    text = text.replace("'", "''")
    return text if on_sqlite else text.replace("\\", "\\\\")


async def write(session: AsyncSession, copies: Sequence[CopiedDocument], issued: Sequence[numbering.Issued]) -> None:
    """
    Write documents with the numbers they were given, in the caller's transaction.

    Each knows its keys afterwards: of its head, and of its revisions.
    """
    driver = await DriverConnection.of(session)
    for one, number in zip(copies, issued, strict=True):
        one.pattern.fill(one, number)
    await _insert(driver, copies, lambda table: table in _FIRST)
    numbers = await repository.keys_of(session, LEDGER, [one.ids[1] for one in copies])
    heads: dict[int, int] = {}
    for table in (HEADS, SHEETS):
        those = [one for one in copies if one.pattern.head is table]
        keys = await repository.keys_of(session, table, [one.ids[0] for one in those]) if those else []
        heads |= {id(one): key for one, key in zip(those, keys, strict=True)}
    for one, number_key in zip(copies, numbers, strict=True):
        one.pattern.keys(one, "head", [heads[id(one)]])
        one.pattern.keys(one, "number", [number_key])
    await _insert(driver, copies, lambda table: table in _SECOND)
    found = await repository.keys_of(session, REVISIONS, [each for one in copies for each in one.ids[2:]])
    place = 0
    for one in copies:
        revisions = found[place : place + len(one.ids) - 2]
        place += len(revisions)
        one.pattern.keys(one, "revision", revisions)
        one.keys = (heads[id(one)], *revisions)
    await _insert(driver, copies, lambda table: table not in _FIRST + _SECOND)


async def _insert(
    driver: DriverConnection, copies: Sequence[CopiedDocument], wanted: Callable[[sa.Table], bool]
) -> None:
    texts: dict[sa.Table, list[str]] = {}
    for one in copies:
        for table, part in one.pattern.parts.items():
            if wanted(table):
                texts.setdefault(table, []).append(part.text % part.own(one.values))
    await repository.insert(driver, texts)
