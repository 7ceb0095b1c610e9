"""Spreadsheets from outside: what is read of good ones, and that bad ones end a child process and nothing else."""

import dataclasses
import datetime as dt
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pytest
from xlsxwriter import Workbook

from saraban.kit import sheet_files, spreadsheets
from saraban.kit.errors import Invalid, Text
from saraban.kit.sheet_columns import CellKind, SheetColumn
from saraban.kit.spreadsheets import read_pasted, read_table
from saraban.kit.workbooks import ResultWorkbook, write_template
from tests.inline_sheets import in_child

DATA = Path(__file__).parents[2] / "data" / "sheets"

_ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]>' % b"".join(
    b'<!ENTITY %c "%s">' % (98 + place, b"&%c;" % (97 + place) * 100) for place in range(8)
)

_ODS = """<document xmlns:o="urn:o" xmlns:table="urn:t" xmlns:text="urn:x" xmlns:s="urn:s">
<s:style s:name="ta2"><s:table-properties table:display="false"/></s:style>
<table:table table:name="old" table:style-name="ta2"><table:table-row><table:table-cell><text:p>number</text:p></table:table-cell>
<table:table-cell><text:p>title</text:p></table:table-cell></table:table-row></table:table>
<table:table table:name="R"><table:table-row table:number-rows-repeated="2">
<table:table-cell table:number-columns-repeated="16384"/></table:table-row>
<table:table-row><table:table-cell><text:p>number</text:p></table:table-cell><table:table-cell><text:p>title</text:p>
</table:table-cell><table:table-cell><text:p>day</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell o:value-type="float" o:value="831"><text:p>00831</text:p></table:table-cell>
<table:table-cell table:number-rows-spanned="3"><o:annotation><text:p>note</text:p></o:annotation>
<text:p>a<text:s text:c="2"/><text:span>b</text:span>c</text:p><text:p>d</text:p></table:table-cell>
<table:table-cell o:value-type="date" o:date-value="2026-03-05"><text:p>5 มี.ค. 69</text:p></table:table-cell></table:table-row>
<table:table-row table:number-rows-repeated="2">
<table:table-cell o:value-type="time" o:time-value="PT01H50M00S"><text:p>1:50</text:p></table:table-cell>
<table:covered-table-cell><text:p>hidden</text:p></table:covered-table-cell><table:table-cell table:formula="of:=1"/>
</table:table-row><table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>
</table:table></document>"""


def written(path: Path, cells: dict[str, object]) -> Path:
    with Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        sheet = book.add_worksheet()
        for name, value in cells.items():
            sheet.write(name, value)
    return path


def changed(path: Path, change: Callable[[str, bytes], bytes]) -> Path:
    """Change the parts of an XLSX."""
    with zipfile.ZipFile(path) as packed:
        parts = {name: change(name, packed.read(name)) for name in packed.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    return path


def texts(path: Path) -> list[str]:
    """Return the texts below the heading `a`, of at most five rows."""
    return [
        row.cells["a"]
        for row in read_table(path, [SheetColumn("a", Text("ก", "a"))], most_rows=4)
        if not row.is_left_out
    ]


def refusal(path: Path) -> str:
    with pytest.raises(Invalid) as caught:
        texts(path)
    assert {one.pointer for one in caught.value.fields} == {"/file"}
    return caught.value.detail


HEAD = "number,title,day\r\n"
COLUMNS = (
    SheetColumn("number", Text("เลขที่", "Number"), is_required=True),
    SheetColumn("title", Text("ชื่อ", "Title"), is_required=True),
    SheetColumn("day", Text("วันที่", "Day"), kind=CellKind.DAY),
)


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    with Workbook(str(path)) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            if name == "hidden":
                sheet.hide()
            else:
                sheet.activate()
    return path


def rows_of(path: Path) -> list[tuple[int, list[str], list[str]]]:
    rows = read_table(path, COLUMNS)
    return [(row.number, list(row.cells.values()), [fault.code for fault in row.faults]) for row in rows]


class TestReadTable:
    @pytest.mark.parametrize(
        "content",
        [
            f"{HEAD}A-1,แปลน,31/12/2568".encode(),
            f"{HEAD}A-1,แปลน,31/12/2568".encode("utf-8-sig"),
            f"{HEAD}A-1,แปลน,31/12/2568".encode("cp874"),
            f"{HEAD}A-1,แปลน,31/12/2568".replace(",", "\t").encode("utf-16"),
            f"{HEAD}A-1,แปลน,31/12/2568".replace(",", "\t").encode(),
            f"ทะเบียน, โครงการ, งาน, ก\n{HEAD}A-1,แปลน,31/12/2568".replace(",", ";").encode(),
            f"sep=;\r\n{HEAD}A-1,แปลน,31/12/2568".replace(",", ";").encode(),
            f'{HEAD}A-1,"แปลน",31/12/2568'.encode(),
            f"{HEAD}A-1,แปลน,31/12/2568".replace(",", "|").encode(),
            f"{HEAD}A-1,แปลน,31/12/2568\r".replace("\r\n", "\r").encode("cp874"),
            f'sep=,\r{HEAD}A-1,"แปลน",31/12/2568,"two\nlines"\r'.replace("\r\n", "\r").encode(),
        ],
    )
    def test_finds_encoding_and_separator(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.csv").write_bytes(content)

        ((_, cells, faults),) = rows_of(tmp_path / "a.csv")

        assert (cells, faults) == (["A-1", "แปลน", "2025-12-31"], [])

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            (f"{HEAD}A-1,Détail,".encode("cp1252"), "encoding"),
            (f"{HEAD}A-1,Übersicht,".encode("cp1252"), "encoding"),
            (HEAD.encode() + bytes(100), "unreadable"),
            (b"title,day\r\n", "column_missing"),
            (f'{HEAD}A-1,"open'.encode(), "quotes: Row 2 "),
            (f'{HEAD}A-1,"two\nlines",\r\nA-2,"say "hello" now",'.encode(), "quotes: Row 3 "),
            (
                b"number,title,day,Title\r\nA-1,a,,b\r\n",
                "two_headings: These headings mean the same: \u201ctitle\u201d, \u201cTitle\u201d.",
            ),
        ],
    )
    def test_refuses_a_text_by_name(self, tmp_path: Path, content: bytes, code: str) -> None:
        (tmp_path / "a.csv").write_bytes(content)

        with pytest.raises(Invalid) as refused:
            rows_of(tmp_path / "a.csv")
        (fault,) = refused.value.fields
        assert f"{fault.code}: {fault.text.say('en', fault.values)}".startswith(code)

    def test_gives_the_text_shown_or_names_the_cell(self, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, ["number", "title", "day"])
            formats = ["0000000", "h:mm", "[h]:mm", "d-mmm", "General"]
            for row, (value, code) in enumerate(
                zip((831921, 0.0763888889, 0.1111, 46000, 7.5), formats, strict=True), 1
            ):
                sheet.write_number(row, 0, value, book.add_format({"num_format": code}))
                sheet.write_string(row, 1, "a\nb")
            sheet.write_datetime("C2", dt.datetime(2569, 12, 31), book.add_format({"num_format": "d mmm yyyy"}))
            sheet.write_formula("B6", "=A1", value="saved")
            sheet.write_formula("C6", "=NA()", value="#N/A")
            sheet.write_boolean("B5", boolean=True)
            sheet.write_row("A7", ["A-7", "b"])
            sheet.write_formula("C7", "=TODAY()", value="")

        assert rows_of(tmp_path / "a.xlsx") == [
            (2, ["0831921", "a b", "2026-12-31"], []),
            (3, ["1:50", "a b", ""], []),
            (4, ["0.1111", "a b", ""], ["time"]),
            (5, ["2025-12-09", "TRUE", ""], ["day"]),
            (6, ["7.5", "saved", "#N/A"], ["error"]),
            (7, ["A-7", "b", "#N/A"], ["formula"]),
        ]

    def test_applies_number_formats_to_texts_and_asks_formulas_for_their_results(self, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, ["number", "title", "day"])
            sheet.write_string("A2", "ST-019", book.add_format({"num_format": '"LP3-SD-"@'}))
            sheet.write_string("B2", "hidden", book.add_format({"num_format": "0;-0;0;"}))
            sheet.write_formula("A3", "=A1", value="")
            sheet.write_formula("B3", "=A2", value="saved")
        changed(tmp_path / "a.xlsx", lambda _, part: part.replace(b' t="str"><f>A1</f><v></v>', b"><f>A1</f><v/>"))

        assert rows_of(tmp_path / "a.xlsx") == [
            (2, ["LP3-SD-ST-019", "", ""], ["required"]),
            (3, ["#N/A", "saved", ""], ["formula"]),
        ]

    def test_refuses_what_it_refused_in_a_result_again(self, tmp_path: Path) -> None:
        columns = [SheetColumn(letter, Text(letter, letter)) for letter in "abcdefgh"]
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, "abcdefgh")
            numbers = [
                (0.0763888888888889, "General"),
                (25 / 24, "[h]:mm:ss"),
                (45323, "d-mmm"),
                (1, "yyyy"),
                (1e10, "0E+0"),
            ]
            for place, (number, code) in enumerate(numbers):
                sheet.write_number(1, place, number, book.add_format({"num_format": code}))
            sheet.write_string("F2", "a\x07b")
            sheet.write_string("G2", "a" + "\u0e48" * 40)
            sheet.write_formula("H2", "=A1", value="#N/A")
        (row,) = read_table(tmp_path / "a.xlsx", columns)

        for name in ("result.xlsx", "result.csv"):
            with ResultWorkbook(tmp_path / name, columns, {"": Text("", "")}) as result:
                result.add_row(row, "", row.faults)
            *_, again = read_table(tmp_path / name, columns)
            assert [fault.pointer for fault in again.faults] == [f"/{letter}" for letter in "abcdefgh"]
            assert again.originals == (row.originals if name == "result.xlsx" else {})

    def test_leaves_out_what_is_no_record_and_names_it(self, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            rows = [
                ("No.", "เลขที่\nNumber", "Title", "Note"),
                (1, "A-1", "Total height", "x"),
                (2,),
                ("", "Number", "Title"),
                ("", "รวมทั้งสิ้น", "82 แผ่น"),
                ("", "Total", "Oil Company"),
            ]
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
            sheet.merge_range("B3:D3", "หมวด A สะพาน")
            sheet.merge_range("A8:D8", "1. Bridges")

        read = [*read_table(tmp_path / "a.xlsx", COLUMNS)]

        assert [(row.number, [*row.cells.values()], row.is_left_out) for row in read] == [
            (1, ["", ""], True),
            (2, ["A-1", "Total height"], False),
            (3, ["หมวด A สะพาน", ""], True),
            (4, ["Number", ""], True),
            (5, ["รวมทั้งสิ้น", ""], True),
            (6, ["Total", "Oil Company"], False),
            (8, ["1. Bridges", ""], True),
        ]
        assert read[0].faults[0].text.say("en", read[0].faults[0].values) == (
            "Columns that are not imported: “No.”, “Note”."
        )

    def test_looks_for_the_headings_in_visible_sheets(self, tmp_path: Path) -> None:
        rows: list[list[object]] = [["ทะเบียน"], [], ["No", "Number", "Title"], [1, "A-1", "a"], [], [2, "A-2", "b"]]
        path = workbook(
            tmp_path / "a.xlsx", hidden=[["number", "title"], ["old", "old"]], Cover=[["ปก"]], Register=rows
        )

        table = read_table(path, COLUMNS)

        assert [(row.number, row.cells["number"]) for row in table] == [(3, ""), (4, "A-1"), (6, "A-2")]

    def test_names_the_sheets_where_two_fit_or_none(self, tmp_path: Path) -> None:
        path = workbook(
            tmp_path / "a.xlsx", One=[["number", "title"], ["a", "b"]], Two=[["number", "title"], ["c", "d"]]
        )

        assert "“One”, “Two”" in refusal_of(path)
        assert [row.cells["number"] for row in read_table(path, COLUMNS, sheet="Two")] == ["c"]
        assert refusal_of(workbook(path, Cover=[["title"]])) == (
            "/file: The column เลขที่ / Number is missing. The headings were looked for in the first 20 rows of “Cover”."
        )

    def test_gives_a_merged_cell_to_its_whole_range(self, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.merge_range("A1:Z1", "ทะเบียน")
            sheet.merge_range("A2:A3", "Number")
            sheet.merge_range("B2:B3", "Title")
            sheet.merge_range("C2:D2", "Dates")
            sheet.write("C3", "Day")
            sheet.write_column("A4", ["A-1", "A-2"])
            sheet.merge_range("B4:B9", "ผัง")
            sheet.merge_range("A10:C10", "งานโครงสร้าง")

        assert rows_of(tmp_path / "a.xlsx") == [
            (3, ["", "", ""], ["left_out"]),
            (4, ["A-1", "ผัง", ""], []),
            (5, ["A-2", "ผัง", ""], []),
            (10, ["งานโครงสร้าง", "", ""], ["left_out"]),
        ]

    def test_joins_headings_below_a_merged_one(self, tmp_path: Path) -> None:
        columns = [*COLUMNS, SheetColumn("english", Text("ชื่ออังกฤษ", "English title"), synonyms=("Title English",))]
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.merge_range("A1:F1", "Register of 2026")
            sheet.merge_range("B2:B3", "Number")
            sheet.merge_range("C2:D2", "ชื่อ / Title")
            sheet.write_row("C3", ["English", "ไทย"])
            sheet.write_row("E2", ["Note", "Day"])
            sheet.write_row("B4", ["A-1", "plan", "ผัง", "x", "31/12/2568"])

        first, row = read_table(tmp_path / "a.xlsx", columns)

        assert row.cells == {"number": "A-1", "title": "ผัง", "day": "2025-12-31", "english": "plan"}
        assert first.faults[0].values == {"columns": "“Note”"}

    @pytest.mark.parametrize(
        ("name", "rows"),
        [
            (
                "register.xls",
                [
                    *(("A-1", "0", []), ("A-2", "7.10", []), ("0831921", "50%", []), ("1:50", "แก้ไข 1.5", [])),
                    ("2026-03-05", "TRUE", ["day"]),
                ],
            ),
            ("register.ods", [("", "", ["left_out"]), ("A-1", "0", []), ("00831", "1", [])]),
        ],
    )
    def test_reads_other_kinds(self, name: str, rows: list[tuple[str, str, list[str]]]) -> None:
        columns = (
            SheetColumn("number", Text("เลขที่แบบ", "Drawing number"), is_required=True),
            SheetColumn("title", Text("ชื่อแบบ", "Title"), is_required=True),
            SheetColumn("revision", Text("ครั้งที่", "Rev"), synonyms=("Revision",)),
        )

        found = read_table(DATA / name, columns)

        assert [
            (*itemgetter("number", "revision")(row.cells), [fault.code for fault in row.faults]) for row in found
        ] == rows

    def test_reads_the_text_shown_of_an_ods(self, tmp_path: Path) -> None:
        """Its first table is hidden; a merged cell, repeated rows, and a million empty rows follow."""
        with zipfile.ZipFile(tmp_path / "a.ods", "w") as packed:
            packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            packed.writestr("META-INF/manifest.xml", "<manifest/>")
            packed.writestr("content.xml", _ODS)

        assert rows_of(tmp_path / "a.ods") == [
            (4, ["00831", "a  bc d", "2026-03-05"], []),
            (5, ["1:50", "a  bc d", "#N/A"], ["formula"]),
            (6, ["1:50", "a  bc d", "#N/A"], ["formula"]),
        ]

    def test_finds_a_main_part_of_any_name(self, tmp_path: Path) -> None:
        path = workbook(tmp_path / "a.xlsx", A=[["number", "title"], ["a", "b"]])
        with zipfile.ZipFile(path) as packed:
            parts = {name: packed.read(name) for name in packed.namelist()}
        with zipfile.ZipFile(path, "w") as packed:
            for name, content in parts.items():
                moved = content.replace(b"xl/workbook.xml", b"xl/workbook2.xml")
                packed.writestr(name.replace("workbook.xml", "workbook2.xml"), moved)

        assert rows_of(path) == [(2, ["a", "b"], [])]

    def test_leaves_out_the_example_of_a_template(self, tmp_path: Path) -> None:
        columns = [
            dataclasses.replace(COLUMNS[0], example="A-101"),
            SheetColumn(
                "level", Text("ระดับ", "Level"), kind=CellKind.CHOICE, choices={"a": Text("ก", "One")}, example="One"
            ),
            SheetColumn("flag", Text("ใช้", "In use"), kind=CellKind.FLAG),
        ]
        write_template(tmp_path / "a.xlsx", columns, "Rows: [of a contract] / and a name that is far too long")

        table = read_table(tmp_path / "a.xlsx", columns)

        assert list(table) == []
        with zipfile.ZipFile(tmp_path / "a.xlsx") as packed:
            assert packed.read("xl/worksheets/sheet1.xml").count(b"<dataValidation ") == 2
            assert b"Rows   of a contract    and a n" in packed.read("xl/workbook.xml")


class TestReadPasted:
    def test_keeps_a_line_break_within_its_cell(self) -> None:
        table = read_pasted('Number\tชื่อ\r\nA-1\t"two\nlines"\r\n\r\nA-2\t5" pipe\r\n', COLUMNS)

        assert [(row.number, row.cells) for row in table] == [
            (2, {"number": "A-1", "title": "two lines"}),
            (4, {"number": "A-2", "title": '5" pipe'}),
        ]

    def test_takes_a_cell_that_begins_with_a_quotation_mark_as_a_text(self) -> None:
        rows = 'A-01\t"New\nPlc."\r\nA-02\t"Best" Co., Ltd.\nA-03\t"a ""b""\r\nc"\nA-04\t"open\rA-05\t""'

        assert [[*row.cells.values()] for row in read_pasted(rows, COLUMNS)] == [
            ["A-01", "New Plc."],
            ["A-02", '"Best" Co., Ltd.'],
            ["A-03", 'a "b" c'],
            ["A-04", '"open'],
            ["A-05", ""],
        ]

    def test_takes_rows_without_headings(self) -> None:
        table = read_pasted("A-1\tแปลน\t31/12/2568\tmore\nA-2", COLUMNS)

        assert [(row.number, *row.cells.values()) for row in table] == [
            (1, "A-1", "แปลน", "2025-12-31"),
            (2, "A-2", "", ""),
        ]


def refusal_of(path: Path) -> str:
    with pytest.raises(Invalid) as refused:
        read_table(path, COLUMNS)
    return refused.value.detail


class TestBounds:
    @pytest.fixture(autouse=True)
    def _in_child(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Other tests read where they run."""
        monkeypatch.setattr(spreadsheets, "_child_lines", in_child)

    def test_gives_a_csv_as_a_spreadsheet_program_writes_it(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text('\ufeffa,b\r\n"\'=1,\n",,,,\r\n', encoding="utf-8")

        assert texts(tmp_path / "a.csv") == ["=1,"]

    @pytest.mark.parametrize("cell", ["XFD1048576", "BM1", "A6"])
    def test_names_the_cell_beyond_the_bounds(self, tmp_path: Path, cell: str) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a", cell: "far"})

        assert refusal(file) == f"/file: Cell {cell} lies outside the table: at most 64 columns and 5 rows are read."

    @pytest.mark.parametrize(
        ("content", "cell"), [("a" + "," * 64 + "x", "BM1"), ("a\n" * 6, "A6"), ("a" + "," * 100 + "x", "CW1")]
    )
    def test_names_it_in_a_csv_too(self, tmp_path: Path, content: str, cell: str) -> None:
        (tmp_path / "a.csv").write_text(content)

        assert f"Cell {cell} lies" in refusal(tmp_path / "a.csv")

    def test_bears_cells_far_away_that_are_empty(self, tmp_path: Path) -> None:
        """A whole column with a colour has them."""
        file = written(tmp_path / "a.xlsx", {"A1": "a", "XFD1048576": "far"})
        content = b'<c r="XFD1048576" t="s"><v>1</v></c>', b'<c r="XFD1048576" s="1"/>'

        assert texts(changed(file, lambda _, part: part.replace(*content))) == []

    def test_names_a_far_cell_however_its_address_is_written(self, tmp_path: Path) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a", "XFD1048576": "far"})
        hidden = b'r="XFD1048576"', b"r='XFD1048576'"

        assert "Cell XFD1048576 lies" in refusal(changed(file, lambda _, part: part.replace(*hidden)))

    @pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
    def test_outlives_entities_that_multiply(self, tmp_path: Path, part: str) -> None:
        def bomb(name: str, content: bytes) -> bytes:
            head, _, body = content.partition(b"?>")
            return head + b"?>" + _ENTITIES + body.replace(b">", b">&i;", 2) if name == part else content

        file = changed(written(tmp_path / "a.xlsx", {"A1": "a", "B2": "b"}), bomb)
        try:
            assert sum(map(len, texts(file))) < 1000
        except Invalid as refused:
            assert refused.fields[0].code in {"unreadable", "packed", "column_missing"}

    def test_does_not_unpack_what_would_be_too_large(self, tmp_path: Path) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a"})
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as packed, packed.open("more.xml", "w") as more:
            for _ in range(401):
                more.write(bytes(1024 * 1024))

        assert "too large" in refusal(file)

    @pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
    def test_refuses_what_is_no_spreadsheet(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"\x00PK\x00\xff")

        assert "must be XLSX, XLSM, XLS, ODS or CSV" in refusal(tmp_path / name)

    def test_ends_what_takes_too_long(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another program stands in for a reader that never ends, or that never ends a row."""
        endless = tmp_path / "endless"
        endless.write_text("#!/bin/sh\nulimit -t 1\nwhile :; do :; done\n")
        endless.chmod(0o700)
        monkeypatch.setattr(spreadsheets.sys, "executable", str(endless))
        assert "takes too long" in refusal(tmp_path / "a.xlsx")

        endless.write_text("#!/bin/sh\nexec /bin/cat /dev/zero\n")
        assert "takes too long" in refusal(tmp_path / "a.xlsx")

    def test_that_is_left_early_leaves_no_process(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("a\n" * 100_000)
        rows = read_table(tmp_path / "a.csv", [SheetColumn("a", Text("ก", "a"))])

        next(rows)
        rows.close()  # type: ignore[attr-defined]

        with pytest.raises(StopIteration):
            next(rows)

    def test_ends_with_whoever_asked_for_it(self, tmp_path: Path) -> None:
        endless = tmp_path / "endless.csv"
        os.mkfifo(endless)
        command = [
            sys.executable,
            "-I",
            "-m",
            sheet_files.__name__,
            str(endless),
            "3",
            "5",
            '{"names": [], "required": [], "sheet": null}',
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
            assert child.stdin is not None
            child.stdin.close()  # as the end of the parent does
            try:
                assert child.wait(timeout=10) == 1
            finally:
                child.kill()
