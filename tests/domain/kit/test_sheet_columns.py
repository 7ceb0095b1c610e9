"""Cells as the columns of a sheet store them, and headings by whatever name."""

import pytest

from saraban.kit.errors import Text
from saraban.kit.sheet_columns import CellKind, CellReader, RawCell, SheetColumn, match_headings, repeated_headings

COLUMNS = (
    SheetColumn("text", Text("ข้อความ", "Text"), longest=20, synonyms=("Drawing No",)),
    SheetColumn("day", Text("วันที่", "Day"), kind=CellKind.DAY),
    SheetColumn("number", Text("จำนวน", "Number"), kind=CellKind.NUMBER),
    SheetColumn("flag", Text("ใช้งาน", "In use"), kind=CellKind.FLAG),
    SheetColumn("choice", Text("ระดับ", "Level"), kind=CellKind.CHOICE, choices={"TO": Text("ถึง", "To")}),
    SheetColumn("code", Text("รหัส", "Code"), is_required=True),
    SheetColumn("lines", Text("คำอธิบาย", "Description"), kind=CellKind.LINES),
)


def read(key: str, raw: RawCell) -> tuple[str, list[str], str]:
    cells: list[RawCell] = [raw if column.key == key else "x" if column.key == "code" else "" for column in COLUMNS]
    row = CellReader(COLUMNS, range(len(COLUMNS))).read(7, cells)
    assert {fault.pointer for fault in row.faults} <= {f"/{key}"}
    messages = [fault.text.say("en", fault.values) for fault in row.faults]
    return row.cells[key], [fault.code for fault in row.faults], "".join(messages)


@pytest.mark.parametrize(
    ("key", "raw", "text"),
    [
        ("text", "แปลนพื้น \r\nชั้น 1\u00a0", "แปลนพื้น ชั้น 1"),
        ("lines", "แปลนพื้น \r\nชั้น 1", "แปลนพื้น\nชั้น 1"),
        ("text", "A\u200b-1\ufeff", "A-1"),
        ("text", ["number", "7.10", "7.1"], "7.10"),
        ("text", ["time", "1:50", "0.0763"], "1:50"),
        ("text", ["flag", "TRUE", "true"], "TRUE"),
        ("day", ["day", None, "2026-12-31"], "2026-12-31"),
        ("day", ["day", None, "2569-12-31"], "2026-12-31"),
        ("day", "31/12/2569", "2026-12-31"),
        ("number", ["number", None, "2567"], "2567"),
        ("number", "๑,๒๓๔.50", "1234.50"),
        ("flag", ["flag", "FALSE", "false"], "false"),
        ("flag", "ใช่", "true"),
        ("flag", "ไม่ใช่ / No", "false"),
        ("choice", "ถึง", "TO"),
        ("choice", "to", "TO"),
    ],
)
def test_stores(key: str, raw: RawCell, text: str) -> None:
    assert read(key, raw) == (text, [], "")


@pytest.mark.parametrize(
    ("key", "raw", "code", "message"),
    [
        ("text", "a\u0007b", "character", "Cell A7 contains the character U+0007 BELL"),
        ("text", "a\ue000b", "character", "U+E000"),
        ("text", "a" + "\u0301" * 40, "combining_marks", "combining marks"),
        ("text", "a" * 21, "too_long", "Cell A7 is longer than 20"),
        ("text", "#N/A", "error", "Cell A7 shows the error #N/A"),
        ("text", ["error", None, "#REF!"], "error", "#REF!"),
        ("text", ["formula", None, ""], "formula", "no saved result"),
        ("text", ["number", None, "0.5"], "number", "Cell A7 contains a number"),
        ("text", ["day", None, "2026-02-01"], "day", "contains a date"),
        ("text", ["time", None, "0.111"], "time", "contains a time"),
        ("day", "31/99/2569", "no_such_day", "Cell B7: “31/99/2569”. There is no such day"),
        ("day", ["number", "2568", "2568"], "malformed", "This must be a date"),
        ("day", ["day", None, ""], "day", "Cell B7"),
        ("number", "twelve", "malformed", "Cell C7: “twelve” is not a number"),
        ("number", ["day", None, "2026-02-01"], "day", "contains a date"),
        ("flag", "maybe", "unknown", "Cell D7"),
        ("choice", "elsewhere", "unknown", "Cell E7: “elsewhere” is not a choice"),
        ("code", " \u200b", "required", "Required"),
    ],
)
def test_names_the_cell_at_fault(key: str, raw: RawCell, code: str, message: str) -> None:
    _, codes, said = read(key, raw)

    assert codes == [code]
    assert message in said


@pytest.mark.parametrize(
    ("heading", "place"),
    [
        ("ข้อความ / Text", 0),
        ("TEXT", 0),
        ("DRAWING_NO.", 0),
        ("Drawing\nNo.", 0),
        ("หมายเลข (Drawing No.)", 0),
        ("Drawings", None),
        ("", None),
    ],
)
def test_recognizes_a_heading(heading: str, place: int | None) -> None:
    assert match_headings([column.names for column in COLUMNS[:1]], [heading, "Remarks"]) == [place]


def test_takes_a_column_for_one_field_only() -> None:
    names = [["drawingno"], ["no", "drawingno"]]

    assert match_headings(names, ["Drawing No", "Title", "No"]) == [0, 2]
    assert match_headings(names, ["Drawing No", "Title"]) == [0, None]


@pytest.mark.parametrize(
    ("headings", "repeated"),
    [
        (["Text", "Day", "Drawing No."], ["Text", "Drawing No."]),
        (["ข้อความ (Drawing No.)", "TEXT"], ["TEXT", "ข้อความ (Drawing No.)"]),
        (["Text", "text"], ["Text", "text"]),
        (["Text", "Number", "จำนวน / Number"], []),
        (["Drawing No. / Day", "Text"], []),
        (["Text", "Approved by / Drawing No.", "Text (old)", ""], []),
    ],
)
def test_names_two_headings_of_one_column(headings: list[str], repeated: list[str]) -> None:
    names = [column.names for column in COLUMNS]

    assert repeated_headings(names, headings, match_headings(names, headings)) == repeated
