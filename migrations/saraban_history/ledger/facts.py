"""The codes and the documents that numbers are explained with while they are carried over."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT
from saraban_history.ledger.printing import FALLBACK

KINDS = {"RFA": "rfa", "TRANSMITTAL": "transmittal"}
BLOCK = 1000
_TYPES = dict.fromkeys(("uuid", "token", "holder_public_id", "reservation_uuid"), sa.Uuid()) | {
    "format_values": sa.JSON(),
    "context_data": sa.JSON(none_as_null=True),
    "reset_sequence_yearly": sa.Boolean(),
}


def rows(table: str, **columns: Any) -> Iterator[Any]:
    """Return the rows of a table, read whole before anything is written."""
    source = sa.table(table, *(sa.column(name, kind) for name, kind in columns.items()))
    first = next(iter(source.c))
    yield from op.get_bind().execute(sa.select(source).order_by(first)).all()


def write(table: str, values: list[dict[str, Any]], **types: Any) -> None:
    """
    Insert rows, all with the same columns.

    :param types: of columns that are not what the ledger has under that name
    """
    for start in range(0, len(values), BLOCK):
        columns = (sa.column(name, types.get(name) or _type(name)) for name in values[0])
        op.get_bind().execute(sa.insert(sa.table(table, *columns)), values[start : start + BLOCK])


def _type(column: str) -> Any:
    return _TYPES.get(column) or (MOMENT if column.endswith("_at") else None)


@dataclass(frozen=True)
class Format:
    template: str
    resets: bool


@dataclass
class Document:
    """A numbered document or circulation sheet."""

    kind: str
    public_id: UUID
    row: Any
    project_id: int
    number: str
    number_uuid: UUID | None
    type_id: int
    originator_id: int
    user_id: int
    values: dict[str, str] = field(default_factory=dict)
    recipient_id: int = -1


class Codes:
    """Everything that a template can print, by integer key."""

    def __init__(self) -> None:
        self.projects = _pairs("projects", "id", "project_code")
        self.organizations = _pairs("organizations", "id", "organization_code")
        self.types = _pairs("correspondence_types", "id", "type_code")
        self.sub_types = _pairs("correspondence_sub_types", "id", "sub_type_number")
        self.rfa_types = _pairs("rfa_types", "id", "type_code")
        self.disciplines = _pairs("disciplines", "id", "discipline_code")
        self.formats: dict[tuple[int, int | None], Format] = {}

    def format(self, project: int, kind: int) -> Format:
        own = self.formats.get((project, kind)) or self.formats.get((project, None))
        return own or Format(FALLBACK, resets=True)

    def values(
        self, project: int, kind: int, originator: int, recipient: int | None, sub: int, rfa: int, discipline: int
    ) -> dict[str, str]:
        return {
            "PROJECT": self.projects.get(project, ""),
            "ORIGINATOR": self.organizations.get(originator, ""),
            "RECIPIENT": self.organizations.get(recipient or -1, ""),
            "CORR_TYPE": self.types.get(kind, ""),
            "SUB_TYPE": self.sub_types.get(sub) or "",
            "RFA_TYPE": self.rfa_types.get(rfa, ""),
            "DISCIPLINE": self.disciplines.get(discipline, "GEN"),
        }


def _pairs(table: str, key: str, value: str) -> dict[int, str]:
    return {row[0]: row[1] for row in rows(table, **{key: sa.Integer, value: sa.String})}


def documents(codes: Codes) -> list[Document]:
    """Return every document that has a number, letters and their like first, then circulation sheets."""
    main = {}
    for row in rows(
        "correspondence_recipients",
        correspondence_id=sa.Integer,
        recipient_organization_id=sa.Integer,
        recipient_type=sa.String,
        position=sa.Integer,
    ):
        if row.recipient_type == "TO" and (row.correspondence_id not in main or row.position == 0):
            main[row.correspondence_id] = row.recipient_organization_id
    rfa = {row.id: row.rfa_type_id for row in rows("rfas", id=sa.Integer, rfa_type_id=sa.Integer)}
    heads = rows(
        "correspondences",
        id=sa.Integer,
        uuid=sa.Uuid,
        project_id=sa.Integer,
        correspondence_number=sa.String,
        number_uuid=sa.Uuid,
        correspondence_type_id=sa.Integer,
        originator_id=sa.Integer,
        created_by=sa.Integer,
        created_at=MOMENT,
        sub_type_id=sa.Integer,
        discipline_id=sa.Integer,
    )
    return [_letter(codes, row, main.get(row.id, -1), rfa.get(row.id, 0)) for row in heads] + _sheets(codes)


def _letter(codes: Codes, row: Any, recipient: int, rfa_type: int) -> Document:
    kind = KINDS.get(codes.types.get(row.correspondence_type_id, ""), "correspondence")
    values = codes.values(
        row.project_id,
        row.correspondence_type_id,
        row.originator_id,
        recipient,
        row.sub_type_id or 0,
        rfa_type,
        row.discipline_id or 0,
    )
    return Document(
        kind,
        row.uuid,
        row,
        row.project_id,
        row.correspondence_number,
        row.number_uuid,
        row.correspondence_type_id,
        row.originator_id,
        row.created_by,
        values,
        recipient,
    )


def _sheets(codes: Codes) -> list[Document]:
    found = list(
        rows(
            "circulations",
            id=sa.Integer,
            uuid=sa.Uuid,
            project_id=sa.Integer,
            circulation_no=sa.String,
            number_uuid=sa.Uuid,
            organization_id=sa.Integer,
            created_by_user_id=sa.Integer,
            created_at=MOMENT,
        )
    )
    kind = _circulation_type(codes) if found else 0
    return [
        Document(
            "circulation",
            row.uuid,
            row,
            row.project_id,
            row.circulation_no,
            row.number_uuid,
            kind,
            row.organization_id,
            row.created_by_user_id,
            codes.values(row.project_id, kind, row.organization_id, None, 0, 0, 0),
        )
        for row in found
    ]


def _circulation_type(codes: Codes) -> int:
    """The ledger wants a type for every number, and circulation sheets had none."""
    known = next((key for key, type_code in codes.types.items() if type_code == "CIRCULATION"), None)
    if known is None:
        known = max(codes.types, default=0) + 1
        sheet = {"id": known, "type_code": "CIRCULATION", "type_name": "Circulation sheet", "sort_order": 11}
        write("correspondence_types", [sheet])
        codes.types[known] = "CIRCULATION"
    return known
