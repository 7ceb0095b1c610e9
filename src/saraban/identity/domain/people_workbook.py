"""Columns of a sheet of people; each further role of a person has its own row."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Final

from saraban.identity.domain import catalogue
from saraban.identity.domain.period import BEFORE_FROM
from saraban.kit.errors import NO_FORMULA, REQUIRED, SAID_TWICE, FieldProblem, Text
from saraban.kit.sheet_columns import CellKind, RowFaults, SheetColumn, SheetRow
from saraban.kit.text import normal_form

_ROLES: Final = {role.name: role for role in catalogue.ROLES}
# fmt: off
COLUMNS: Final = (
    SheetColumn("username", Text("ชื่อผู้ใช้", "User name"), is_required=True, example="somsri.example",
        synonyms=("login", "login name", "user", "userid", "บัญชีผู้ใช้")),
    SheetColumn("email", Text("อีเมล", "E-mail"), is_required=True, example="somsri@example.com",
        synonyms=("email address", "mail", "อีเมล์", "ที่อยู่อีเมล")),
    SheetColumn("firstName", Text("ชื่อ", "First name"), example="สมศรี", synonyms=("given name", "ชื่อจริง", "ชื่อตัว")),
    SheetColumn("lastName", Text("นามสกุล", "Last name"), example="ตัวอย่าง", synonyms=("surname", "family name", "สกุล")),
    SheetColumn("organization", Text("องค์กร", "Organization"), Text("รหัสขององค์กร", "The code of the organization."),
        is_required=True, example="คคง.", synonyms=("company", "organization code", "organisation", "รหัสองค์กร", "หน่วยงาน", "บริษัท")),
    SheetColumn("role", Text("บทบาท", "Role"), Text("แต่ละบทบาทมีแถวของตน", "Each role of a person has its own row."),
        kind=CellKind.CHOICE, choices={role.name: role.called for role in catalogue.ROLES}, example="Editor"),
    SheetColumn("level", Text("ระดับ", "Level"), Text("เว้นว่างได้", "It may be empty."),
        kind=CellKind.CHOICE, choices=catalogue.LEVELS),
    SheetColumn("place", Text("ขอบเขต", "Place"), example="คคง.",
        about=Text("รหัสขององค์กร โครงการ หรือสัญญา", "The code of an organization, a project or a contract.")),
    SheetColumn("from", Text("วันแรก", "First day"), kind=CellKind.DAY, synonyms=("start date", "valid from", "วันเริ่มต้น")),
    SheetColumn("until", Text("วันสุดท้าย", "Last day"), kind=CellKind.DAY, synonyms=("end date", "valid until", "วันสิ้นสุด")),
)
# fmt: on
_ABOUT_PERSON: Final = tuple(column.key for column in COLUMNS[1:5])
_ABOUT_ROLE: Final = tuple(column.key for column in COLUMNS[5:])
_NO_ROLE: Final = Text("แถวนี้ไม่ได้ระบุบทบาท", "There is no role for this.")
_EVERYWHERE: Final = Text("บทบาทนี้ใช้ทั้งระบบ ไม่ต้องระบุ", "This role counts everywhere.")
_LEVEL: Final = Text("บทบาทนี้ต้องมอบที่ระดับ {scope}", "This role is given at the level {scope}.")
_DIFFERS: Final = Text("ต่างจากแถว {line} ของคนเดียวกัน", "It differs from row {line} of the same person.")


@dataclass(frozen=True, slots=True)
class RequestedRole:
    line: int
    role: str
    level: str
    place: str
    first: date | None = None
    last: date | None = None

    def meets(self, other: "RequestedRole") -> bool:
        same = (self.role, self.place) == (other.role, other.place)
        early, late = sorted((self, other), key=lambda role: role.first or date.min)
        return same and (late.first or date.min) <= (early.last or date.max)


@dataclass(frozen=True, slots=True)
class ImportedPerson:
    """:param cells: of the first row"""

    line: int
    cells: dict[str, str]
    roles: tuple[RequestedRole, ...]


def read_people(rows: Iterable[SheetRow]) -> tuple[list[ImportedPerson], RowFaults]:
    people: dict[str, ImportedPerson] = {}
    faults = RowFaults()
    for row in rows:
        cells = {column.key: row.cells.get(column.key, "") for column in COLUMNS}
        name = normal_form(cells["username"])
        first = people.get(name)
        row_faults = [fault for fault in row.faults if first is None or fault.code != "required"]
        row_faults += [_fault(key, "formula", NO_FORMULA) for key, text in cells.items() if text.startswith("=")]
        role, role_faults = _read_role(row.number, cells, {fault.pointer[1:] for fault in row_faults})
        roles = (role,) if role else ()
        if first is not None:
            row_faults += _differing_cells(cells, first) + _repeated_roles(roles, first)
            people[name] = ImportedPerson(first.line, first.cells, first.roles + roles)
        elif name:
            people[name] = ImportedPerson(row.number, cells, roles)
        faults.add(row.number, *row_faults, *role_faults)
    return list(people.values()), faults


def _read_role(line: int, cells: dict[str, str], at_fault: set[str]) -> tuple[RequestedRole | None, list[FieldProblem]]:
    """:param at_fault: keys of unreadable cells"""
    if "role" in at_fault:
        return None, []
    if not cells["role"]:
        extra = next((key for key in _ABOUT_ROLE if cells[key]), "")
        return None, [_fault(extra, "without_role", _NO_ROLE)] if extra else []
    scope = _ROLES[cells["role"]].scope
    first, last = (
        date.fromisoformat(cells[key]) if cells[key] and key not in at_fault else None for key in ("from", "until")
    )
    faults = [_fault("until", "before_from", BEFORE_FROM)] if first and last and last < first else []
    if cells["level"] not in {"", scope}:
        faults.append(_fault("level", "mismatch", _LEVEL, scope=scope))
    if (scope == catalogue.GLOBAL) == bool(cells["place"]):
        faults.append(_fault("place", "mismatch", _EVERYWHERE if cells["place"] else REQUIRED))
    if faults or not at_fault.isdisjoint(_ABOUT_ROLE):
        return None, faults
    return RequestedRole(line, cells["role"], scope, cells["place"], first, last), []


def _differing_cells(cells: dict[str, str], first: ImportedPerson) -> list[FieldProblem]:
    differing = (key for key in _ABOUT_PERSON if cells[key] not in {"", first.cells[key]})
    return [_fault(key, "differs", _DIFFERS, line=first.line) for key in differing]


def _repeated_roles(roles: Iterable[RequestedRole], person: ImportedPerson) -> list[FieldProblem]:
    return [
        _fault("role", "twice", SAID_TWICE, line=other.line)
        for role in roles
        for other in person.roles
        if role.meets(other)
    ]


def _fault(key: str, code: str, text: Text, **values: object) -> FieldProblem:
    return FieldProblem(f"/{key}", code, text, values)
