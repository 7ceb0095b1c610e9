"""The columns of master data spreadsheets, and the values of their rows."""

from collections.abc import Collection, Sequence
from typing import Final

from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.json import Json
from saraban.kit.problem import checked_values
from saraban.kit.schema import Schema
from saraban.kit.sheet_columns import CellKind, RowFaults, SheetColumn, SheetRow
from saraban.kit.text import normal_form
from saraban.setup.domain.master_kinds import FieldForm, MasterKind

MOST_FAULTS: Final = 100
_REPEATED: Final = Text("แถว {line} มีรหัสนี้หรือรหัสที่ดูเหมือนกัน", "Row {line} has the same code, or one that looks like it.")
_OFFICES: Final = ("องค์กร", "หน่วยงาน", "บริษัท")
_CALLED: Final = dict.fromkeys(("organization", "member", "party"), _OFFICES)  # synonyms in headings
_ROLES: Final = {"ผู้รับจ้าง": "CONTRACTOR", "ผู้ว่าจ้าง": "OWNER", **dict.fromkeys(("อื่น ๆ", "อื่นๆ"), "OTHER")}
_CELL_KINDS: Final = {FieldForm.DAY: CellKind.DAY, FieldForm.CHOICE: CellKind.CHOICE, FieldForm.TEXT: CellKind.LINES}


def sheet_columns(kind: MasterKind) -> list[SheetColumn]:
    words = _CALLED.get(kind.name, (kind.singular.th,))
    synonyms = {  # of the code and its two names
        0: ("ชื่อย่อ", *(f"{prefix}{word}" for prefix in ("รหัส", "เลขที่") for word in words)),
        1: (*(f"ชื่อ{word}" for word in words), "ชื่อ", "Name"),
        2: ("English name", "ชื่ออังกฤษ", "Name"),
    }
    return [
        SheetColumn(
            field.name,
            field.label,
            longest=field.length,
            is_required=field.required,
            kind=_CELL_KINDS.get(field.form, CellKind.TEXT),
            synonyms=synonyms.get(place, ()),
            choices={choice: Text(choice, choice) for choice in field.choices},
            aliases=_ROLES if field.name == "role" else {},
            # The import skips the example row, so the example must not be a real code.
            example=f"ตัวอย่าง {field.example}" if field is kind.code else field.example,
        )
        for place, field in enumerate(kind.fields)
    ]


def check_repeated(kind: MasterKind, rows: Sequence[SheetRow], known: Collection[str] = ()) -> RowFaults:
    """Add faults to rows with a similar code; codes in `known` are compared exactly."""
    faults = RowFaults()
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        within = row.cells.get(kind.within or "") or (kind.field(kind.within).default if kind.within else "") or ""
        code = row.cells[kind.code.name]
        line = first.setdefault((code if code in known else normal_form(code), within), row.number)
        if line != row.number:
            faults.add(row.number, FieldProblem(f"/{kind.code.name}", "twice", _REPEATED, {"line": line}))
    return faults


def checked(row: SheetRow, schema: type[Schema]) -> dict[str, Json]:
    """:raises Invalid:"""
    faults = row.faults
    try:
        validated = checked_values(schema, {name: text for name, text in row.cells.items() if text})
    except Invalid as fault:
        faults += tuple(fault.fields)
    if faults:
        raise Invalid(fields=faults)
    values = validated.model_dump(mode="json", by_alias=True)
    return {name: values[name] for name, text in row.cells.items() if text}
