"""The spreadsheets of an import: the template, the file that is read, the result."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from saraban.kit.errors import invalid
from saraban.kit.spreadsheets import read_rows
from saraban.kit.text import fold
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.service.legacy_import import REFUSED, THERE, Cells, SourceFile
from saraban.numbering.imports.service.rows import CheckedRow
from saraban.numbering.register.service.workbook import SheetWriter

MOST_BYTES = 20 * 1024 * 1024
MOST_LINES = 200_000
MOST_COLUMNS = 64  # a register may have columns of its own beside ours
_GOOD, _DONE = "นำเข้าได้ / can be imported", "นำเข้าแล้ว / imported"
_RESULTS = {THERE: "มีในทะเบียนแล้ว / already registered", REFUSED: "ไม่ผ่าน / rejected"}


def source_file(path: Path) -> SourceFile:
    """:raises Invalid: for a file that is too large"""
    if path.stat().st_size > MOST_BYTES:
        raise invalid(
            "/file", "too_large", "ไฟล์ใหญ่เกิน {most} MB", "The file is larger than {most} MB.", most=MOST_BYTES >> 20
        )
    with path.open("rb") as file:
        return SourceFile(path.name, hashlib.file_digest(file, "sha256").hexdigest())


def rows_of(path: Path) -> Iterator[Cells]:
    """
    Return the lines below the headings, each with its number in the file and its cells in the usual order.

    :raises Invalid: for a file that `read_rows` refuses, or that lacks a column
    """
    source_file(path)
    sheet = read_rows(path, columns=MOST_COLUMNS, rows=MOST_LINES + 1)
    places = _places(next(sheet, []))
    for line, row in enumerate(sheet, 2):
        if any(cell not in (None, "") for cell in row):
            yield line, [row[place] if place is not None and place < len(row) else None for place in places]


def _places(headings: Sequence[object]) -> list[int | None]:
    """Find the columns by their headings, in whatever order and language they stand."""
    found: dict[str, int] = {}
    for place, heading in enumerate(headings):
        found.setdefault(fold(str(heading or "")).strip().lower(), place)
    places: list[int | None] = []
    for column in COLUMNS:
        names = (column.title, column.key, column.heading.th, column.heading.en)
        at = next((found[name.lower()] for name in names if name.lower() in found), None)
        if at is None and column.needed:
            raise invalid(
                "/file", "column_missing", "ไม่มีคอลัมน์ {column}", "The column {column} is missing.", column=column.title
            )
        places.append(at)
    return places


def write_template(path: Path) -> None:
    """Write an empty sheet to fill in; its second sheet says what each column is."""
    with SheetWriter(path, [column.title for column in COLUMNS]) as sheet:
        rows = [
            (column.title, "ต้องกรอก / required" if column.needed else "", column.about.th, column.about.en)
            for column in COLUMNS
        ]
        sheet.explain("Columns", [("คอลัมน์ / Column", "", "คำอธิบาย", "Explanation"), *rows])


class ResultWorkbook:
    """
    The lines of an import again, each with what came of it.

    :param done: whether they were imported; otherwise it says what would come of them
    """

    def __init__(self, path: Path, *, done: bool = False) -> None:
        self._ready = _DONE if done else _GOOD
        titles = [column.title for column in COLUMNS]
        self._sheet = SheetWriter(path, [*titles, "ผล / Result", "เหตุผล / Reason", "แถว / Row"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sheet.__exit__()

    def add(self, read: CheckedRow, state: str) -> None:
        cells = [cell.isoformat() if hasattr(cell, "isoformat") else cell for cell in read.cells]
        why = "; ".join(
            f"{one.pointer.lstrip('/')}: {one.text.say('th', one.values)} / {one.text.say('en', one.values)}"
            for one in read.faults
        )
        self._sheet.add([*cells, _RESULTS.get(state, self._ready), why, read.line])
