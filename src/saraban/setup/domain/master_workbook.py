"""A spreadsheet of master data: its columns, and how rows become values. Text in, values and faults out."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from saraban.kit.errors import SAID_TWICE, FieldProblem, Invalid, Text
from saraban.kit.json import Json
from saraban.kit.problem import field_problems
from saraban.kit.schema import Schema
from saraban.kit.sheet_columns import CellKind, RowFaults, SheetColumn, SheetRow
from saraban.kit.text import normal_form
from saraban.setup.domain.master_kinds import FieldForm, MasterKind

Checked = TypeVar("Checked", bound=Schema)
MOST_FAULTS: Final = 100
_CELL_KINDS: Final = {FieldForm.DAY: CellKind.DAY, FieldForm.CHOICE: CellKind.CHOICE, FieldForm.TEXT: CellKind.LINES}


def sheet_columns(kind: MasterKind) -> list[SheetColumn]:
    return [
        SheetColumn(
            field.name,
            field.label,
            longest=field.length,
            is_required=field.required,
            kind=_CELL_KINDS.get(field.form, CellKind.TEXT),
            choices={choice: Text(choice, choice) for choice in field.choices},
            # A row that is equal to the example is not imported: no real code is.
            example=f"ตัวอย่าง {field.example}" if field is kind.code else field.example,
        )
        for field in kind.fields
    ]


def check_repeated(kind: MasterKind, rows: Sequence[SheetRow], known: Collection[str] = ()) -> RowFaults:
    """Return a fault for each row whose code an earlier row has. Only codes that are `known` may look like others."""
    faults = RowFaults()
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        within = row.cells.get(kind.within or "") or (kind.field(kind.within).default if kind.within else "") or ""
        code = row.cells[kind.code.name]
        line = first.setdefault((code if code in known else normal_form(code), within), row.number)
        if line != row.number:
            faults.add(row.number, FieldProblem(f"/{kind.code.name}", "twice", SAID_TWICE, {"line": line}))
    return faults


def checked(row: SheetRow, schema: type[Schema]) -> dict[str, Json]:
    """
    Return the values of a row as its schema reads them.

    :raises Invalid: with the faults of its cells, then those of its fields
    """
    faults = row.faults
    try:
        stated = checked_values(schema, {name: text for name, text in row.cells.items() if text})
    except Invalid as fault:
        faults += tuple(fault.fields)
    if faults:
        raise Invalid(fields=faults)
    values = stated.model_dump(mode="json", by_alias=True)
    return {name: values[name] for name in row.cells}


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
