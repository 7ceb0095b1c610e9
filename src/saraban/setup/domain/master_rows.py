"""Rows of master data, their changes, order and errors."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from uuid import UUID

import orjson

from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Text, invalid, unknown
from saraban.kit.etags import Stale
from saraban.kit.json import Json
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.text import normal_form
from saraban.setup.domain.master_kinds import FieldForm, MasterField, MasterKind

PLACE: Final = 10  # gap between the sort orders of two neighbours
MOST: Final = 5000  # rows of one reorder or import
Values = Mapping[str, Json]
Position = tuple[int, str, str]
Verdict = Literal["add", "change", "same", "leave_out"]


@dataclass(frozen=True, slots=True)
class MasterRow:
    """
    :param key: database key, never sent to clients
    :param values: by field name; dates as ISO text
    """

    kind: MasterKind
    key: int
    owner: int | None
    values: Values
    is_active: bool
    sort_order: int = 0
    public_id: UUID | None = None

    @property
    def code(self) -> str:
        return str(self.values[self.kind.code.name])

    @property
    def within(self) -> str:
        return str(self.values[self.kind.within]) if self.kind.within else ""

    @property
    def position(self) -> Position:
        return self.sort_order, self.code, self.within

    @property
    def etag(self) -> str:
        """Return a digest of all values; the tables have no version column."""
        shown = orjson.dumps([dict(self.values), self.is_active, self.sort_order], option=orjson.OPT_SORT_KEYS)
        return f'"{hashlib.blake2b(shown, digest_size=12).hexdigest()}"'


@dataclass(frozen=True, slots=True)
class MasterAddress:
    """:param public_id: for kinds with public ids; the other parts are then unused"""

    code: str = ""
    owner: UUID | None = None
    within: str | None = None
    public_id: UUID | None = None


class MasterRowChanged(Stale):
    """`If-Match` names an older version of a master data row: somebody has changed the row since."""

    code = "MASTER_ROW_CHANGED"
    says = Text("มีผู้แก้ไขข้อมูลนี้ไปแล้ว", "Somebody has changed this in the meantime.")
    recovery = (Text("โหลดข้อมูลใหม่แล้วแก้ไขอีกครั้ง", "Load it again, then change it."),)


class MasterPlaceClosed(DomainError):
    """
    The project or contract is closed. Its lists, members and parties cannot be changed
    until it is reopened.
    """

    kind, code = ErrorKind.CONFLICT, "MASTER_PLACE_CLOSED"
    says = Text("{value} ปิดแล้ว เพิ่มหรือแก้ไขข้อมูลไม่ได้", "{value} is closed: nothing can be added or changed in it.")
    recovery = (Text("เปิดใช้อีกครั้งก่อน แล้วจึงแก้ไข", "Reopen it first, then make the change."),)


LOOKS_ALIKE: Final = Text(
    "รหัส “{value}” ดูเหมือน “{other}” ที่มีอยู่แล้ว ให้ใช้รหัสเดิมหรือเปลี่ยนรหัส",
    "“{value}” looks like “{other}”, which already exists: use that code or choose another.",
)


class MasterCodeTaken(DomainError):
    """
    A row of master data already has this code or name. The row may be closed; then it
    can be reopened. A code that looks like an existing code is also refused, because
    readers would confuse the numbers that print them.
    """

    kind, code = ErrorKind.CONFLICT, "MASTER_CODE_TAKEN"
    says = Text("“{value}” มีอยู่แล้ว", "“{value}” is there already.")
    recovery = (Text("ใช้รหัสอื่น หรือเปิดใช้รายการที่ปิดไว้", "Use another one, or reopen the one that is closed."),)

    @classmethod
    def at(cls, field: str, value: object) -> "MasterCodeTaken":
        return cls(fields=[FieldProblem(f"/{field}", "taken", cls.says, {"value": value})], values={"value": value})

    @classmethod
    def beside(cls, field: str, value: str, other: str) -> "MasterCodeTaken":
        values = {"value": value, "other": other}
        return cls(
            words=LOOKS_ALIKE, fields=[FieldProblem(f"/{field}", "collides", LOOKS_ALIKE, values)], values=values
        )


class CodeOfTheProduct(DomainError):
    """
    The product itself writes this code (a status or a document type), so the row cannot
    be closed and the code cannot be changed. Its names can be changed.
    """

    kind, code = ErrorKind.CONFLICT, "MASTER_CODE_OF_THE_PRODUCT"
    says = Text("ระบบใช้รหัส {value} เอง จึงปิดหรือเปลี่ยนรหัสไม่ได้", "Saraban itself uses the code {value}: it stays.")
    recovery = (Text("เปลี่ยนเฉพาะชื่อได้", "Its names can be changed."),)


@dataclass(frozen=True, slots=True)
class EndingSeries:
    """A number series that ends because a printed code changes."""

    project_code: str
    series: str
    last_number: int


class PrintedCodeChanges(DomainError):
    """
    Document numbers print the value that is to change. Each named series continues under
    its new text and starts again at 1. Issued numbers keep their text. Confirm the change
    with `confirmSeries`.
    """

    kind, code = ErrorKind.CONFLICT, "PRINTED_CODE_CHANGES"
    says = Text(
        "เลขที่เอกสารพิมพ์ค่านี้อยู่ {count} ชุดเลข ถ้าเปลี่ยน แต่ละชุดจะเริ่มใหม่ที่ 1",
        "Document numbers print this: {count} series would begin anew at 1.",
    )
    recovery = (
        Text(
            "ตรวจรายชื่อชุดเลข แล้วยืนยันด้วย confirmSeries ในเนื้อหาของ PATCH หรือในที่อยู่ของการนำเข้า",
            "Look at the series, then confirm with confirmSeries: in the body of a PATCH, in the address of an import.",
        ),
    )
    series: Sequence[EndingSeries] = ()

    @classmethod
    def of(cls, field: str, series: Sequence[EndingSeries]) -> "PrintedCodeChanges":
        text = Text(
            "{project}: {series} ออกถึง {last} จะเริ่มใหม่ที่ 1", "{project}: {series}, last issued {last}, begins anew at 1."
        )
        fields = [
            FieldProblem(
                f"/{field}",
                "series_begins_anew",
                text,
                {"project": ending.project_code, "series": ending.series, "last": ending.last_number},
            )
            for ending in series[:100]
        ]
        error = cls(fields=fields, values={"count": len(series)})
        error.series = series
        return error


def stored_value(field: MasterField, value: Json) -> Json:
    return sorted_codes(str(value)) if field.pairs and value else value or field.default


def split_codes(text: str) -> list[str]:
    return [code for part in text.split(",") if (code := part.strip())]


def sorted_codes(text: str) -> str | None:
    return ", ".join(sorted(set(split_codes(text)))) or None


def changes(row: MasterRow, given: Values) -> dict[str, Json]:
    return {name: value for name, value in given.items() if row.values.get(name) != value}


def require_own_code(
    kind: MasterKind, values: Values, alike: Sequence[MasterRow], *, owner: int | None, key: int | None = None
) -> None:
    """
    :param alike: rows whose codes look like this one
    :raises MasterCodeTaken: when the owner has the code, or a code in `alike` only looks like it
    """
    name, code = kind.code.name, str(values[kind.code.name])
    within = str(values[kind.within]) if kind.within else ""
    others = [
        row for row in alike if row.key != key and (normal_form(row.code), row.within) == (normal_form(code), within)
    ]
    if any((row.code, row.owner) == (code, owner) for row in others):
        raise MasterCodeTaken.at(name, code)
    if others and code not in {row.code for row in others}:
        raise MasterCodeTaken.beside(name, code, others[0].code)


def require_date_order(kind: MasterKind, values: Values) -> None:
    """:raises Invalid:"""
    days = [field.name for field in kind.fields if field.form is FieldForm.DAY]
    dates = [str(values[name]) for name in days if values.get(name)]
    if dates != sorted(dates):
        raise invalid(f"/{days[-1]}", "before_start", "วันสิ้นสุดต้องไม่อยู่ก่อนวันเริ่ม", "It ends before it begins.")


def new_order(rows: Sequence[MasterRow], wanted: Sequence[str]) -> dict[int, int]:
    """
    Return sort orders by key: the named rows first, then the others in their order.

    :param wanted: codes, or `code type` where several rows have the code
    :raises Invalid: for an unknown or repeated code
    """
    names = {f"{row.code} {row.within}": row for row in rows if row.within} | {row.code: row for row in rows}
    for place, code in enumerate(wanted):
        if code not in names:
            raise unknown(f"/codes/{place}", code)
        if code in wanted[:place]:
            raise invalid(f"/codes/{place}", "twice", "ระบุซ้ำ", "It stands there twice.")
    first = list(dict.fromkeys(names[code].key for code in wanted))
    rest = [row.key for row in sorted(rows, key=lambda row: row.position) if row.key not in set(first)]
    return {key: PLACE * place for place, key in enumerate([*first, *rest], 1)}


@dataclass(frozen=True, slots=True)
class ImportedRow:
    line: int
    code: str
    change: Verdict
    values: Values = field(default_factory=dict)
    reason: FieldProblem | None = None

    def explain(self, language: str) -> str | None:
        return self.reason.text.say(language, self.reason.values) if self.reason else None

    @classmethod
    def of_left_out(cls, rows: Sequence[SheetRow]) -> "list[ImportedRow]":
        return [cls(row.number, "", "leave_out", row.cells, row.faults[0]) for row in rows if row.is_left_out]


@dataclass(frozen=True, slots=True)
class MasterImport:
    rows: Sequence[ImportedRow]
    applied: bool

    def count(self, change: Verdict) -> int:
        return sum(row.change == change for row in self.rows)


def neighbour(refs: Sequence[str], ref: str, *, up: bool) -> str | None:
    """Return the ref before which the row stands after one step; None for the end."""
    if ref not in refs:
        return None
    place = refs.index(ref) + (-1 if up else 2)
    return refs[max(place, 0)] if place < len(refs) else None


def put_before(refs: Sequence[str], ref: str, before: str | None) -> list[str]:
    if ref not in refs or before == ref:
        return list(refs)
    rest = [other for other in refs if other != ref]
    place = rest.index(before) if before in rest else len(rest)
    return [*rest[:place], ref, *rest[place:]]
