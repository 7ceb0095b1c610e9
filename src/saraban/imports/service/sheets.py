"""The sheets of imports: the template, the file that is read line by line, and the result."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from saraban.imports.domain import MISSING, REFUSED, THERE, SheetColumn
from saraban.kit.errors import FieldProblem, invalid
from saraban.kit.spreadsheets import read_rows
from saraban.kit.text import fold
from saraban.kit.workbooks import SheetWriter

MOST_LINES = 200_000
MOST_COLUMNS = 64  # a register may have columns of its own beside ours
Cells = tuple[int, Sequence[object]]  # line of the file, cells in the order of the columns
_GOOD, _DONE = "นำเข้าได้ / can be imported", "นำเข้าแล้ว / imported"
_RESULTS = {
    THERE: "มีในทะเบียนแล้ว / already registered",
    MISSING: "ต้องเพิ่มรหัสในรายการของโครงการก่อน / needs codes in the project's lists",
    REFUSED: "ไม่ผ่าน / rejected",
}


def sheet_lines(path: Path, columns: Sequence[SheetColumn], *, formulas: bool = False) -> Iterator[Cells]:
    """
    Return the lines below the headings, each with its number in the file and its cells in the order of `columns`.

    :param formulas: mark the cells that have one, as `read_rows` does
    :raises Invalid: for a file that `read_rows` refuses, or that lacks a column
    """
    sheet = read_rows(path, columns=MOST_COLUMNS, rows=MOST_LINES + 1, formulas=formulas)
    places = _places(columns, next(sheet, []))
    for line, row in enumerate(sheet, 2):
        if any(cell not in (None, "") for cell in row):
            yield line, [row[place] if place is not None and place < len(row) else None for place in places]


def _places(columns: Sequence[SheetColumn], headings: Sequence[object]) -> list[int | None]:
    found: dict[str, int] = {}
    for place, heading in enumerate(headings):
        found.setdefault(fold(str(heading or "")).strip().lower(), place)
    places: list[int | None] = []
    for column in columns:
        names = (column.title, column.key, column.heading.th, column.heading.en)
        at = next((found[name.lower()] for name in names if name.lower() in found), None)
        if at is None and column.needed:
            raise invalid(
                "/file", "column_missing", "ไม่มีคอลัมน์ {column}", "The column {column} is missing.", column=column.title
            )
        places.append(at)
    return places


def write_template(path: Path, columns: Sequence[SheetColumn]) -> None:
    """Write an empty sheet to fill in; its second sheet says what each column is."""
    with SheetWriter(path, [column.title for column in columns]) as sheet:
        rows = [
            (column.title, "ต้องกรอก / required" if column.needed else "", column.about.th, column.about.en)
            for column in columns
        ]
        sheet.explain("Columns", [("คอลัมน์ / Column", "", "คำอธิบาย", "Explanation"), *rows])


class ResultWorkbook:
    """
    The lines of an import again, each with what came of it.

    :param done: whether they were imported; otherwise it says what would come of them
    """

    def __init__(self, path: Path, columns: Sequence[SheetColumn], *, done: bool = False) -> None:
        self._ready = _DONE if done else _GOOD
        titles = [column.title for column in columns]
        self._sheet = SheetWriter(path, [*titles, "ผล / Result", "เหตุผล / Reason", "แถว / Row"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sheet.__exit__()

    def add(self, line: int, cells: Sequence[object], faults: Sequence[FieldProblem], state: str) -> None:
        shown = [cell.isoformat() if hasattr(cell, "isoformat") else cell for cell in cells]
        why = "; ".join(
            f"{one.pointer.lstrip('/')}: {one.text.say('th', one.values)} / {one.text.say('en', one.values)}"
            for one in faults
        )
        self._sheet.add([*shown, _RESULTS.get(state, self._ready), why, line])
