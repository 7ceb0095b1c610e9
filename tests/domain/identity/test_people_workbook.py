"""Rows of a spreadsheet of people: each fault is named by its row and column, and the sound rows are read all the same."""

from pathlib import Path

import pytest
from xlsxwriter import Workbook

from saraban.identity.domain.people_workbook import COLUMNS, read_people
from saraban.kit.spreadsheets import read_pasted, read_table
from saraban.kit.workbooks import write_template
from tests.people_rows import people_rows

HEADINGS = [column.key for column in COLUMNS]
SOUND = ["somchai", "somchai@example.org", "", "", "คคง.", "Document Control", "", "คคง.", "", ""]
THAI = "ชื่อผู้ใช้,อีเมล,ชื่อ,หน่วยงาน,บทบาท,ขอบเขต,วันเริ่มต้น\nสมชาย,somchai@example.org,สมชาย,คคง.,ผู้จัดทำเอกสาร,คคง.,1/2/2570\n"


class TestFaults:
    @pytest.mark.parametrize(
        ("changed", "fault"),
        [
            ({"username": "#N/A"}, ("/3/username", "error")),
            ({"email": "=A1"}, ("/3/email", "formula")),
            ({"place": "a\x07"}, ("/3/place", "character")),
            ({"from": "soon"}, ("/3/from", "malformed")),
            ({"role": "Boss"}, ("/3/role", "unknown")),
            ({"email": ""}, ("/3/email", "required")),
            ({"username": "somchai", "email": ""}, ("/3/role", "twice")),
            ({"username": "Somchai", "email": "other@example.org", "place": "กทท."}, ("/3/email", "differs")),
        ],
    )
    def test_are_named_by_row_and_column(self, changed: dict[str, str], fault: tuple[str, str]) -> None:
        row = dict(zip(HEADINGS, SOUND, strict=True)) | {"username": "malee", "email": "malee@example.org"} | changed

        _, faults = read_people(people_rows(SOUND, list(row.values())))

        assert [(one.pointer, one.code) for one in faults] == [fault]

    def test_one_of_five_thousand_rows_is_found_alone(self) -> None:
        rows = [[f"p{at}", f"p{at}@example.org", "", "", "คคง."] for at in range(5000)]
        rows[4321][4] = ""

        people, faults = read_people(people_rows(*rows))

        assert len(people) == 5000
        assert [(one.pointer, one.code) for one in faults] == [("/4323/organization", "required")]


class TestSheets:
    @pytest.mark.parametrize("form", ["xlsx", "csv", "pasted"])
    def test_of_every_form_arrive(self, form: str, tmp_path: Path) -> None:
        path = tmp_path / f"people.{form}"
        if form == "xlsx":
            with Workbook(str(path)) as book:
                sheet = book.add_worksheet()
                sheet.write(0, 0, "บัญชีผู้ใช้ระบบ")  # a title, then an empty row
                for row, line in enumerate(THAI.splitlines(), 2):
                    sheet.write_row(row, 0, line.split(","))
                sheet.write_formula(3, 2, '="สม"&"ชาย"', value="สมชาย")
        elif form == "csv":
            path.write_bytes(THAI.encode("cp874"))
        table = read_pasted(THAI.replace(",", "\t"), COLUMNS) if form == "pasted" else read_table(path, COLUMNS)

        (person,), faults = read_people(table)

        assert (person.line, person.cells["username"], person.cells["firstName"]) == (
            4 if form == "xlsx" else 2,
            "สมชาย",
            "สมชาย",
        )
        assert [(one.role, one.level, one.place, str(one.first)) for one in person.roles] == [
            ("Editor", "Organization", "คคง.", "2027-02-01")
        ]
        assert list(faults) == []

    def test_template_has_an_example_that_nobody_imports(self, tmp_path: Path) -> None:
        write_template(tmp_path / "people.xlsx", COLUMNS, "People")

        people, faults = read_people(read_table(tmp_path / "people.xlsx", COLUMNS))

        assert (people, list(faults)) == ([], [])
