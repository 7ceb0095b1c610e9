"""
Read spreadsheet files, in a child process with limits, and pasted rows.

    columns = (SheetColumn("code", Text("รหัส", "Code"), is_required=True), SheetColumn("from", Text("วันแรก", "From"), kind=DAY))
    for row in read_table(path, columns):  # or read_pasted(text, columns)
        row.number, row.cells["code"], row.faults
"""

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from saraban.kit import sheet_files
from saraban.kit.errors import Invalid, Text, invalid
from saraban.kit.sheet_columns import IGNORED, CellReader, SheetColumn, SheetRow, clean_text, match_headings, read_cell
from saraban.kit.text import is_text

SUFFIXES: Final = (".xlsx", ".xlsm", ".xls", ".ods", *sheet_files.TEXTS)
MOST_ROWS: Final = 200_000
MOST_COLUMNS: Final = 64  # users add their own columns
_SNIFFED = 4096
# A quoted cell ends at the next single quotation mark; in `"Best" Co.` the marks belong to the text.
_PASTED: Final = re.compile(r'(?:"((?:[^"\t]++|"")*+)"(?=[\t\r\n]|\Z)|([^\t\r\n]*))(\t|\r?\n|\r|\Z)')
_LONGEST_ROW = 16 * 1024 * 1024
_KINDS: Final = Text("อ่านไฟล์ไม่ได้ ต้องเป็น XLSX, XLSM, XLS, ODS หรือ CSV", "The file must be XLSX, XLSM, XLS, ODS or CSV.")
_PROBLEMS: Final = {
    "unreadable": _KINDS,
    "packed": Text(
        "ไฟล์นี้ขยายแล้วใหญ่เกินไป หรือใช้เวลาอ่านนานเกินไป",
        "Unpacked, the file would be too large, or reading it takes too long.",
    ),
    "outside": Text(
        "เซลล์ {cell} อยู่นอกตาราง อ่านได้ไม่เกิน {columns} คอลัมน์ และ {rows} แถว",
        "Cell {cell} lies outside the table: at most {columns} columns and {rows} rows are read.",
    ),
    "password": Text("ไฟล์นี้มีรหัสผ่าน ให้บันทึกโดยไม่ใส่รหัสผ่าน", "The file has a password. Save it without one."),
    "encoding": Text(
        "ไม่ทราบรหัสอักขระของไฟล์ ให้บันทึกเป็น CSV UTF-8", "The file's character encoding is unknown. Save it as CSV UTF-8."
    ),
    "column_missing": Text(
        "ไม่มีคอลัมน์ {column} ค้นหาหัวตารางใน {rows} แถวแรกของ {sheets}",
        "The column {column} is missing. The headings were looked for in the first {rows} rows of {sheets}.",
    ),
    "two_headings": Text(
        "หัวตารางเหล่านี้มีความหมายเดียวกัน: {headings} ให้เหลือหัวเดียว หรือเปลี่ยนชื่อหัวอื่น",
        "These headings mean the same: {headings}. Keep one of them, or rename the others.",
    ),
    "quotes": Text(
        "เครื่องหมายคำพูดในแถว {row} ไม่ถูกต้อง", "Row {row} has a quotation mark that is not closed or not doubled."
    ),
    "two_sheets": Text(
        "มีตารางอยู่หลายแผ่นงาน: {sheets} ให้ระบุชื่อแผ่นงานที่ต้องการ หรือซ่อนแผ่นอื่น",
        "Several sheets have these headings: {sheets}. Name the right sheet, or hide the others.",
    ),
}
_RUNNING_NUMBERS: Final = (
    "คอลัมน์แรกดูเหมือนลำดับแถว ให้วางพร้อมหัวตาราง หรือวางโดยไม่มีคอลัมน์นี้",
    "The first column seems to count the rows. Paste the headings, too, or leave this column out.",
)
_THE_FILE: Final = Text("ไฟล์", "the file")


def read_table(
    path: Path, columns: Sequence[SheetColumn], *, most_rows: int = MOST_ROWS, sheet: str | None = None
) -> Iterator[SheetRow]:
    """
    Find the table of a file by its headings. It blocks: call it in a thread.
    :param sheet: the only sheet to read
    :returns: rows that are read lazily; iterating raises `Invalid` at `/file` for a cell beyond the limits
    :raises Invalid: at `/file`, for a file that is no spreadsheet, lacks a required column, has two matching sheets, or
        exceeds the limits of cells, memory or time
    """
    names = {"names": [column.names for column in columns], "required": [column.is_required for column in columns]}
    lines = _child_lines(path, MOST_COLUMNS, most_rows + 1, {**names, "sheet": sheet}, columns)
    head: Any = next(lines)
    return _read_rows(columns, head["row"], head["places"], lines, head["ignored"])


def read_pasted(text: str, columns: Sequence[SheetColumn]) -> Iterator[SheetRow]:
    """
    Read pasted rows; without headings the cells have the order of the columns.
    :raises Invalid: at `/pasted`, when the first column counts the rows
    """
    table: list[list[str]] = [[]]
    for quoted, plain, end in _PASTED.findall(text):
        table[-1].append(quoted.replace('""', '"') or plain)
        if not end:
            break
        table += [[]] if end != "\t" else []
    places = match_headings([column.names for column in columns], table[0] if table else [])
    has_headings = not any(column.is_required and at is None for column, at in zip(columns, places, strict=True))
    if not has_headings:
        if [row[0].strip() for row in table[:2]] == ["1", "2"]:
            raise invalid("/pasted", "running_numbers", *_RUNNING_NUMBERS)
        places = list(range(min(len(columns), max(map(len, table), default=0))))
        places += [None] * (len(columns) - len(places))
    at = [place for place in places if place is not None]
    ignored = [cell for place, cell in enumerate(table[0]) if has_headings and cell and place not in places]
    lines = (
        (number, [row[place] if place < len(row) else "" for place in at])
        for number, row in enumerate(table, 1)
        if number > has_headings and any(map(str.strip, row))
    )
    return _read_rows(columns, int(has_headings), places, lines, ignored)


def _read_rows(
    columns: Sequence[SheetColumn],
    heading_row: int,
    places: Sequence[int | None],
    lines: Iterator[Any],
    ignored: Sequence[str],
) -> Iterator[SheetRow]:
    present = [column for column, place in zip(columns, places, strict=True) if place is not None]
    reader = CellReader(present, [place for place in places if place is not None])
    example = {column.key: read_cell(column, column.example)[0] for column in present}
    if ignored:
        titles = ", ".join(f"“{clean_text(heading)[0][:100]}”" for heading in ignored)
        yield reader.leave_out(heading_row, IGNORED, columns=titles)
    for number, cells, *section in lines:
        row = reader.read(number, cells, is_section=any(section))
        # Skip the example row of a template, also if the sheet lacks some columns.
        if any(row.cells.values()) and (row.cells != example or not any(example.values())):
            yield row


def is_spreadsheet(file: BinaryIO, suffix: str) -> bool:
    """Check the first bytes only."""
    file.seek(0)
    head = file.read(_SNIFFED)
    if head.startswith(b"PK") and zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as packed:
            return any(name.startswith("xl/") or name == "content.xml" for name in packed.namelist())
    return head.startswith(sheet_files.OLE) or (suffix in sheet_files.TEXTS and is_text(head))


def unreadable() -> Invalid:
    return _problem("unreadable")


def _problem(code: str, columns: Sequence[SheetColumn] = (), /, **values: Any) -> Invalid:
    text = _PROBLEMS[code]
    if "column" in values:
        values["column"] = columns[values["column"]].title
    if values.get("sheets") == "":
        text = Text(text.th.replace("{sheets}", _THE_FILE.th), text.en.replace("{sheets}", _THE_FILE.en))
    return invalid("/file", code, text.th, text.en, **values)


def _child_lines(
    path: Path, columns: int, rows: int, options: dict[str, object], sheet_columns: Sequence[SheetColumn]
) -> Iterator[Any]:
    arguments = [str(path.resolve()), str(columns), str(rows), orjson.dumps(options).decode()]
    command = [sys.executable, "-I", "-m", sheet_files.__name__, *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, env={}) as child:  # noqa: S603  a module of this package
        output: Any = child.stdout
        try:
            while (line := output.readline(_LONGEST_ROW)).endswith(b"\n"):
                message = orjson.loads(line)
                if isinstance(message, dict) and "problem" in message:
                    raise _problem(message.pop("problem"), sheet_columns, **message)
                yield message
            if line:
                raise _problem("packed")
            code = child.wait()
        finally:
            child.kill()
    if code:
        raise _problem("packed" if code < 0 or code == sheet_files.NO_MEMORY else "unreadable")
