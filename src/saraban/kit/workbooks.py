"""Write XLSX and CSV row by row; `kit.spreadsheets` reads them."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Self

from saraban.kit.errors import FieldProblem, Text
from saraban.kit.sheet_columns import CellKind, SheetColumn, SheetRow, column_letters
from saraban.kit.text import DANGEROUS

_OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "remove_timezone": True}
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")  # in the name of a sheet, which has at most 31 characters
_LAST_ROW = 200_000
_LONGEST_TEXT = 32_767
_REFUSED = "0.00E+00"  # the displayed text of this format is never certain, so an import refuses it


class SheetWriter:
    def __init__(self, path: Path, headings: Sequence[str], name: str = "Numbers") -> None:
        self._file = self._book = None
        self._row = 0
        if path.suffix.lower() == ".csv":
            self._file = path.open("w", encoding="utf-8-sig", newline="")
            self._csv = csv.writer(self._file)
        else:
            import xlsxwriter  # few processes write workbooks, so most save its memory

            self._book = xlsxwriter.Workbook(str(path), dict(_OPTIONS))
            self._dates = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            self._bold = self._book.add_format({"bold": True})
            self._format = cache(lambda code, add=self._book.add_format: add({"num_format": code}))
            self._sheet = self._book.add_worksheet(_FORBIDDEN.sub(" ", name)[:31].strip("' "))
            self._sheet.freeze_panes(1, 0)
            self._sheet.set_column(0, len(headings) - 1, 22)
        self.add(headings, bold=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._book is not None:
            from xlsxwriter.exceptions import FileCreateError

            try:
                self._book.close()
            except FileCreateError as error:
                raise error.args[0] from None  # the system's error, such as a full disk

    def explain(self, title: str, rows: Sequence[Sequence[str]]) -> None:
        if self._book is not None:
            sheet = self._book.add_worksheet(title)
            sheet.set_column(0, 3, 40)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row, self._bold if number == 0 else None)

    def offer(self, columns: Sequence[SheetColumn]) -> None:
        """Format columns as text, and add drop-down lists from a hidden sheet."""
        if self._book is None:
            return
        as_text = self._book.add_format({"num_format": "@"})
        lists: dict[int, list[str]] = {}
        for place, column in enumerate(columns):
            self._sheet.set_column(place, place, 22, as_text if column.kind == CellKind.TEXT else None)
            if column.options:
                letters = column_letters(len(lists))
                lists[place] = column.option_names
                source = f"=Lists!${letters}$1:${letters}${len(column.options)}"
                refusal = "information" if column.kind == CellKind.TEXT else "stop"  # a new code may be typed
                rule = {"validate": "list", "source": source, "error_type": refusal}
                self._sheet.data_validation(1, place, _LAST_ROW, place, rule)
        if lists:
            hidden = self._book.add_worksheet("Lists")
            hidden.hide()
            for row, names_of_row in enumerate(zip_longest(*lists.values())):
                hidden.write_row(row, 0, names_of_row)

    def add(self, cells: Sequence[object], *, bold: bool = False) -> None:
        if self._file is not None:
            self._csv.writerow([harmless(cell) for cell in cells])
            return
        for column, cell in enumerate(cells):
            if isinstance(cell, tuple):
                text, code = cell
                value = date.fromisoformat(text) if text[4:5] == "-" else float(text)
                self._sheet.write(self._row, column, value, self._format(code or _REFUSED))
            elif isinstance(cell, datetime):
                self._sheet.write_datetime(self._row, column, cell, self._dates)
            elif isinstance(cell, int | float):
                self._sheet.write_number(self._row, column, cell)
            elif cell is not None:
                text = str(cell)[:_LONGEST_TEXT]
                self._sheet.write_string(self._row, column, text, self._bold if bold else None)
        self._row += 1


def harmless(cell: object) -> object:
    """Prefix a CSV text that a spreadsheet program would read as a formula."""
    if isinstance(cell, tuple):
        return "#N/A"  # a CSV cannot keep the number's format
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(DANGEROUS) else cell


def csv_line(cells: Sequence[object]) -> bytes:
    text = StringIO(newline="")
    csv.writer(text).writerow([harmless(cell) for cell in cells])
    return text.getvalue().encode()


def write_template(path: Path, columns: Sequence[SheetColumn], name: str) -> None:
    with SheetWriter(path, [column.title for column in columns], name) as sheet:
        if any(column.example for column in columns):
            sheet.add([column.example for column in columns])
        rows = [  # with the dash no cell of this sheet matches a heading
            (
                f"{column.heading.th} – {column.heading.en}",
                "ต้องกรอก / required" if column.is_required else "",
                column.about.th,
                column.about.en,
            )
            for column in columns
        ]
        sheet.explain("Columns", [("คอลัมน์ / Column", "", "คำอธิบาย", "Explanation"), *rows])
        sheet.offer(columns)


def write_table(path: Path, columns: Sequence[SheetColumn], rows: Iterable[Sequence[object]], name: str) -> None:
    with SheetWriter(path, [column.title for column in columns], name) as sheet:
        for row in rows:
            sheet.add(row)
        sheet.offer(columns)


class ResultWorkbook(SheetWriter):
    """:param outcomes: texts by the `state` of `add_row`"""

    def __init__(self, path: Path, columns: Sequence[SheetColumn], outcomes: Mapping[str, Text]) -> None:
        self._keys, self._outcomes = [column.key for column in columns], outcomes
        titles = [column.title for column in columns]
        super().__init__(path, [*titles, "ผล / Result", "เหตุผล / Reason", "แถว / Row"], "Result")

    def add_row(self, row: SheetRow, state: str, faults: Sequence[FieldProblem]) -> None:
        outcome = self._outcomes[state]
        reasons = "; ".join(
            f"{fault.pointer.lstrip('/')}: {fault.text.say('th', fault.values)} / {fault.text.say('en', fault.values)}"
            for fault in faults
        )
        cells = [row.originals.get(key) or row.cells.get(key) or None for key in self._keys]
        self.add([*cells, f"{outcome.th} / {outcome.en}", reasons, row.number])
