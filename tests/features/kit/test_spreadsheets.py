"""Spreadsheets from outside: what is read of good ones, and that bad ones end a child process and nothing else."""

import datetime as dt
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from xlsxwriter import Workbook

from saraban.kit import spreadsheets
from saraban.kit.errors import Invalid
from saraban.kit.spreadsheets import read_rows

_ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]>' % b"".join(
    b'<!ENTITY %c "%s">' % (98 + place, b"&%c;" % (97 + place) * 100) for place in range(8)
)


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


def refusal(path: Path, columns: int = 3, rows: int = 5) -> str:
    with pytest.raises(Invalid) as caught:
        list(read_rows(path, columns=columns, rows=rows))
    assert {one.pointer for one in caught.value.fields} == {"/file"}
    return caught.value.detail


class TestReadRows:
    @pytest.mark.parametrize("suffix", ["xlsx", "csv"])
    def test_refuses_a_cell_with_a_run_of_combining_marks(self, tmp_path: Path, suffix: str) -> None:
        path, text = tmp_path / f"rows.{suffix}", "a" + "\u0301\u0316" * 10_000
        if suffix == "csv":
            path.write_text(f"one,two\n1,{text}\n", encoding="utf-8")
        else:
            written(path, {"A1": "one", "B1": "two", "A2": 1, "B2": text})

        with pytest.raises(Invalid) as caught:
            list(read_rows(path, columns=3, rows=5))
        assert [(one.pointer, one.code) for one in caught.value.fields] == [("/2/B", "combining_marks")]

    def test_gives_texts_numbers_and_dates(self, tmp_path: Path) -> None:
        moment, day = dt.datetime(2024, 5, 31, 13, 30), dt.date(2024, 5, 31)
        file = written(tmp_path / "a.xlsx", {"A1": "เลขที่", "B1": "b", "A2": moment, "B2": day, "C2": 2.5, "A3": True})

        read = list(read_rows(file, columns=3, rows=3))

        assert read == [["เลขที่", "b", ""], [moment, day, 2.5], [True, "", ""]]

    def test_gives_a_csv_as_a_spreadsheet_program_writes_it(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text('\ufeffเลขที่,b\r\n"\'=1,\n",,,,\r\n', encoding="utf-8")

        assert list(read_rows(tmp_path / "a.csv", columns=2, rows=2)) == [["เลขที่", "b"], ["=1,\n", ""]]

    @pytest.mark.parametrize("cell", ["XFD1048576", "D1", "A6"])
    def test_names_the_cell_beyond_the_bounds(self, tmp_path: Path, cell: str) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a", cell: "far"})

        assert refusal(file) == f"/file: Cell {cell} lies outside the table: at most 3 columns and 5 rows are read."

    @pytest.mark.parametrize(("content", "cell"), [("a,b,c,d", "D1"), ("a\n" * 6, "A6"), ("," * 100 + "x", "CW1")])
    def test_names_it_in_a_csv_too(self, tmp_path: Path, content: str, cell: str) -> None:
        (tmp_path / "a.csv").write_text(content)

        assert f"Cell {cell} lies" in refusal(tmp_path / "a.csv")

    def test_bears_cells_far_away_that_are_empty(self, tmp_path: Path) -> None:
        """A whole column with a colour has them."""
        file = written(tmp_path / "a.xlsx", {"A1": "a", "XFD1048576": "far"})
        content = b'<c r="XFD1048576" t="s"><v>1</v></c>', b'<c r="XFD1048576" s="1"/>'

        assert list(read_rows(changed(file, lambda _, part: part.replace(*content)), columns=3, rows=5)) == [["a"]]

    def test_reads_the_first_sheet_only(self, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            book.add_worksheet().write("A1", "a")
            book.add_worksheet().write("XFD1048576", "far")

        assert list(read_rows(tmp_path / "a.xlsx", columns=3, rows=5)) == [["a"]]

    def test_outlives_a_cell_that_hides_from_the_first_look(self, tmp_path: Path) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a", "XFD1048576": "far"})
        hidden = b'r="XFD1048576"', b"r='XFD1048576'"

        assert "too large" in refusal(changed(file, lambda _, part: part.replace(*hidden)))

    @pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"])
    def test_outlives_entities_that_multiply(self, tmp_path: Path, part: str) -> None:
        def bomb(name: str, content: bytes) -> bytes:
            head, _, body = content.partition(b"?>")
            return head + b"?>" + _ENTITIES + body.replace(b">", b">&i;", 2) if name == part else content

        file = changed(written(tmp_path / "a.xlsx", {"A1": "a", "B2": "b"}), bomb)
        try:
            assert sum(len(str(row)) for row in read_rows(file, columns=3, rows=5)) < 1000
        except Invalid as refused:
            assert refused.fields[0].code in {"unreadable", "packed"}

    def test_does_not_unpack_what_would_be_too_large(self, tmp_path: Path) -> None:
        file = written(tmp_path / "a.xlsx", {"A1": "a"})
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as packed, packed.open("more.xml", "w") as more:
            for _ in range(401):
                more.write(bytes(1024 * 1024))

        assert "too large" in refusal(file)

    @pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
    def test_refuses_what_is_no_spreadsheet(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"\xff\xfe\x00PK")

        assert "must be XLSX, or CSV" in refusal(tmp_path / name)

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
        rows = read_rows(tmp_path / "a.csv", columns=1, rows=100_000)

        next(rows)
        rows.close()  # type: ignore[attr-defined]

        with pytest.raises(StopIteration):
            next(rows)

    def test_ends_with_whoever_asked_for_it(self, tmp_path: Path) -> None:
        endless = tmp_path / "endless.csv"
        os.mkfifo(endless)
        command = [sys.executable, "-I", "-m", spreadsheets.__name__, str(endless), "3", "5"]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
            assert child.stdin is not None
            child.stdin.close()  # as the end of the parent does
            try:
                assert child.wait(timeout=10) == 1
            finally:
                child.kill()
