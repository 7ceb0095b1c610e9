"""Rows that a page contains: the browser sends them back, corrected or changed."""

from dataclasses import replace

import pytest

from saraban.kit.errors import Invalid, Text
from saraban.kit.sheet_columns import CellKind, CellReader, SheetColumn
from saraban.web.shell.sheets import pack_rows, unpack_rows

COLUMNS = [
    SheetColumn("code", Text("รหัส", "Code"), is_required=True),
    SheetColumn("from", Text("วันแรก", "First day"), kind=CellKind.DAY),
]
DATE = ["day", None, "2026-12-31"]  # a date of the spreadsheet, in a column of texts
ROW = CellReader(COLUMNS, [3, 4]).read(7, [DATE, "soon"])


class TestUnpackRows:
    @pytest.mark.parametrize(
        ("typed", "cells", "faults"),
        [
            ({}, ["2026-12-31", "soon"], [("day", "D7"), ("malformed", "E7")]),
            ({"fix7.code": "2026-12-31"}, ["2026-12-31", "soon"], [("day", "D7"), ("malformed", "E7")]),
            ({"fix7.code": " A-1 ", "fix8.from": "x"}, ["A-1", "soon"], [("malformed", "E7")]),
            ({"fix7.code": "A-1", "fix7.from": "31/12/2569"}, ["A-1", "2026-12-31"], []),
            (
                {"fix7.code": "", "fix7.from": "later"},
                ["", "later"],
                [("required", "รหัส / Code"), ("malformed", "วันแรก / First day")],
            ),
        ],
    )
    def test_keeps_faults_of_cells_until_they_are_corrected(
        self, typed: dict[str, str], cells: list[str], faults: list[tuple[str, str]]
    ) -> None:
        (row,) = unpack_rows(pack_rows([ROW]), COLUMNS, typed)

        assert (row.number, list(row.cells.values())) == (7, cells)
        assert sorted((fault.code, fault.values["cell"]) for fault in row.faults) == sorted(faults)

    def test_reads_cells_again_that_the_browser_changed(self) -> None:
        changed = replace(ROW, cells={"code": "A", "from": "soon"}, faults=())

        (row,) = unpack_rows(pack_rows([changed]), COLUMNS)

        assert [fault.code for fault in row.faults] == ["malformed"]

    @pytest.mark.parametrize("packed", ["", "no such thing", "eJyrrgUAAXUA-Q==", pack_rows([replace(ROW, number=0)])])
    def test_refuses_other_texts(self, packed: str) -> None:
        with pytest.raises(Invalid):
            unpack_rows(packed, COLUMNS)
