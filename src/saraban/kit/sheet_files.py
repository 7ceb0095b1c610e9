"""
Read the rows of a spreadsheet file, as a child process of `kit.spreadsheets` with limits.

It writes JSON lines: the table, then each row. A file of 1 KB can describe 17 billion cells; only this process dies
of it.
"""

import csv
import os
import posixpath
import re
import resource
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import orjson

from saraban.kit import number_formats
from saraban.kit.sheet_columns import (
    HEADING_ROWS,
    RawCell,
    column_letters,
    column_place,
    join_headings,
    match_headings,
    repeated_headings,
)
from saraban.kit.text import DANGEROUS, UTF_16, is_text

MEMORY = 1 << 30  # bytes of address space; 200,000 rows of 13 columns take half of it
# Processor time: seconds, and one more for so many rows; 200,000 rows take 10 to 15.
SECONDS, ROWS_PER_SECOND = 5, 8_000
NO_MEMORY = 3
_MOST_UNPACKED = 400 * 1024 * 1024
_CHUNK = 64 * 1024
_MERGE = re.compile(rb"""<(?:\w+:)?mergeCell\s+ref=["']([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})["']""")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_ODD_THAI = re.compile("(?<![ก-๎])[ัิ-ฺ็-๎]|[A-Za-z][ก-๛][A-Za-z]")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
TEXTS = (".csv", ".txt", ".tsv")
_SPREADSHEET = b"opendocument.spreadsheet"
_MOST_REPEATED = 100  # cells or blanks; further ones are beyond the columns that are read
_FIRST_SERIAL, _AFTER_LAST_SERIAL = 61, 2_958_466

Cells = dict[int, RawCell]
Rows = Iterator[tuple[int, Cells]]


class Problem(Exception):
    """The parent has the messages."""

    def __init__(self, code: str, **values: object) -> None:
        super().__init__(code)
        self.values = {"problem": code, **values}


class _Merge(NamedTuple):
    """Rows count from 1, places from 0."""

    left: int
    top: int
    right: int
    bottom: int


class _SourceSheet(NamedTuple):
    name: str
    rows: Callable[[], Rows]
    merges: Sequence[_Merge] = ()


class _Table(NamedTuple):
    sheet: _SourceSheet
    row: int
    places: list[int | None]
    ignored: list[str]


def main(path: Path, columns: int, rows: int, options: dict[str, Any]) -> None:
    seconds = SECONDS + rows // ROWS_PER_SECOND
    for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        resource.setrlimit(limit, (most, most))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        for line in _lines(path, columns, rows, options):
            sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    except Problem as problem:
        sys.stdout.buffer.write(orjson.dumps(problem.values) + b"\n")
    except MemoryError:
        sys.exit(NO_MEMORY)


def _end_with_parent() -> None:
    os.read(0, 1)  # the parent sends nothing, so this returns when it has ended
    os._exit(1)


def _lines(path: Path, columns: int, rows: int, options: dict[str, Any]) -> Iterator[object]:
    """:param options: `names` and `required` of the columns, and the `sheet`"""
    sheets = [sheet for sheet in _sheets(path, options["names"]) if options["sheet"] in {None, sheet.name}]
    table = _find_table(sheets, columns, options)
    yield {"row": table.row, "places": table.places, "ignored": table.ignored}
    sections = {merge.top: merge for merge in table.sheet.merges if merge.left < merge.right}
    for number, cells in _fill_merges(table.sheet, columns):
        beyond = next((place for place in sorted(cells) if place >= columns or number > rows), None)
        if beyond is not None:
            raise Problem("outside", cell=f"{column_letters(beyond)}{number}", columns=columns, rows=rows)
        if number > table.row:
            places = [place for place in table.places if place is not None]
            row = [cells.get(place, "") for place in places]
            if any(row):
                left, _, right, _ = sections.get(number, (0, 0, 0, 0))
                filled = [place for place in places if cells.get(place)]
                yield number, row, left <= min(filled) < max(filled) <= right


def _find_table(sheets: Sequence[_SourceSheet], columns: int, options: dict[str, Any]) -> _Table:
    """
    Return the only table whose headings include every required column.
    :raises Problem: for none, or several
    """
    required, tables, nearest = options["required"], [], (-1, 0)
    for sheet in sheets:
        candidates, above = [], [""] * columns
        for number, cells in takewhile(lambda row: row[0] <= HEADING_ROWS, _fill_merges(sheet, columns)):
            row_texts = [cell if isinstance(cell := cells.get(place, ""), str) else "" for place in range(columns)]
            nearby_merges = (merge for merge in sheet.merges if merge.top < number <= merge.bottom + 1)
            texts = join_headings(
                above, row_texts, [(merge.left, merge.right) for merge in nearby_merges if merge.left < merge.right]
            )
            above = row_texts
            places = match_headings(options["names"], texts)
            count = sum(place is not None for place in places)
            missing = [at for at, is_needed in enumerate(required) if is_needed and places[at] is None]
            if missing:
                nearest = max(nearest, (count, -missing[0]))
            else:
                ignored = [row_texts[at] or text for at, text in enumerate(texts) if text and at not in places]
                candidates.append((count, -number, _Table(sheet, number, places, [*dict.fromkeys(ignored)])))
        if candidates:
            tables.append(max(candidates)[-1])
    names = ", ".join(f"“{sheet.name}”" for sheet in [table.sheet for table in tables] or sheets if sheet.name)
    if not tables:
        raise Problem("column_missing", column=-nearest[1], sheets=names, rows=HEADING_ROWS)
    if len(tables) > 1:
        raise Problem("two_sheets", sheets=names)
    return _refuse_repeated(tables[0], columns, options["names"])


def _refuse_repeated(table: _Table, columns: int, names: Sequence[Sequence[str]]) -> _Table:
    """
    Return the table with its rows below the merged cells of its headings.
    :raises Problem: when two headings name one column
    """
    merges = [merge for merge in table.sheet.merges if merge.top <= table.row <= merge.bottom]
    cells = next(cells for number, cells in _fill_merges(table.sheet, columns) if number == table.row)
    texts = ["" if any(m.left < at <= m.right for m in merges) else str(cells.get(at, "")) for at in range(columns)]
    if repeated := repeated_headings(names, texts, table.places):
        raise Problem("two_headings", headings=", ".join(f"“{text}”" for text in repeated))
    return table._replace(row=max([table.row, *(merge.bottom for merge in merges if merge.left in table.places)]))


def _fill_merges(sheet: _SourceSheet, columns: int) -> Rows:
    """Copy the value of a merged range to each of its cells."""
    merges = sorted(sheet.merges, key=lambda merge: merge.top, reverse=True)
    active: list[tuple[_Merge, RawCell]] = []
    for number, cells in sheet.rows():
        if not cells:
            continue
        active = [(merge, value) for merge, value in active if merge.bottom >= number]
        row_cells = dict(cells)
        while merges and merges[-1].top <= number:
            merge = merges.pop()
            if merge.top == number and merge.left in row_cells:
                active.append((merge, row_cells[merge.left]))
        for merge, value in active:
            for place in range(merge.left, min(merge.right + 1, columns)):
                cells.setdefault(place, value)
        yield number, cells


def _sheets(path: Path, names: Sequence[Sequence[str]]) -> list[_SourceSheet]:
    """
    Return the visible sheets. The content decides the format, not the name.
    :raises Problem: when the file is no spreadsheet
    """
    with path.open("rb") as file:
        head = file.read(8)
    if head.startswith(b"PK"):
        packed = zipfile.ZipFile(path)
        if sum(part.file_size for part in packed.infolist()) > _MOST_UNPACKED:
            raise MemoryError
        parts = set(packed.namelist())
        is_open_document = "mimetype" in parts and _SPREADSHEET in packed.read("mimetype")
        sheets = _ods_sheets(packed) if is_open_document else _Workbook(packed).sheets()
    elif head == OLE:
        sheets = _xls_sheets(path)
    elif path.suffix.lower() in TEXTS:
        sheets = [_SourceSheet("", _text_rows(path, names))]
    else:
        raise Problem("unreadable")
    if not sheets:
        raise Problem("unreadable")
    return sheets


def _elements(packed: zipfile.ZipFile, part: str, *names: str) -> Iterator[ET.Element]:
    """Yield the elements with these names, and clear each."""
    with packed.open(part) as file:
        for _, element in ET.iterparse(file):  # noqa: S314  under the limits of this process
            if element.tag.endswith(names) and element.tag.rpartition("}")[2] in names:
                yield element
                element.clear()


def _attributes(element: ET.Element) -> dict[str, str]:
    return {name.rpartition("}")[2]: value for name, value in element.items()}


# Texts


def _text_rows(path: Path, names: Sequence[Sequence[str]]) -> Callable[[], Rows]:
    text = _decode_text(path.read_bytes())
    first = re.match(r"sep=(.)(?:\r\n?|\n)", text)
    if first:
        text = text[first.end() :]

    def rows(separator: str) -> Rows:
        lines = (match[0] for match in re.finditer(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text))  # no copy of the text
        number = 0
        try:
            for number, row in enumerate(csv.reader(lines, delimiter=separator, strict=True), 1):
                yield number, {at: _remove_guard(cell) for at, cell in enumerate(row) if cell}
        except csv.Error:
            raise Problem("quotes", row=number + 1) from None

    def headings(separator: str) -> tuple[int, int]:
        counts = [(0, 0)]
        with suppress(Problem):
            for number, cells in rows(separator):
                if number > HEADING_ROWS:
                    break
                texts = [str(cells.get(place, "")) for place in range(max(cells, default=-1) + 1)]
                counts.append((sum(at is not None for at in match_headings(names, texts)), len(texts)))
        return max(counts)

    separator = first[1] if first else max((",", ";", "\t", "|"), key=headings)
    return lambda: rows(separator)


def _remove_guard(cell: str) -> str:
    """Remove the prefix by which exports prevent formulas."""
    if cell.startswith('="') and cell.endswith('"'):
        return cell[2:-1].replace('""', '"')
    return cell[1:] if cell[0] == "'" and cell[1:].startswith(DANGEROUS) else cell


def _decode_text(content: bytes) -> str:
    if not is_text(content):
        raise Problem("unreadable")
    for encoding in ("utf-16",) if content.startswith(UTF_16) else ("utf-8-sig", "cp874"):
        with suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if encoding != "cp874" or not _ODD_THAI.search(text):
                return text
    raise Problem("encoding")


# XLS


def _xls_sheets(path: Path) -> list[_SourceSheet]:
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError:
        raise Problem("password") from None
    except calamine.CalamineError:
        raise Problem("unreadable") from None
    formats = {
        sheet_info.name: codes
        for sheet_info, codes in zip(book.sheets_metadata, number_formats.xls_formats(path), strict=True)
    }

    def sheet(name: str) -> _SourceSheet:
        table = book.get_sheet_by_name(name)
        merges = [
            _Merge(left, top + 1, right, bottom + 1) for (top, left), (bottom, right) in table.merged_cell_ranges or ()
        ]

        def rows() -> Rows:
            for number, row in enumerate(table.iter_rows(), 1):
                filled = (place for place, cell in enumerate(row) if cell not in {None, ""})
                codes = ((place, formats[name].get((number, place), "")) for place in filled)
                yield number, {place: number_formats.xls_cell(row[place], code) for place, code in codes}

        return _SourceSheet(name, rows, merges)

    visible = calamine.SheetVisibleEnum.Visible, calamine.SheetTypeEnum.WorkSheet
    return [
        sheet(sheet_info.name) for sheet_info in book.sheets_metadata if (sheet_info.visible, sheet_info.typ) == visible
    ]


# ODS


def _ods_sheets(packed: zipfile.ZipFile) -> list[_SourceSheet]:
    if b"encryption-data" in packed.read("META-INF/manifest.xml"):
        raise Problem("password")
    sheets: list[_SourceSheet] = []
    merges: list[_Merge] = []
    hidden = set()
    for element, values, table, number in _ods_elements(packed):
        if element.tag.endswith("}style") and any(_attributes(child).get("display") == "false" for child in element):
            hidden.add(values["name"])
        elif element.tag.endswith("}table") and values.get("style-name") not in hidden:
            sheets.append(_SourceSheet(values.get("name", ""), partial(_ods_rows, packed, table), merges))
        if not element.tag.endswith("}table-row"):
            merges = []
            continue
        for left, _, cell in _ods_cells(element):
            if "number-columns-spanned" in cell or "number-rows-spanned" in cell:
                right, bottom = (int(cell.get(f"number-{way}-spanned", 1)) - 1 for way in ("columns", "rows"))
                merges.append(_Merge(left, number, left + right, number + bottom))
    return sheets


def _ods_elements(packed: zipfile.ZipFile) -> Iterator[tuple[ET.Element, dict[str, str], int, int]]:
    """Yield styles, rows and tables: attributes, table key, row number. A table follows its rows."""
    table, number = 0, 1
    for element in _elements(packed, "content.xml", "style", "table-row", "table"):
        values = _attributes(element)
        yield element, values, table, number
        number += int(values.get("number-rows-repeated", 1))
        if not element.tag.endswith("}table-row"):
            table, number = table + 1, 1


def _ods_rows(packed: zipfile.ZipFile, wanted: int) -> Rows:
    for element, values, table, number in _ods_elements(packed):
        if table == wanted and element.tag.endswith("}table-row"):
            read = {
                at: cell
                for at, content, cell_values in _ods_cells(element)
                if (cell := _ods_cell(content, cell_values))
            }
            repeated = int(values.get("number-rows-repeated", 1)) if read else 0
            yield from ((number + more, dict(read)) for more in range(repeated))  # the reader stops at its last row


def _ods_cells(row: ET.Element) -> Iterator[tuple[int, ET.Element, dict[str, str]]]:
    place = 0
    for element in row:
        values = _attributes(element)
        repeated = int(values.get("number-columns-repeated", 1))
        has_content = len(element) or "value-type" in values or "formula" in values
        if has_content and element.tag.endswith("}table-cell"):
            yield from ((place + more, element, values) for more in range(min(repeated, _MOST_REPEATED)))
        place += repeated


def _ods_cell(element: ET.Element, values: dict[str, str]) -> RawCell:
    shown = "\n".join(_ods_text(child) for child in element if child.tag.endswith("}p"))
    kind = values.get("value-type", "formula" if "formula" in values and not shown else "string")
    if kind in {"float", "currency", "percentage"}:
        return ["number", shown, number_formats.plain_number(values["value"])]
    if kind == "date":
        return ["day", None, values["date-value"][:10], "yyyy-mm-dd"]
    if kind in {"time", "boolean"}:
        return ["time", shown, ""] if kind == "time" else ["flag", shown, values["boolean-value"]]
    return [kind, None, shown or "#N/A"] if kind in {"error", "formula"} else shown


def _ods_text(element: ET.Element) -> str:
    blanks = {"s": " " * min(int(_attributes(element).get("c", 1)), _MOST_REPEATED), "tab": "\t", "line-break": "\n"}
    text = blanks.get(element.tag.rpartition("}")[2], element.text or "")
    return text + "".join(_ods_text(child) + (child.tail or "") for child in element)


# XLSX and XLSM


class _Workbook:
    """Parts are found by relations: the main part need not be `xl/workbook.xml`."""

    def __init__(self, packed: zipfile.ZipFile) -> None:
        self._packed = packed
        main = next(target for _, kind, target in self._relations("") if kind == "officeDocument")
        self._links = self._relations(main)
        self._book = self._read(main)
        parts = {kind: target for _, kind, target in self._links}
        self._strings: list[str] = []
        if "sharedStrings" in parts:
            self._strings = [_text_of(element) for element in _elements(packed, parts["sharedStrings"], "si")]
        self._formats = self._number_formats(parts["styles"]) if "styles" in parts else []
        self._text_formats = {
            at: code for at, code in enumerate(self._formats) if number_formats.shown_text("x", code) != "x"
        }
        is_1904 = any(
            properties.get("date1904") in {"1", "true"} for properties in self._book.iterfind("{*}workbookPr")
        )
        self._first_day = date(1904, 1, 1) if is_1904 else date(1899, 12, 30)

    def sheets(self) -> list[_SourceSheet]:
        parts = {key: target for key, kind, target in self._links if kind == "worksheet"}
        visible_sheets = []
        for sheet in self._book.iterfind("{*}sheets/{*}sheet"):
            part = parts.get(_attributes(sheet).get("id", ""))
            if part is not None and sheet.get("state", "visible") == "visible":
                visible_sheets.append(
                    _SourceSheet(sheet.get("name", ""), partial(self._rows, part), list(self._merges(part)))
                )
        return visible_sheets

    def _read(self, part: str) -> ET.Element:
        return ET.fromstring(self._packed.read(part))  # noqa: S314  under the limits of this process

    def _relations(self, part: str) -> list[tuple[str, str, str]]:
        folder, name = posixpath.split(part)
        return [
            (
                link.get("Id", ""),
                link.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, link.get("Target", ""))).lstrip("/"),
            )
            for link in self._read(posixpath.join(folder, "_rels", f"{name}.rels"))
        ]

    def _number_formats(self, part: str) -> list[str]:
        styles = self._read(part)
        custom_formats = {
            style.get("numFmtId"): style.get("formatCode", "") for style in styles.iterfind("{*}numFmts/{*}numFmt")
        }
        keys = [style.get("numFmtId", "0") for style in styles.iterfind("{*}cellXfs/{*}xf")]
        return [custom_formats.get(key) or number_formats.BUILT_IN.get(int(key), "") for key in keys]

    def _merges(self, part: str) -> Iterator[_Merge]:
        """The file lists merged cells after all rows."""
        rest = b""
        with self._packed.open(part) as file:
            while chunk := file.read(_CHUNK):
                text = rest + chunk
                for left, top, right, bottom in _MERGE.findall(text):
                    yield _Merge(column_place(left.decode()), int(top), column_place(right.decode()), int(bottom))
                rest = text[max(text.rfind(b"<"), len(text) - 100) :]

    def _rows(self, part: str) -> Rows:
        number = 0
        for row in _elements(self._packed, part, "row"):
            number, place, cells = int(row.get("r") or number + 1), -1, {}
            for element in row:
                reference = element.get("r")
                place = column_place(reference.rstrip("0123456789")) if reference else place + 1
                if len(element) and (cell := self._cell(element)):
                    cells[place] = cell
            yield number, cells

    def _cell(self, element: ET.Element) -> RawCell:
        kind, content, style = element.get("t", "n"), element[-1], int(element.get("s", 0))
        text, name = content.text or "", content.tag.rpartition("}")[2]
        if element[0].tag.endswith("}f") and (name == "f" or (kind == "n" and not text)):
            return ["formula", None, "#N/A"]
        if kind == "n" and text:
            return self._number(text, style)
        if kind == "b":
            return ["flag", *(("TRUE", "true") if text in {"1", "true"} else ("FALSE", "false"))]
        if kind in {"e", "d"}:
            return ["error", None, text] if kind == "e" else ["day", None, text[:10]]
        text = self._strings[int(text)] if kind == "s" else _text_of(content) if name == "is" else _unescape(text)
        return (
            number_formats.text_cell(text, self._text_formats[style]) if text and style in self._text_formats else text
        )

    def _number(self, text: str, style: int) -> RawCell:
        code = self._formats[style] if style < len(self._formats) else "General"
        kind, value = number_formats.kind_of(code), number_formats.plain_number(text)
        if kind == number_formats.NumberKind.DAY:
            serial = float(text)  # programs do not agree on the first two months of 1900
            is_day = _FIRST_SERIAL <= serial < _AFTER_LAST_SERIAL
            value = (self._first_day + timedelta(days=int(serial))).isoformat() if is_day else ""
        return [kind, number_formats.shown_number(text, code), value, code, number_formats.plain_number(text)]


def _text_of(element: ET.Element) -> str:
    """Join the runs of a string, without its phonetic guide."""
    runs = [run for child in element for run in (child if child.tag.endswith("}r") else [child])]
    return _unescape("".join(run.text or "" for run in runs if run.tag.endswith("}t")))


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), orjson.loads(sys.argv[4]))
