"""Spreadsheets in and out, XLSX and CSV: the template, the file that is imported, its result, the ledger."""

import csv
import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError

from saraban.kit.errors import invalid
from saraban.kit.spreadsheets import DANGEROUS, read_rows
from saraban.kit.text import fold
from saraban.numbering.domain.legacy import COLUMNS
from saraban.numbering.service.importing import REFUSED, THERE, Cells, SourceFile
from saraban.numbering.service.lines import CheckedRow

MOST_BYTES = 20 * 1024 * 1024
MOST_LINES = 200_000
MOST_COLUMNS = 64  # a register may have columns of its own beside ours
_OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "remove_timezone": True}
_GOOD, _DONE = "นำเข้าได้ / can be imported", "นำเข้าแล้ว / imported"
_RESULTS = {THERE: "มีในทะเบียนแล้ว / already registered", REFUSED: "ไม่ผ่าน / rejected"}


def source_of(path: Path) -> SourceFile:
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
    source_of(path)
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


class SheetWriter:
    """A sheet that is written row by row, to a path that ends in `.csv` or `.xlsx`."""

    def __init__(self, path: Path, headings: Sequence[str]) -> None:
        self._file = self._book = None
        self._row = 0
        if path.suffix.lower() == ".csv":
            self._file = path.open("w", encoding="utf-8-sig", newline="")
            self._csv = csv.writer(self._file)
        else:
            self._book = Workbook(str(path), dict(_OPTIONS))
            self._dates = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            self._bold = self._book.add_format({"bold": True})
            self._sheet = self._book.add_worksheet("Numbers")
            self._sheet.freeze_panes(1, 0)
            self._sheet.set_column(0, len(headings) - 1, 22)
        self._put(headings, bold=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._book is not None:
            try:
                self._book.close()
            except FileCreateError as error:
                raise error.args[0] from None  # what the system said, a full disk for example

    def add(self, cells: Sequence[object]) -> None:
        self._put(cells, bold=False)

    def explain(self, title: str, rows: Sequence[Sequence[str]]) -> None:
        """Add a second sheet; a CSV has none."""
        if self._book is not None:
            sheet = self._book.add_worksheet(title)
            sheet.set_column(0, 3, 40)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row, self._bold if number == 0 else None)

    def _put(self, cells: Sequence[object], *, bold: bool) -> None:
        if self._file is not None:
            self._csv.writerow([harmless(cell) for cell in cells])
            return
        for place, cell in enumerate(cells):
            self._write(place, cell, bold=bold)
        self._row += 1

    def _write(self, place: int, cell: Any, *, bold: bool) -> None:
        if isinstance(cell, datetime):
            self._sheet.write_datetime(self._row, place, cell, self._dates)
        elif isinstance(cell, int | float):
            self._sheet.write_number(self._row, place, cell)
        elif cell is not None:
            self._sheet.write_string(self._row, place, str(cell), self._bold if bold else None)


def harmless(cell: object) -> object:
    """Keep a spreadsheet from taking a text of a CSV for a formula."""
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(DANGEROUS) else cell


def template_to(path: Path) -> None:
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
