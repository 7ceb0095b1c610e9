"""
Rows of a spreadsheet from outside, XLSX or CSV, read in a child process with limits; which columns there are is left to others.

A file of 1 KB can describe a table of 17 billion cells, which the library allocates at once. What dies of it is the child.
"""

import csv
import json
import os
import re
import resource
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from saraban.kit.errors import Invalid, invalid
from saraban.kit.text import DANGEROUS, FORMULA, check_marks

MEMORY = 1 << 30  # bytes of address space; 200,000 rows of 13 columns take 300 MB
# Processor time: seconds, and one more for so many rows; 200,000 rows take 6 to 10.
SECONDS, ROWS_PER_SECOND = 5, 10_000
_MOST_UNPACKED = 400 * 1024 * 1024
_LONGEST_ROW = 16 * 1024 * 1024
_NO_MEMORY = 3
# No part passes the next `<`, so that the time is linear in the length of what is read, whatever that is.
_CELL = re.compile(rb'<(?:\w++:)?c(?=\s)(?>[^<>]*?\sr="([A-Z]{1,7})([0-9]{1,9})")[^<>]*+(?<!/)>(?!</)')
_FORMULA = re.compile(_CELL.pattern + rb"<(?:\w++:)?f[\s/>]")


def read_rows(path: Path, *, columns: int, rows: int, formulas: bool = False) -> Iterator[list[object]]:
    """
    Yield the rows of a CSV, or of the first sheet of an XLSX, from the headings on.

    :param formulas: mark cells that have one: what was worked out of it comes as text after `FORMULA`
    :raises Invalid: at `/7/B` for a run of combining marks in that cell; at `/file`, for what is no spreadsheet, has something
        in a cell beyond `columns` and `rows`, or needs more memory or time than a spreadsheet of that size may
    """
    command = [sys.executable, "-I", "-m", __name__, str(path.resolve()), str(columns), str(rows), str(int(formulas))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, env={}) as child:  # noqa: S603  this very module
        said: Any = child.stdout
        try:
            count = 0
            while (line := said.readline(_LONGEST_ROW)).endswith(b"\n"):
                count += 1
                row = json.loads(line, object_hook=_value)
                if isinstance(row, str):
                    raise _outside(row, columns, rows)
                for place, cell in enumerate(row):
                    check_marks(str(cell), f"/{count}/{_letters(place)}")
                yield row
            if line:
                raise _too_much()
            code = child.wait()
        finally:
            child.kill()
    if code:
        raise _too_much() if code < 0 or code == _NO_MEMORY else unreadable()


def unreadable() -> Invalid:
    return invalid(
        "/file", "unreadable", "อ่านไฟล์ไม่ได้ ต้องเป็น XLSX หรือ CSV (UTF-8)", "The file must be XLSX, or CSV in UTF-8."
    )


def _too_much() -> Invalid:
    return invalid(
        "/file",
        "packed",
        "ไฟล์นี้ขยายแล้วใหญ่เกินไป หรือใช้เวลาอ่านนานเกินไป",
        "Unpacked, the file would be too large, or reading it takes too long.",
    )


def _outside(cell: str, columns: int, rows: int) -> Invalid:
    return invalid(
        "/file",
        "outside",
        "เซลล์ {cell} อยู่นอกตาราง อ่านได้ไม่เกิน {columns} คอลัมน์ และ {rows} แถว",
        "Cell {cell} lies outside the table: at most {columns} columns and {rows} rows are read.",
        cell=cell,
        columns=columns,
        rows=rows,
    )


def _value(tagged: dict[str, str]) -> date:
    return datetime.fromisoformat(tagged["datetime"]) if "datetime" in tagged else date.fromisoformat(tagged["date"])


# What follows runs in the child.


class _Outside(Exception):
    """Something stands in a cell beyond the bounds, which the message names."""


def _main(path: Path, columns: int, rows: int, *, formulas: bool) -> None:
    seconds = SECONDS + rows // ROWS_PER_SECOND
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        is_csv = path.suffix.lower() == ".csv"
        table = _csv(path) if is_csv else _xlsx(path, columns, rows, formulas=formulas)
        for row in _bounded(table, columns, rows):
            _say(row)
    except _Outside as error:
        _say(str(error))
    except MemoryError:
        sys.exit(_NO_MEMORY)


def _end_with_parent() -> None:
    os.read(0, 1)  # nothing is ever sent: it returns when whoever started this process has ended
    os._exit(1)


def _bounded(table: Iterator[Sequence[object]], columns: int, rows: int) -> Iterator[Sequence[object]]:
    for count, row in enumerate(table, 1):
        beyond = next((place for place, cell in enumerate(row[columns:], columns) if cell not in (None, "")), None)
        if beyond is not None or count > rows:
            raise _Outside(f"{_letters(beyond or 0)}{count}")
        yield row[:columns]


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what, default=_tagged) + "\n")


def _tagged(cell: object) -> object:
    return {type(cell).__name__: cell.isoformat()} if isinstance(cell, date) else str(cell)


def _letters(place: int) -> str:
    return (_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


def _csv(path: Path) -> Iterator[Sequence[object]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.reader(file, strict=True):
            yield [cell[1:] if cell[:1] == "'" and cell[1:].startswith(DANGEROUS) else cell for cell in row]


def _xlsx(path: Path, columns: int, rows: int, *, formulas: bool) -> Iterator[Sequence[object]]:
    from python_calamine import CalamineWorkbook

    with zipfile.ZipFile(path) as packed:
        if sum(one.file_size for one in packed.infolist()) > _MOST_UNPACKED:
            raise MemoryError
        sheet = packed.read(_first_sheet(packed))
        _look_for_far_cells(sheet, columns, rows)
        worked_out = {b"".join(one.groups()).decode() for one in _FORMULA.finditer(sheet)} if formulas else set()
        del sheet
    with CalamineWorkbook.from_path(str(path)) as book:
        for number, row in enumerate(book.get_sheet_by_index(0).iter_rows(), 1):
            if worked_out:
                yield [
                    f"{FORMULA}{cell}" if f"{_letters(at)}{number}" in worked_out else cell
                    for at, cell in enumerate(row)
                ]
            else:
                yield row


def _look_for_far_cells(sheet: bytes, columns: int, rows: int) -> None:
    """Name the cell before the library allocates everything up to it; what hides from this look meets the limits."""
    right = _letters(columns - 1).encode()
    for found in _CELL.finditer(sheet):
        column, row = found.groups()
        if int(row) > rows or (len(column), column) > (len(right), right):
            raise _Outside((column + row).decode())


def _first_sheet(packed: zipfile.ZipFile) -> str:
    book = ET.fromstring(packed.read("xl/workbook.xml"))  # noqa: S314  under the limits of this process
    links = ET.fromstring(packed.read("xl/_rels/workbook.xml.rels"))  # noqa: S314
    key = next(value for name, value in next(book.iterfind(".//{*}sheet")).items() if name.endswith("}id"))
    target = next(link.get("Target", "") for link in links if link.get("Id") == key)
    return target[1:] if target.startswith("/") else f"xl/{target}"


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), formulas=sys.argv[4] == "1")
