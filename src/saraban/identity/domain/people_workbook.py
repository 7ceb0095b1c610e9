"""
A spreadsheet of people: its columns, and how rows become people. Text in, people and faults out.

A person with several roles has several rows; what is said of the person stands in the first, and is empty or the same below.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from saraban.identity.domain import catalogue
from saraban.identity.domain.account import canonical_username
from saraban.kit.errors import NO_FORMULA, REQUIRED, SAID_TWICE, FieldProblem, Text, invalid
from saraban.kit.text import FORMULA, fold


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
)
_ABOUT_PERSON: Final = tuple(column.key for column in COLUMNS[:5])
_ROLES: Final = {fold(name).casefold(): offer for offer in catalogue.ROLES for name in (offer.name, offer.called.th)}


@dataclass(frozen=True, slots=True)
class RequestedRole:
    """A role in a place, as one row of the sheet has it."""

    line: int
    role: str
    level: str
    place: str


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
        said = {key: _text(row[at]) if at < len(row) else "" for key, at in places.items()}
        faults += [_fault(line, key, "formula", NO_FORMULA) for key, text in said.items() if text.startswith(FORMULA)]
        cells = {key: text.removeprefix(FORMULA) for key, text in said.items()}
        if not any(cells.values()):
            continue
        roles, wrong = _role(line, cells)
        faults += wrong
        name = canonical_username(cells["username"])
        first = found.get(name)
        if not name:
            faults.append(_fault(line, "username", "required", REQUIRED))
        elif first is None:
            faults += [
                _fault(line, column.key, "required", REQUIRED)
                for column in COLUMNS
                if column.needed and not cells[column.key]
            ]
            found[name] = ImportedPerson(line, cells, roles)
        else:
            faults += _contradictions(line, cells, first) + _repeated(roles, first)
            found[name] = ImportedPerson(first.line, first.cells, first.roles + roles)
    return list(found.values()), faults


def at_workbook_row(line: int, fault: FieldProblem, *, of_role: bool = False) -> FieldProblem:
    """Return the problem of one person with the row and the column that it comes from."""
    name = fault.pointer.removeprefix("/")
    codes = {"organizationCode", "projectCode", "contractCode"}
    key = ("place" if of_role else "organization") if name in codes else name
    return FieldProblem(f"/{line}/{key}", fault.code, fault.text, fault.values)


def _role(line: int, cells: dict[str, str]) -> tuple[tuple[RequestedRole, ...], list[FieldProblem]]:
    role, level, place = (cells.get(key, "") for key in ("role", "level", "place"))
    if not role:
        extra = "level" if level else "place" if place else ""
        return (), [
            _fault(line, extra, "without_role", Text("ไม่มีบทบาท", "There is no role for this."))
        ] if extra else []
    offer = _ROLES.get(role.casefold())
    if offer is None:
        text = Text("ไม่มีบทบาท “{value}”", "There is no role “{value}”.")
        return (), [FieldProblem(f"/{line}/role", "unknown", text, {"value": role})]
    if level and level.casefold() != offer.scope.casefold():
        text = Text("บทบาทนี้กำหนดที่ระดับ {scope}", "This role is given at the level {scope}.")
        return (), [FieldProblem(f"/{line}/level", "mismatch", text, {"scope": offer.scope})]
    if (offer.scope == catalogue.GLOBAL) == bool(place):
        everywhere = Text("บทบาทนี้ใช้ทั้งระบบ ไม่ต้องระบุ", "This role counts everywhere.")
        return (), [_fault(line, "place", "mismatch", everywhere if place else REQUIRED)]
    return (RequestedRole(line, offer.name, offer.scope, place),), []


def _contradictions(line: int, cells: dict[str, str], first: ImportedPerson) -> list[FieldProblem]:
    text = Text("ต่างจากแถว {line} ของคนเดียวกัน", "It differs from row {line} of the same person.")
    return [
        FieldProblem(f"/{line}/{key}", "differs", text, {"line": first.line})
        for key in _ABOUT_PERSON[1:]
        if cells.get(key) and cells[key] != first.cells.get(key)
    ]


def _repeated(roles: Iterable[RequestedRole], first: ImportedPerson) -> list[FieldProblem]:
    lines = {(one.role, one.place): one.line for one in reversed(first.roles)}
    return [
        FieldProblem(f"/{one.line}/role", "twice", SAID_TWICE, {"line": lines[one.role, one.place]})
        for one in roles
        if (one.role, one.place) in lines
    ]


def _fault(line: int, key: str, code: str, text: Text) -> FieldProblem:
    return FieldProblem(f"/{line}/{key}", code, text)


def _text(cell: object) -> str:
    """A name of digits alone is a number to a spreadsheet."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else fold(str(cell)).strip()
