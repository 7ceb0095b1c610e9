"""Columns of a spreadsheet: match headings, and convert cells to texts or faults, without I/O."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache, reduce
from types import MappingProxyType
from typing import Final

from saraban.kit.dates import read_date
from saraban.kit.errors import REQUIRED, DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.text import (
    INVISIBLE,
    MOST_MARKS,
    TOO_MANY_MARKS,
    ascii_digits,
    control_character,
    fold_bounded,
    has_mark_run,
)

# A text, or: kind, displayed text if certain, plain value, format, stored number.
RawCell = str | Sequence[str | None]
_NO_TEXT: Final = Text("", "")
_NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
Fault = tuple[str, Text, str]  # code, text, value
HEADING_ROWS: Final = 20
_LONGEST_TEXT: Final = 32_767  # of a cell in a spreadsheet program
_LONGEST_HEADING: Final = 200
_MEMORY: Final = 4096  # cells of each column that need not be read again


class CellKind(StrEnum):
    """Format of a column's texts: a day becomes 2026-12-31, a flag `true` or `false`, a choice its key."""

    TEXT = "text"
    LINES = "lines"
    DAY = "day"
    NUMBER = "number"
    FLAG = "flag"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """
    A column, found by its key, its Thai or English name, both names, or a synonym.
    :param is_required: every sheet has the column, and every row a text in it
    :param synonyms: headings of other programs; case, blanks and punctuation do not count
    :param choices: names by key; `aliases` are keys by further names
    :param example: for the template
    """

    key: str
    heading: Text
    about: Text = _NO_TEXT
    longest: int = 255
    is_required: bool = False
    kind: CellKind = CellKind.TEXT
    synonyms: tuple[str, ...] = ()
    choices: Mapping[str, Text] = field(default_factory=dict, hash=False)
    aliases: Mapping[str, str] = field(default_factory=dict, hash=False)
    example: str = ""

    @property
    def title(self) -> str:
        return f"{self.heading.th} / {self.heading.en}"

    @property
    def options(self) -> Mapping[str, Text]:
        return _YES_NO if self.kind == CellKind.FLAG else self.choices

    @property
    def option_names(self) -> list[str]:
        return [" / ".join(dict.fromkeys((name.th, name.en))) for name in self.options.values()]

    @property
    def names(self) -> list[str]:
        names = (self.title, self.key, self.heading.th, self.heading.en, *self.synonyms)
        return [normalize_heading(name) for name in names]


@dataclass(frozen=True, slots=True)
class SheetRow:
    """
    A non-empty row below the headings.
    :param number: row in the file, from 1
    :param cells: by key of the columns present; an empty cell is an empty text
    :param faults: at `/key`; each text names the cell
    :param originals: refused numbers and days, with their formats
    """

    number: int
    cells: Mapping[str, str]
    faults: tuple[FieldProblem, ...] = ()
    originals: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def is_left_out(self) -> bool:
        """Whether the row is a section title, a total or a heading; its fault says so."""
        return any(fault.code == _LEFT_OUT for fault in self.faults)


def at_column(fault: FieldProblem, columns: Mapping[str, str], otherwise: str | None = None) -> FieldProblem:
    """
    Replace the API field of a fault by the sheet's column.
    :param columns: by field; other fields map to `otherwise`, or keep their name
    """
    name = fault.pointer.rpartition("/")[2]
    return replace(fault, pointer=f"/{columns.get(name, otherwise or name)}")


class RowFaults:
    """The first fault of each cell, for sheets that are imported completely or not at all."""

    def __init__(self) -> None:
        self._faults: dict[str, FieldProblem] = {}

    def __iter__(self) -> Iterator[FieldProblem]:
        return iter(sorted(self._faults.values(), key=lambda fault: int(fault.pointer.split("/")[1])))

    def add(self, line: int, *faults: FieldProblem) -> None:
        for fault in faults:
            at = replace(fault, pointer=f"/{line}{fault.pointer}")
            self._faults.setdefault(at.pointer, at)

    @contextmanager
    def at(self, line: int, columns: Mapping[str, str] = _NO_NAMES) -> Iterator[None]:
        """Record the errors of a row, and continue."""
        try:
            yield
        except DomainError as error:
            if not error.fields or error.kind not in {ErrorKind.INVALID, ErrorKind.CONFLICT}:
                raise
            self.add(line, *(at_column(fault, columns) for fault in error.fields))

    def require_none(self, most: int | None = None) -> None:
        """:raises Invalid: with the first `most` faults"""
        if self._faults:
            raise Invalid("The rows have faults.", fields=list(self)[:most])


_YES_NO: Final = {"true": Text("ใช่", "Yes"), "false": Text("ไม่ใช่", "No")}
_PUNCTUATION: Final = re.compile(r"[\s!-/:-@\[-`{-~\u200b-\u200f\u2060\ufeff]+")
_LEFT_OUT: Final = "left_out"
_NO_RECORD: Final = Text(
    "แถวนี้เป็นชื่อหมวด ยอดรวม หรือหัวตารางที่ซ้ำ จึงไม่นำเข้า",
    "This row is a section title, a total or a repeated heading. It is left out.",
)
IGNORED: Final = Text("ไม่นำเข้าคอลัมน์: {columns}", "Columns that are not imported: {columns}.")
_TOTAL: Final = re.compile(r"(?:(?:ยอด)?รวม(?:ทั้งสิ้น|ทั้งหมด)?|(?:grand |sub-?)?total)[\s:=]*(?:\d.*)?", re.IGNORECASE)
_KEPT: Final = ("number", "day", "time")  # a result file repeats these unchanged, so an import refuses them again
_LOST: Final = "\ufffd"  # replaces a character that cannot be shown, and is refused itself
_BREAKS: Final = re.compile(r"[\t\n\v\f\r\u0085\u2028\u2029]+")
# fmt: off
_VAGUE: Final = {"date", "description", "name", "no", "number", "ที่", "รายการ", "วันที่"}
_ERRORS: Final = {
    "#N/A", "#REF!", "#DIV/0!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA",
}
_CONTROLS: Final = (
    "NULL", "START OF HEADING", "START OF TEXT", "END OF TEXT", "END OF TRANSMISSION", "ENQUIRY", "ACKNOWLEDGE", "BELL",
    "BACKSPACE", "TAB", "LINE FEED", "LINE TABULATION", "FORM FEED", "CARRIAGE RETURN", "SHIFT OUT", "SHIFT IN",
    "DATA LINK ESCAPE", "DEVICE CONTROL ONE", "DEVICE CONTROL TWO", "DEVICE CONTROL THREE", "DEVICE CONTROL FOUR",
    "NEGATIVE ACKNOWLEDGE", "SYNCHRONOUS IDLE", "END OF TRANSMISSION BLOCK", "CANCEL", "END OF MEDIUM", "SUBSTITUTE",
    "ESCAPE", "FILE SEPARATOR", "GROUP SEPARATOR", "RECORD SEPARATOR", "UNIT SEPARATOR",
)
# fmt: on
_FLAGS: Final = {
    **dict.fromkeys(("y", "1", "x", "✓", "จริง"), "true"),
    **dict.fromkeys(("n", "0", "-", "ไม่", "เท็จ"), "false"),
}
_ZEROS: Final = re.compile(r"\.0+$")
_NUMBER: Final = re.compile(r"-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_CHARACTER: Final = Text(
    "เซลล์ {cell} มีอักขระที่ใช้ไม่ได้ {value}", "Cell {cell} contains the character {value}, which cannot be used."
)
_NO_NUMBER: Final = Text("เซลล์ {cell}: “{value}” ไม่ใช่ตัวเลข", "Cell {cell}: “{value}” is not a number.")
_NO_CHOICE: Final = Text(
    "เซลล์ {cell}: “{value}” ไม่ใช่ตัวเลือก เลือกจาก {choices}",
    "Cell {cell}: “{value}” is not a choice. Choose from: {choices}.",
)
_TOO_LONG: Final = Text("เซลล์ {cell} ยาวเกิน {value} ตัวอักษร", "Cell {cell} is longer than {value} characters.")
_NOT_SHOWN: Final = {
    "number": Text(
        "เซลล์ {cell} เป็นตัวเลขที่ไม่ทราบว่าแสดงอย่างไร ให้จัดรูปแบบเซลล์เป็นข้อความแล้วพิมพ์ใหม่",
        "Cell {cell} contains a number whose displayed text is unknown. Format the cell as text and type it again.",
    ),
    "day": Text(
        "เซลล์ {cell} เป็นวันที่ ไม่ใช่ข้อความ ให้จัดรูปแบบเซลล์เป็นข้อความแล้วพิมพ์ใหม่",
        "Cell {cell} contains a date instead of a text. Format the cell as text and type it again.",
    ),
    "time": Text(
        "เซลล์ {cell} เป็นเวลา ไม่ใช่ข้อความ ให้จัดรูปแบบเซลล์เป็นข้อความแล้วพิมพ์ใหม่",
        "Cell {cell} contains a time instead of a text. Format the cell as text and type it again.",
    ),
    "error": Text(
        "เซลล์ {cell} แสดงข้อผิดพลาด {value} ให้แก้สูตรหรือพิมพ์ค่า",
        "Cell {cell} shows the error {value}. Correct its formula, or type the value.",
    ),
    "formula": Text(
        "สูตรในเซลล์ {cell} ไม่มีผลลัพธ์ที่บันทึกไว้ ให้เปิดไฟล์ในโปรแกรมตารางคำนวณแล้วบันทึก",
        "The formula in cell {cell} has no saved result. Open the file in a spreadsheet program and save it.",
    ),
}


def normalize_heading(text: str) -> str:
    """`Drawing No.` and `DRAWING_NO` have the same result."""
    return _PUNCTUATION.sub("", fold_bounded(text).casefold()) if not has_mark_run(text) else ""


def match_headings(names: Sequence[Sequence[str]], cells: Sequence[str]) -> list[int | None]:
    """
    Return the place of each column in a row of headings.

    A heading may contain two names, as in `เลขที่แบบ (Drawing No.)`.
    :param names: normalized, in order of preference
    """
    known_names = {name for column in names for name in column}
    matched: list[int | None] = [None] * len(names)
    # A known heading has no parts: `Title (English)` is not `Title`.
    divisible = ["" if normalize_heading(cell[:_LONGEST_TEXT]) in known_names else cell for cell in cells]
    for read, texts in ((_whole_headings, cells), (_parts_of_heading, divisible)):
        places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            for name in filter(None, map(normalize_heading, read(text))):
                places.setdefault(name, []).append(place)
        for at, column in enumerate(names):
            if matched[at] is None:
                free = (place for name in column for place in places.get(name, ()) if place not in matched)
                matched[at] = next(free, None)
    return matched


def join_headings(above: Sequence[str], below: Sequence[str], wide: Sequence[tuple[int, int]]) -> list[str]:
    """Join two heading rows; an upper heading continues below in the `wide` ranges."""
    return [
        f"{upper}\n{text}" if any(left <= place <= right for left, right in wide) else text or upper * bool(wide)
        for place, (upper, text) in enumerate(zip(above, below, strict=True))
    ]


def _whole_headings(cell: str) -> list[str]:
    """Return the heading, and each name above combined with the last line: `Title / ชื่อ` above `Thai`."""
    above, _, below = cell[:_LONGEST_HEADING].rpartition("\n")
    return [cell[:_LONGEST_TEXT], *(part + below for part in _parts_of_heading(above))]


def _parts_of_heading(cell: str) -> list[str]:
    return re.split(r"[/\n()|]", cell[:_LONGEST_HEADING])


@lru_cache(_MEMORY)
def _names_in(cell: str) -> frozenset[str]:
    return frozenset(map(normalize_heading, (*_whole_headings(cell), *_parts_of_heading(cell))))


def repeated_headings(names: Sequence[Sequence[str]], cells: Sequence[str], places: Sequence[int | None]) -> list[str]:
    """Return the headings of the first column that has several, except vague ones."""
    rest = [cell for place, cell in enumerate(cells) if place not in places]
    others = [(cell, {*map(normalize_heading, _parts_of_heading(cell))} - {""}) for cell in rest]
    for column, taken in zip(names, places, strict=True):
        same = [cell for cell, parts in others if parts and parts <= {*column} - _VAGUE]
        if taken is not None and same:
            return [cells[taken], *same]
    return []


def clean_text(text: str, separator: str = " ") -> tuple[str, Fault | None]:
    """Return the text to store and its fault; `separator` joins its lines."""
    if text.isascii() and text.isprintable():
        return text.strip(), None
    if has_mark_run(text):
        return text[:MOST_MARKS] + _LOST, ("combining_marks", TOO_MANY_MARKS, "")
    lines = _BREAKS.split(INVISIBLE.sub("", text).replace("\u00a0", " "))
    text = fold_bounded(separator.join(line.strip() for line in lines)).strip()
    position = control_character(text, multiline=separator == "\n")
    if position is None and _LOST in text:
        position = text.index(_LOST)
    if position is None:
        return text, None
    invalid_character = text[position]
    name = (
        _CONTROLS[ord(invalid_character)]
        if ord(invalid_character) < len(_CONTROLS)
        else unicodedata.name(invalid_character, "")
    )
    visible = "".join(
        _LOST if unicodedata.category(character) in {"Cc", "Cs", "Cn"} else character for character in text
    )
    return visible, ("character", _CHARACTER, f"U+{ord(invalid_character):04X} {name}".strip())


class CellReader:
    """Converts cells, and caches texts that many rows share."""

    def __init__(self, columns: Sequence[SheetColumn], places: Sequence[int]) -> None:
        self._at = next((at for at, column in enumerate(columns) if column.is_required), 0)
        self._first = columns[self._at].key
        self._names = [column.names for column in columns]
        self._beginnings = {name[:2] for name in self._names[self._at]}
        caches: list[dict[str, tuple[str, Fault | None]]] = [{} for _ in columns]
        self._columns = [*zip(columns, map(column_letters, places), caches, strict=True)]

    def read(self, number: int, raw_cells: Iterable[RawCell], *, is_section: bool = False) -> SheetRow:
        """:param is_section: the row consists of one merged range"""
        cells, faults, originals = {}, [], {}
        raw_cells = list(raw_cells)
        for (column, letters, known_texts), raw in zip(self._columns, raw_cells, strict=True):
            result = known_texts.get(raw) if isinstance(raw, str) else None
            if result is None:
                result = read_cell(column, raw)
                if isinstance(raw, str) and len(known_texts) < _MEMORY:
                    known_texts[raw] = result
            cells[column.key], fault = result
            if fault is not None:
                code, text, value = fault
                if not isinstance(raw, str) and len(raw) > len(fault) and code in _KEPT:
                    originals[column.key] = str(raw[2] or raw[-1]), str(raw[3])
                choices = ", ".join(column.option_names)
                values = {"cell": f"{letters}{number}", "value": value, "most": MOST_MARKS, "choices": choices}
                faults.append(FieldProblem(f"/{column.key}", code, text, values))
        filled = [text for text in cells.values() if text]
        is_total = bool(filled) and _TOTAL.fullmatch(filled[0]) and not any(text[0].isalpha() for text in filled[1:])
        if is_section or is_total or self._repeats_headings(raw_cells):
            return self.leave_out(number, _NO_RECORD, filled[0])
        return SheetRow(number, cells, tuple(faults), originals)

    def leave_out(self, number: int, reason: Text, cell: str = "", **values: object) -> SheetRow:
        cells = {column.key: "" for column, *_ in self._columns} | {self._first: cell}
        return SheetRow(number, cells, (FieldProblem(f"/{self._first}", _LEFT_OUT, reason, values),))

    def _repeats_headings(self, raw_cells: Sequence[RawCell]) -> bool:
        texts = [raw if isinstance(raw, str) else "" for raw in raw_cells]
        if normalize_heading(texts[self._at][:_LONGEST_HEADING])[:2] not in self._beginnings:
            return False
        named = (_names_in(text[:_LONGEST_HEADING]) for text in texts)
        if sum(not names.isdisjoint(column_names) for names, column_names in zip(named, self._names, strict=True)) < 2:
            return False  # cheap check: many numbers begin like their heading
        places = match_headings(self._names, texts)
        return sum(place == at for at, place in enumerate(places)) > 1


def read_cell(column: SheetColumn, raw: RawCell) -> tuple[str, Fault | None]:
    """Return the text to store, or the cell's content and its fault."""
    if isinstance(raw, str):
        text, fault = clean_text(raw[: _LONGEST_TEXT + 1], "\n" if column.kind == CellKind.LINES else " ")
        if text in _ERRORS:
            fault = ("error", _NOT_SHOWN["error"], text)
    else:
        kind, shown, value = raw[:3]
        is_value = kind in {column.kind, "flag"} and bool(value)
        text = str((value if shown is None or (is_value and kind != "flag") else shown) or "")
        fault = None if is_value or shown is not None else (str(kind), _NOT_SHOWN[str(kind)], text)
    if fault is None and text and column.kind not in {CellKind.TEXT, CellKind.LINES}:
        text, fault = _convert_text(column, text)
    if fault is None and not text and column.is_required:
        fault = ("required", REQUIRED, "")
    if fault is None and len(text) > column.longest:
        fault = ("too_long", _TOO_LONG, str(column.longest))
    return text, fault


def _convert_text(column: SheetColumn, text: str) -> tuple[str, Fault | None]:
    if column.kind == CellKind.DAY:
        try:
            return read_date(text).isoformat(), None
        except Invalid as error:
            (problem,) = error.fields
            message = Text(
                f"เซลล์ {{cell}}: “{{value}}” {problem.text.th}", f"Cell {{cell}}: “{{value}}”. {problem.text.en}"
            )
            return text, (problem.code, message, text)
    if column.kind == CellKind.NUMBER:
        figures = ascii_digits(text)
        is_number = _NUMBER.fullmatch(figures)
        return (
            (_ZEROS.sub("", figures.replace(",", "")), None) if is_number else (text, ("malformed", _NO_NUMBER, text))
        )
    keys_by_name = {
        word.casefold(): key
        for key, name in column.options.items()
        for word in (key, name.th, name.en, f"{name.th} / {name.en}")
    }
    key = {**(_FLAGS if column.kind == CellKind.FLAG else column.aliases), **keys_by_name}.get(text.casefold())
    return (text, ("unknown", _NO_CHOICE, text)) if key is None else (key, None)


def column_letters(place: int) -> str:
    return (column_letters(place // 26 - 1) if place >= 26 else "") + chr(ord("A") + place % 26)


@cache
def column_place(letters: str) -> int:
    return reduce(lambda place, letter: place * 26 + ord(letter) - ord("A") + 1, letters, 0) - 1
