"""Master data as a spreadsheet: its columns, its faults, and codes that come twice."""

import pytest

from saraban.kit.errors import REQUIRED, FieldProblem, Invalid
from saraban.kit.sheet_columns import CellKind, RowFaults, SheetRow, match_headings
from saraban.setup.domain.master_kinds import CONTRACT, DISCIPLINE, KINDS, ORGANIZATION
from saraban.setup.domain.master_workbook import check_repeated, checked, sheet_columns
from saraban.setup.schemas.master_data import new_row


def test_a_column_has_the_kind_of_its_field() -> None:
    kinds = {column.key: column.kind for column in sheet_columns(CONTRACT)}

    assert (kinds["startDate"], kinds["description"]) == (CellKind.DAY, CellKind.LINES)


def test_the_example_of_a_template_is_no_code_of_the_shipped_examples() -> None:
    for kind in KINDS:
        assert sheet_columns(kind)[0].example != kind.code.example


def test_a_field_has_one_fault_and_that_of_its_cell_comes_first() -> None:
    fault = FieldProblem("/nameTh", "error", REQUIRED)
    row = SheetRow(3, {"code": "=A", "nameTh": "", "nameEn": "x"}, (fault,))

    faults = RowFaults()

    with pytest.raises(Invalid) as refused:
        checked(row, new_row(DISCIPLINE))
    faults.add(3, *refused.value.fields)

    assert sorted((one.pointer, one.code) for one in faults) == [("/3/code", "formula"), ("/3/nameTh", "error")]


def test_a_code_that_comes_twice_is_named_with_its_first_row() -> None:
    rows = [SheetRow(number, {"code": code}) for number, code in ((2, "A"), (5, "B"), (7, "A"))]

    assert [(one.pointer, one.values) for one in check_repeated(DISCIPLINE, rows)] == [("/7/code", {"line": 2})]


def test_an_empty_cell_states_nothing() -> None:
    row = SheetRow(3, {"code": "A", "nameTh": "ก", "nameEn": "x", "description": ""})

    assert checked(row, new_row(DISCIPLINE)) == {"code": "A", "nameTh": "ก", "nameEn": "x"}


def test_offices_have_words_of_their_own() -> None:
    names = [["รหัสหน่วยงาน", "ชื่อองค์กร", "Name"], ["ชื่อย่อ", "ชื่อบริษัท"]]
    columns = [column.names for column in sheet_columns(ORGANIZATION)]

    assert [match_headings(columns, cells) for cells in names] == [[0, 1, 2, None], [0, 1, None, None]]
