"""
A spreadsheet of master data: its columns, and how rows become values. Text in, values and faults out.

A heading may be the name of the field, the Thai or the English label, or both. Rows that are pasted may have none.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from saraban.kit.errors import NO_FORMULA, SAID_TWICE, FieldProblem, Invalid, invalid
from saraban.kit.json import Json
from saraban.kit.problem import field_problems
from saraban.kit.schema import Schema
from saraban.kit.text import FORMULA, fold
from saraban.setup.domain.master_kinds import MasterField, MasterKind

Checked = TypeVar("Checked", bound=Schema)
MOST_FAULTS: Final = 100


@dataclass(frozen=True, slots=True)
class MasterSheetRow:
    """:param values: of the columns that the sheet has; a cell that is empty is none"""

    line: int
    values: Mapping[str, Json]


def title(field: MasterField) -> str:
    return f"{field.label.th} / {field.label.en}"


def pasted_rows(text: str) -> list[list[str]]:
    """Return the cells of what was copied out of a spreadsheet."""
    return list(csv.reader(text.splitlines(), delimiter="\t"))


def column_places(kind: MasterKind, headings: Sequence[object]) -> dict[str, int]:
    """Find the columns by their headings, in whatever order and language they stand."""
    found = {_text(heading).casefold(): place for place, heading in reversed(list(enumerate(headings)))}
    places = {}
    for field in kind.fields:
        names = (title(field), field.name, field.label.th, field.label.en)
        at = next((found[name.casefold()] for name in names if name.casefold() in found), None)
        if at is not None:
            places[field.name] = at
    return places


def read_sheet(
    kind: MasterKind, table: Iterable[Sequence[object]], *, pasted: bool = False
) -> tuple[list[MasterSheetRow], list[FieldProblem]]:
    """
    Return the rows of a sheet, and what is wrong with them by themselves: formulas, and a row that comes twice.

    :param pasted: the first row may be one already; then the columns stand in the order of the fields
    :raises Invalid: when a column is missing that every row needs
    """
    lines = list(table)
    places = column_places(kind, lines[0]) if lines else {}
    if pasted and kind.code.name not in places:
        places, first = {field.name: at for at, field in enumerate(kind.fields)}, 1
    else:
        _require_columns(kind, places)
        lines, first = lines[1:], 2
    rows, faults = [], []
    lines_of: dict[tuple[str, str], int] = {}
    for line, cells in enumerate(lines, first):
        texts = {name: _text(cells[at]) if at < len(cells) else "" for name, at in places.items()}
        if not any(texts.values()):
            continue
        faults += [
            FieldProblem(f"/{line}/{name}", "formula", NO_FORMULA)
            for name, text in texts.items()
            if text.startswith(FORMULA)
        ]
        within = texts.get(kind.within or "") or (kind.field(kind.within).default if kind.within else "") or ""
        known = lines_of.setdefault((texts[kind.code.name], within), line)
        if known != line:
            faults.append(FieldProblem(f"/{line}/{kind.code.name}", "twice", SAID_TWICE, {"line": known}))
        rows.append(MasterSheetRow(line, {name: text.removeprefix(FORMULA) or None for name, text in texts.items()}))
    return rows, faults


def _require_columns(kind: MasterKind, places: Mapping[str, int]) -> None:
    for field in kind.fields:
        if field.required and field.name not in places:
            raise invalid(
                "/file", "column_missing", "ไม่มีคอลัมน์ {column}", "The column {column} is missing.", column=title(field)
            )


def checked(row: MasterSheetRow, schema: type[Schema]) -> tuple[dict[str, Json], list[FieldProblem]]:
    """Return the values of a row as its schema reads them, or what is wrong with them; what is empty and needed is missing."""
    try:
        stated = checked_values(schema, {name: value for name, value in row.values.items() if value is not None})
    except Invalid as fault:
        return {}, [at_line(row.line, one) for one in fault.fields]
    values = stated.model_dump(mode="json", by_alias=True)
    return {name: values[name] for name in row.values}, []


def checked_values(schema: type[Checked], values: Mapping[str, Json]) -> Checked:
    """
    :raises Invalid: naming each field at fault
    """
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        raise Invalid(fields=field_problems(_of_body(error))) from None


def _of_body(error: ValidationError) -> list[Any]:
    return [{**one, "loc": ("body", *one["loc"])} for one in error.errors()]


def at_line(line: int, fault: FieldProblem) -> FieldProblem:
    return FieldProblem(f"/{line}{fault.pointer}", fault.code, fault.text, fault.values)


def by_line(faults: Sequence[FieldProblem]) -> list[FieldProblem]:
    """Return the first hundred faults in the order of the sheet; a cell that has a formula is not missing as well."""
    formulas = {one.pointer for one in faults if one.text is NO_FORMULA}
    said = (one for one in faults if one.text is NO_FORMULA or one.pointer not in formulas)
    return sorted(said, key=lambda one: int(one.pointer.split("/")[1]))[:MOST_FAULTS]


def _text(cell: object) -> str:
    """A code of digits alone is a number to a spreadsheet."""
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else fold(str(cell)).strip()
