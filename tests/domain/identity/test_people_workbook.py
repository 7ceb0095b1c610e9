"""Rows of a spreadsheet of people: each fault is named by its row and column, and the sound rows are read all the same."""

from pathlib import Path

import pytest
from xlsxwriter import Workbook

from saraban.identity.domain.people_workbook import COLUMNS, read_people
from saraban.kit.spreadsheets import read_rows
from saraban.kit.text import FORMULA

HEADINGS = [column.key for column in COLUMNS]
SOUND = ["somchai", "somchai@example.org", "", "", "คคง.", "Document Control", "", "คคง.", "", ""]


class TestFaults:
    @pytest.mark.parametrize(
        ("changed", "fault"),
        [
            ({"username": f"{FORMULA}2"}, ("/3/username", "formula")),
            ({"email": f"{FORMULA}a@example.org"}, ("/3/email", "formula")),
            ({"place": f"{FORMULA}คคง."}, ("/3/place", "formula")),
            ({"email": ""}, ("/3/email", "required")),
            ({"username": "somchai", "email": ""}, ("/3/role", "twice")),
            ({"username": "Somchai", "email": "other@example.org", "place": "กทท."}, ("/3/email", "differs")),
        ],
    )
    def test_are_named_by_row_and_column(self, changed: dict[str, str], fault: tuple[str, str]) -> None:
        row = dict(zip(HEADINGS, SOUND, strict=True)) | {"username": "malee", "email": "malee@example.org"} | changed

        _, faults = read_people([HEADINGS, SOUND, list(row.values())])

        assert [(one.pointer, one.code) for one in faults] == [fault]

    def test_one_of_five_thousand_rows_is_found_alone(self) -> None:
        rows = [[f"p{at}", f"p{at}@example.org", "", "", "คคง.", "", "", ""] for at in range(5000)]
        rows[4321][4] = ""

        people, faults = read_people([HEADINGS, *rows])

        assert len(people) == 5000
        assert [(one.pointer, one.code) for one in faults] == [("/4323/organization", "required")]

    def test_takes_what_a_workbook_saved_of_its_formulas(self, tmp_path: Path) -> None:
        path = tmp_path / "people.xlsx"
        with Workbook(str(path)) as book:
            sheet = book.add_worksheet()
            sheet.write_row(0, 0, HEADINGS)
            sheet.write_row(1, 0, SOUND)
            sheet.write_formula(1, 0, "=1+1", value=2)
            sheet.write_formula(1, 2, '="สม"&"ชาย"', value="สมชาย")

        (person,), faults = read_people(read_rows(path, columns=10, rows=10, formulas=True))

        assert (person.cells["username"], person.cells["firstName"], faults) == ("2", "สมชาย", [])
