"""Rows of master data as the API, the pages and the audit trail see them; what changes, and in which order they stand. Pure."""

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

PLACE: Final = 10  # between neighbours of a list
MOST: Final = 5000  # rows that are reordered or imported at once
Values = Mapping[str, Json]
Position = tuple[int, str, str]
Verdict = Literal["add", "change", "same", "leave_out"]


@dataclass(frozen=True, slots=True)
class MasterRow:
    """
    :param key: of the database; it leaves the process nowhere
    :param owner: key of the project or contract
    :param values: by the names of the fields; days as ISO text
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
        """A digest of all that a row shows: there is no column that counts its versions."""
        shown = orjson.dumps([dict(self.values), self.is_active, self.sort_order], option=orjson.OPT_SORT_KEYS)
        return f'"{hashlib.blake2b(shown, digest_size=12).hexdigest()}"'


@dataclass(frozen=True, slots=True)
class MasterAddress:
    """
    How a row is named from outside.

    :param public_id: of the row itself, where its kind has one; then the others are not needed
    :param owner: public id of the project or contract
    :param within: tells rows of one code apart
    """

    code: str = ""
    owner: UUID | None = None
    within: str | None = None
    public_id: UUID | None = None


class MasterRowChanged(Stale):
    """`If-Match` names a version of a master data row that somebody has changed since."""

    code = "MASTER_ROW_CHANGED"
    says = Text("มีผู้แก้ไขข้อมูลนี้ไปแล้ว", "Somebody has changed this in the meantime.")
    recovery = (Text("โหลดข้อมูลใหม่แล้วแก้ไขอีกครั้ง", "Load it again, then change it."),)


class MasterPlaceClosed(DomainError):
    """A project or contract is closed: its lists, members and parties stay as they are until it is opened again."""

    kind, code = ErrorKind.CONFLICT, "MASTER_PLACE_CLOSED"
    says = Text("{value} ปิดแล้ว เพิ่มหรือแก้ไขข้อมูลไม่ได้", "{value} is closed: nothing can be added or changed in it.")
    recovery = (Text("เปิดใช้อีกครั้งก่อน แล้วจึงแก้ไข", "Reopen it first, then make the change."),)


LOOKS_ALIKE: Final = Text(
    "รหัส “{value}” ดูเหมือน “{other}” ที่มีอยู่แล้ว ให้ใช้รหัสเดิมหรือเปลี่ยนรหัส",
    "“{value}” looks like “{other}”, which already exists: use that code or choose another.",
)


class MasterCodeTaken(DomainError):
    """
    A row of master data with this code, or this name, is there already; it may be a closed one, which can be reopened. A code
    that looks like another one is taken, too: people would take their numbers for the same.
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
    """The product itself writes this code (a status, a kind of document): it is neither closed nor renamed. Its names may be changed."""

    kind, code = ErrorKind.CONFLICT, "MASTER_CODE_OF_THE_PRODUCT"
    says = Text("ระบบใช้รหัส {value} เอง จึงปิดหรือเปลี่ยนรหัสไม่ได้", "Saraban itself uses the code {value}: it stays.")
    recovery = (Text("เปลี่ยนเฉพาะชื่อได้", "Its names can be changed."),)


@dataclass(frozen=True, slots=True)
class EndingSeries:
    """A series of numbers that ends, because what it prints changes; the one after it begins at 1."""

    project_code: str
    series: str
    last_number: int


class PrintedCodeChanges(DomainError):
    """
    Document numbers print what is to be changed. Each series that is named goes on under its new text and begins again at 1;
    numbers that were issued stay as they are. Confirm it with `confirmSeries`.
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
                {"project": one.project_code, "series": one.series, "last": one.last_number},
            )
            for one in series[:100]
        ]
        error = cls(fields=fields, values={"count": len(series)})
        error.series = series
        return error


def held(field: MasterField, value: Json) -> Json:
    """Return what a row holds for what is said: an empty text is the default, and codes stand in order."""
    return in_order(str(value)) if field.pairs and value else value or field.default


def codes_in(text: str) -> list[str]:
    return [code for one in text.split(",") if (code := one.strip())]


def in_order(text: str) -> str | None:
    return ", ".join(sorted(set(codes_in(text)))) or None


def changes(row: MasterRow, given: Values) -> dict[str, Json]:
    return {name: value for name, value in given.items() if row.values.get(name) != value}


def require_own_code(
    kind: MasterKind, values: Values, alike: Sequence[MasterRow], *, owner: int | None, key: int | None = None
) -> None:
    """
    :param alike: rows whose codes look like this one
    :param owner: and `key`: of the row itself; a new one has no key
    :raises MasterCodeTaken: when its list has the code, or one that looks like it
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


def require_sensible(kind: MasterKind, values: Values) -> None:
    """:raises Invalid: when its days end before they begin"""
    days = [one.name for one in kind.fields if one.form is FieldForm.DAY]
    stated = [str(values[name]) for name in days if values.get(name)]
    if stated != sorted(stated):
        raise invalid(f"/{days[-1]}", "before_start", "วันสิ้นสุดต้องไม่อยู่ก่อนวันเริ่ม", "It ends before it begins.")


def new_order(rows: Sequence[MasterRow], wanted: Sequence[str]) -> dict[int, int]:
    """
    Return the places of rows by their keys: those that are named first, in that order, then the others as they stand.

    :param wanted: codes; where several rows have one, `code type`
    :raises Invalid: for a code that is not there, or comes twice
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
    """
    :param line: of the sheet
    :param values: what the row comes to
    :param reason: of a row that is left out, which is no record
    """

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
    """:param applied: false for a dry run"""

    rows: Sequence[ImportedRow]
    applied: bool

    def count(self, change: Verdict) -> int:
        return sum(row.change == change for row in self.rows)


def neighbour(refs: Sequence[str], ref: str, *, up: bool) -> str | None:
    """Return the row before which a row stands after one step; None for the end."""
    if ref not in refs:
        return None
    place = refs.index(ref) + (-1 if up else 2)
    return refs[max(place, 0)] if place < len(refs) else None


def put_before(refs: Sequence[str], ref: str, before: str | None) -> list[str]:
    """Return the order in which one row stands before another, or at the end; what is not there moves nothing."""
    if ref not in refs or before == ref:
        return list(refs)
    rest = [one for one in refs if one != ref]
    place = rest.index(before) if before in rest else len(rest)
    return [*rest[:place], ref, *rest[place:]]
