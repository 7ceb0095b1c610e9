"""
A spreadsheet of people: its columns, and how rows become people. Text in, people and faults out.

A person with several roles has several rows; what is said of the person stands in the first, and is empty or the same below.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, NamedTuple

from saraban.identity.domain import catalogue
from saraban.identity.domain.period import BEFORE_FROM
from saraban.kit.dates import read_date
from saraban.kit.errors import NO_FORMULA, REQUIRED, SAID_TWICE, FieldProblem, Invalid, Text, invalid
from saraban.kit.text import FORMULA, fold, normal_form


class PeopleColumn(NamedTuple):
    """Its heading may be the key, the Thai or the English name, or both names."""

    key: str
    heading: Text
    needed: bool

    @property
    def title(self) -> str:
        return f"{self.heading.th} / {self.heading.en}"


COLUMNS: Final = (
    PeopleColumn("username", Text("ชื่อผู้ใช้", "User name"), needed=True),
    PeopleColumn("email", Text("อีเมล", "E-mail"), needed=True),
    PeopleColumn("firstName", Text("ชื่อ", "First name"), needed=False),
    PeopleColumn("lastName", Text("นามสกุล", "Last name"), needed=False),
    PeopleColumn("organization", Text("องค์กร", "Organization"), needed=True),
    PeopleColumn("role", Text("บทบาท", "Role"), needed=False),
    PeopleColumn("level", Text("ระดับ", "Level"), needed=False),
    PeopleColumn("place", Text("ขอบเขต", "Place"), needed=False),
    PeopleColumn("from", Text("วันแรก", "First day"), needed=False),
    PeopleColumn("until", Text("วันสุดท้าย", "Last day"), needed=False),
)
_ABOUT_PERSON: Final = tuple(column.key for column in COLUMNS[:5])
_ABOUT_ROLE: Final = tuple(column.key for column in COLUMNS[5:])
_NO_ROLE: Final = Text("แถวนี้ไม่ได้ระบุบทบาท", "There is no role for this.")
_EVERYWHERE: Final = Text("บทบาทนี้ใช้ทั้งระบบ ไม่ต้องระบุ", "This role counts everywhere.")
_ROLES: Final = {fold(name).casefold(): offer for offer in catalogue.ROLES for name in (offer.name, offer.called.th)}


@dataclass(frozen=True, slots=True)
class RequestedRole:
    """A role in a place, as one row of the sheet has it; without days it counts at once and without an end."""

    line: int
    role: str
    level: str
    place: str
    first: date | None = None
    last: date | None = None

    def meets(self, other: "RequestedRole") -> bool:
        """Return whether both are the same role in the same place on some day."""
        same = (self.role, self.place) == (other.role, other.place)
        early, late = sorted((self, other), key=lambda one: one.first or date.min)
        return same and (late.first or date.min) <= (early.last or date.max)


@dataclass(frozen=True, slots=True)
class ImportedPerson:
    """
    One person of the sheet.

    :param cells: by the keys of the columns
    """

    line: int
    cells: dict[str, str]
    roles: tuple[RequestedRole, ...]


def column_positions(headings: Sequence[object]) -> dict[str, int]:
    """
    Find the columns by their headings, in whatever order and language they stand.

    :raises Invalid: naming a column that is missing
    """
    found = {_text(heading).casefold(): place for place, heading in reversed(list(enumerate(headings)))}
    places: dict[str, int] = {}
    for column in COLUMNS:
        names = (column.title, column.key, column.heading.th, column.heading.en)
        at = next((found[name.casefold()] for name in names if name.casefold() in found), None)
        if at is not None:
            places[column.key] = at
        elif column.needed:
            raise invalid(
                "/file", "column_missing", "ไม่มีคอลัมน์ {column}", "The column {column} is missing.", column=column.title
            )
    return places


def read_people(rows: Iterable[Sequence[object]]) -> tuple[list[ImportedPerson], list[FieldProblem]]:
    """
    Return the people of a sheet whose first row has the headings, and what is wrong with its rows by itself.

    :raises Invalid: when a column is missing
    """
    lines = iter(rows)
    places = column_positions(next(lines, []))
    found: dict[str, ImportedPerson] = {}
    faults: list[FieldProblem] = []
    for line, row in enumerate(lines, 2):
        texts = {key: _text(row[at]) if at < len(row) else "" for key, at in places.items()}
        if not any(texts.values()):
            continue
        cells = {key: text.removeprefix(FORMULA) for key, text in texts.items()}
        worked_out = texts.get("role", "").startswith(FORMULA)
        roles, wrong = ((), []) if worked_out else _role(line, cells)
        name = normal_form(cells["username"])
        first = found.get(name)
        if first is None:
            wrong += _missing(line, cells)
            found |= {name: ImportedPerson(line, cells, roles)} if name else {}
        else:
            wrong += _contradictions(line, cells, first) + _repeated(roles, first)
            found[name] = ImportedPerson(first.line, first.cells, first.roles + roles)
        faults += first_of_each_cell([*_formulas(line, texts), *wrong])
    return list(found.values()), faults


def first_of_each_cell(faults: Iterable[FieldProblem]) -> list[FieldProblem]:
    """Leave out what only follows from another fault of the same cell."""
    found: dict[str, FieldProblem] = {}
    for one in faults:
        found.setdefault(one.pointer, one)
    return list(found.values())


def at_workbook_row(line: int, fault: FieldProblem, *, of_role: bool = False) -> FieldProblem:
    """Return the problem of one person with the row and the column that it comes from."""
    name = fault.pointer.removeprefix("/")
    codes = {"organizationCode", "projectCode", "contractCode"}
    key = ("place" if of_role else "organization") if name in codes else name
    return FieldProblem(f"/{line}/{key}", fault.code, fault.text, fault.values)


def _role(line: int, cells: Mapping[str, str]) -> tuple[tuple[RequestedRole, ...], list[FieldProblem]]:
    role, level, place = (cells.get(key, "") for key in ("role", "level", "place"))
    if not role:
        extra = next((key for key in _ABOUT_ROLE if cells.get(key)), "")
        return (), [_fault(line, extra, "without_role", _NO_ROLE)] if extra else []
    first, last, faults = _days(line, cells)
    offer = _ROLES.get(role.casefold())
    if offer is None:
        text = Text("ไม่มีบทบาท “{value}”", "There is no role “{value}”.")
        return (), [FieldProblem(f"/{line}/role", "unknown", text, {"value": role}), *faults]
    if level and level.casefold() != offer.scope.casefold():
        text = Text("บทบาทนี้ต้องมอบที่ระดับ {scope}", "This role is given at the level {scope}.")
        faults.append(FieldProblem(f"/{line}/level", "mismatch", text, {"scope": offer.scope}))
    if (offer.scope == catalogue.GLOBAL) == bool(place):
        faults.append(_fault(line, "place", "mismatch", _EVERYWHERE if place else REQUIRED))
    return () if faults else (RequestedRole(line, offer.name, offer.scope, place, first, last),), faults


def _days(line: int, cells: Mapping[str, str]) -> tuple[date | None, date | None, list[FieldProblem]]:
    days: dict[str, date] = {}
    faults: list[FieldProblem] = []
    for key in ("from", "until"):
        try:
            days |= {key: read_date(cells[key], f"/{line}/{key}")} if cells.get(key) else {}
        except Invalid as fault:
            faults += fault.fields
    first, last = days.get("from"), days.get("until")
    if first and last and last < first:
        faults.append(_fault(line, "until", "before_from", BEFORE_FROM))
    return first, last, faults


def _formulas(line: int, texts: Mapping[str, str]) -> list[FieldProblem]:
    return [_fault(line, key, "formula", NO_FORMULA) for key, text in texts.items() if text.startswith((FORMULA, "="))]


def _missing(line: int, cells: Mapping[str, str]) -> list[FieldProblem]:
    needed = (column.key for column in COLUMNS if column.needed)
    return [_fault(line, key, "required", REQUIRED) for key in needed if not cells[key]]


def _contradictions(line: int, cells: Mapping[str, str], first: ImportedPerson) -> list[FieldProblem]:
    text = Text("ต่างจากแถว {line} ของคนเดียวกัน", "It differs from row {line} of the same person.")
    return [
        FieldProblem(f"/{line}/{key}", "differs", text, {"line": first.line})
        for key in _ABOUT_PERSON[1:]
        if cells.get(key) and cells[key] != first.cells.get(key)
    ]


def _repeated(roles: Iterable[RequestedRole], person: ImportedPerson) -> list[FieldProblem]:
    return [
        FieldProblem(f"/{one.line}/role", "twice", SAID_TWICE, {"line": other.line})
        for one in roles
        for other in person.roles
        if one.meets(other)
    ]


def _fault(line: int, key: str, code: str, text: Text) -> FieldProblem:
    return FieldProblem(f"/{line}/{key}", code, text)


def _text(cell: object) -> str:
    """A name of digits alone is a number to a spreadsheet."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else fold(str(cell)).strip()
