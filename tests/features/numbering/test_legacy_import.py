"""Legacy numbers from sheets and the ledger into sheets, at the terminal, on a database with the demo project."""

import csv
import io
import sqlite3
from pathlib import Path

import pytest
from python_calamine import CalamineWorkbook
from xlsxwriter import Workbook

from saraban.kit.spreadsheets import read_table
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.service import legacy_import
from saraban.numbering.service import NUMBER_IMPORTER
from tests.conftest import SignIn
from tests.number_commands import command, drawn, rows
from tests.number_imports import HEAD, letter, sheet_of, written
from tests.numbering_requests import BASE, read_project
from tests.terminal import Command

__all__ = ["command", "rows"]

AS = ("--as", "padmin")


def imported(rows: sqlite3.Connection) -> list[tuple[object, ...]]:
    return rows.execute(
        "SELECT document_number, sequence_number, document_number_status FROM document_number_reservations "
        "WHERE source = 'IMPORT' ORDER BY id"
    ).fetchall()


class TestTemplate:
    @pytest.mark.parametrize("name", ["t.xlsx", "t.csv"])
    def test_can_be_filled_in_and_read(self, command: Command, tmp_path: Path, name: str) -> None:
        assert command("template", tmp_path / name)[0] == 0

        assert list(NUMBER_IMPORTER.rows(tmp_path / name)) == []

    def test_explains_its_columns_on_a_second_sheet(self, command: Command, tmp_path: Path) -> None:
        command("template", tmp_path / "t.xlsx")

        with CalamineWorkbook.from_path(str(tmp_path / "t.xlsx")) as book:
            assert len(list(book.get_sheet_by_index(1).iter_rows())) == 14


class TestImport:
    @pytest.mark.parametrize("name", ["old.xlsx", "old.csv"])
    def test_writes_nothing_before_it_is_told_to(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path, name: str
    ) -> None:
        code, out, _ = command("import", written(tmp_path / name, letter(1), letter(7)), *AS)

        assert (code, imported(rows)) == (0, [])
        assert "to import 2, already registered 0, rejected 0" in out
        assert "highest 7  counter 0 -> 7" in out

    def test_writes_ledger_print_and_audit(self, command: Command, rows: sqlite3.Connection, tmp_path: Path) -> None:
        assert command("import", written(tmp_path / "a.xlsx", letter(1), letter(7)), *AS, "--commit")[0] == 0

        assert imported(rows) == [(letter(1)[0], 1, "CONFIRMED"), (letter(7)[0], 7, "CONFIRMED")]
        audits = rows.execute("SELECT generated_number FROM document_number_audit WHERE operation = 'IMPORT'")
        assert audits.fetchall() == [(letter(1)[0],), (letter(7)[0],)]
        assert rows.execute("SELECT last_number FROM document_number_counters WHERE last_number > 0").fetchall() == []
        assert rows.execute("SELECT state, rows_done FROM document_number_imports").fetchall() == [("DONE", 2)]
        assert command("verify")[0] == 0

    def test_is_in_the_books_at_once(self, command: Command, rows: sqlite3.Connection, tmp_path: Path) -> None:
        """The counter has not moved, and yet the series is listed, accounted for and compared."""
        command("import", written(tmp_path / "a.xlsx", letter(1), letter(5)), *AS, "--commit")
        name = "คคง.-ผรม.1-{SEQ}-2567"

        assert [line.split() for line in command("series", "2567")[1].splitlines()] == [
            [name, "0", "LETTER", "highest", "5"]
        ]
        assert [line.split()[:2] for line in command("account", name)[1].splitlines()[:3]] == [
            ["1", letter(1)[0]],
            ["2-4", "NOT_ISSUED"],
            ["5", letter(5)[0]],
        ]
        rows.execute(
            "UPDATE document_number_reservations SET document_number_status = 'VOID' WHERE sequence_number = 5"
        )
        code, _, err = command("verify")
        assert (code, f"{letter(5)[0]}: its statuses differ" in err) == (1, True)

    def test_again_changes_nothing(self, command: Command, rows: sqlite3.Connection, tmp_path: Path) -> None:
        file = written(tmp_path / "a.csv", letter(1), letter(2))
        command("import", file, *AS, "--commit")
        before = imported(rows)

        code, out, _ = command("import", file, *AS, "--commit")

        assert (code, imported(rows)) == (0, before)
        assert "imported 0, already registered 2, rejected 0" in out

    def test_counters_go_on_after_the_highest_when_told_to(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path
    ) -> None:
        file = written(tmp_path / "a.csv", letter(3), letter(9))

        assert command("import", file, *AS, "--commit", "--move-counters", "--yes")[0] == 0

        moved = rows.execute("SELECT last_number FROM document_number_counters WHERE series LIKE '%2567'").fetchall()
        assert moved == [(9,)]
        series = rows.execute("SELECT series FROM document_number_counters WHERE last_number = 9").fetchone()[0]
        assert "unexplained" not in command("account", series)[1].lower()
        assert command("verify")[0] == 0

    def test_refuses_lines_by_name_and_imports_the_others(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path
    ) -> None:
        nobody = [*letter(4)[:2], "NOBODY", *letter(4)[3:]]
        file = written(
            tmp_path / "a.csv", letter(1), ["", "LETTER", "คคง."], letter(1), ["X-1", *letter(1)[1:]], nobody
        )

        code, out, err = command("import", file, *AS, "--commit", "--result", tmp_path / "r.xlsx")

        assert (code, len(imported(rows))) == (3, 1)
        assert "imported 1, already registered 0, rejected 4" in out
        assert [line.split(":")[1].strip() for line in err.splitlines()] == [
            "line 3, number",
            "line 4, number",
            "line 5, number",
            "line 6, originator",
        ]
        results = [row[-3:] for row in sheet_of(tmp_path / "r.xlsx")[1:]]
        assert results[0] == ["นำเข้าได้ / can be imported", "", 2]
        assert "row 2" in str(results[2][1])

    def test_refuses_what_was_issued_already(self, command: Command, tmp_path: Path) -> None:
        command("override", "LETTER", "--from", "คคง.", "--to", "ผรม.1", "--sequence", 5, *AS, "--reason", "By hand.")
        number = min(export_of(command, tmp_path))[0]

        code, _, err = command(
            "import", written(tmp_path / "a.csv", [number, "LETTER", "คคง.", "ผรม.1", "", ""]), *AS, "--commit"
        )

        assert code == 3
        assert "already issued" in err

    def test_takes_a_number_of_no_format_with_its_sequence(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path
    ) -> None:
        old = ["กทท.เก่า/0042/60", "LETTER", "คคง.", "ผรม.1", "2560", "42"]
        wrong = ["กทท.เก่า/0043/60", "LETTER", "คคง.", "ผรม.1", "2560", "44"]

        code, _, err = command("import", written(tmp_path / "a.csv", old, wrong), *AS, "--commit")

        assert (code, imported(rows)) == (3, [("กทท.เก่า/0042/60", 42, "CONFIRMED")])
        assert "line 3, sequence: The number does not contain 44." in err
        assert command("verify")[0] == 0

    def test_takes_every_hyphen_and_digit_and_no_contradiction(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path
    ) -> None:
        first, *beside = letter(1)
        numbers = [str(first), str(letter(2)[0]).replace("-", "–"), str(letter(3)[0]).replace("3-2567", "๓-๒๕๖๗")]
        other = str(letter(9)[0])
        lines = [*([number, *beside] for number in numbers), [*letter(52)[:5], "2"], letter(2)]
        lines += [[other, *beside[:3], "2566", ""]]
        counted = [[at, *line] for at, line in enumerate(lines, 1)]
        file = written(tmp_path / "a.csv", *counted, head=["ลำดับ", *HEAD])

        code, _, err = command("import", file, *AS, "--commit")

        assert (code, [row[:2] for row in imported(rows)]) == (3, [(letter(n)[0], n) for n in (1, 2, 3)])
        example = str(first).replace("67", "66")
        advice = "Correct the number, the date or the year, or fill in the sequence."
        assert [line.partition(", ")[2] for line in err.splitlines()] == [
            "number: Columns that are not imported: “ลำดับ”.",
            "sequence: The sequence of this number is 52.",
            "number: Already on row 3 of this file.",
            f"number: “{other}” does not match the format {example} of 2023. {advice}",
        ]
        assert command("verify")[0] == 0

    def test_is_for_who_manages_the_numbers(self, command: Command, rows: sqlite3.Connection, tmp_path: Path) -> None:
        code, _, _ = command("import", written(tmp_path / "a.csv", letter(1)), "--as", "dc.consultant", "--commit")

        assert (code, imported(rows)) == (4, [])

    def test_does_not_move_counters_unasked(
        self, command: Command, rows: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the jump that is shown is not wanted nothing happens at all."""
        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        code, _, _ = command("import", written(tmp_path / "a.csv", letter(9999)), *AS, "--commit", "--move-counters")

        assert (code, imported(rows)) == (1, [])


class TestFile:
    def test_needs_its_columns(self, command: Command, tmp_path: Path) -> None:
        code, _, err = command("import", written(tmp_path / "a.csv", ["1"], head=["number"]), *AS)

        assert code == 3
        assert "Type is missing" in err

    @pytest.mark.parametrize("name", ["a.xlsx", "a.csv"])
    def test_must_be_a_sheet(self, command: Command, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"\xff\xfe\x00PK")

        assert command("import", tmp_path / name, *AS)[0] == 3

    def test_with_a_cell_far_outside_is_refused(self, command: Command, tmp_path: Path) -> None:
        with Workbook(str(tmp_path / "a.xlsx")) as book:
            sheet = book.add_worksheet()
            sheet.write_row("A1", ["number", "type", "originator"])
            sheet.write("XFD1048576", "far")

        code, _, err = command("import", tmp_path / "a.xlsx", *AS)

        assert code == 3
        assert "Cell XFD1048576 lies outside" in err

    def test_too_long_or_too_large_is_refused(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = written(tmp_path / "a.csv", letter(1), letter(2))
        monkeypatch.setattr(NUMBER_IMPORTER, "most_rows", 1)
        assert "Cell A3 lies outside the table: at most 64 columns and 2 rows" in command("import", file, *AS)[2]
        monkeypatch.setattr(legacy_import, "MOST_BYTES", 10)
        assert "larger than" in command("import", file, *AS)[2]


def export_of(command: Command, tmp_path: Path, *words: str) -> list[list[str]]:
    assert command("export", tmp_path / "out.csv", *words)[0] == 0
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))[1:]


class TestExport:
    def test_has_every_number(self, command: Command, tmp_path: Path) -> None:
        command("import", written(tmp_path / "a.csv", letter(1), letter(2)), *AS, "--commit")

        found = export_of(command, tmp_path)

        assert [(row[0], row[1], row[2], row[3], row[5], row[7], row[8]) for row in found] == [
            (letter(n)[0], "LETTER", "คคง.", "ผรม.1", str(n), "CONFIRMED", "IMPORT") for n in (1, 2)
        ]
        command("export", tmp_path / "out.xlsx")
        assert [row[0] for row in sheet_of(tmp_path / "out.xlsx")[1:]] == [row[0] for row in found]

    def test_keeps_to_what_was_asked_for(self, command: Command, tmp_path: Path) -> None:
        command("import", written(tmp_path / "a.csv", letter(1)), *AS, "--commit")

        assert export_of(command, tmp_path, "--type", "RFA") == []
        assert export_of(command, tmp_path, "--series", "คคง.-ผรม.1-{SEQ}-2567") != []
        assert command("export", tmp_path / "x.csv", "--type", "NONE")[0] == 3

    def test_gives_no_formulas(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.csv", ["=1+1", "-2"])

        assert path.read_text(encoding="utf-8-sig").splitlines()[1].startswith("'=1+1,'-2")


class TestDownload:
    @pytest.mark.parametrize("form", ["xlsx", "csv"])
    async def test_gives_the_ledger_of_a_project(self, signed_in: SignIn, tmp_path: Path, form: str) -> None:
        client = await signed_in("padmin")
        project = await read_project(client)
        number = await drawn(client, project)

        answer = await client.get(f"{BASE}/ledger/export", params={"projectPublicId": project.id, "format": form})

        assert answer.status_code == 200, answer.text
        assert f"ledger.{form}" in answer.headers["Content-Disposition"]
        (tmp_path / f"a.{form}").write_bytes(answer.content)
        *_, row = read_table(tmp_path / f"a.{form}", COLUMNS)
        assert row.cells["number"] == number["documentNumber"]

    async def test_of_a_ledger_is_not_for_everybody(self, signed_in: SignIn) -> None:
        client = await signed_in("reviewer.consultant")
        project = await read_project(client)

        answer = await client.get(f"{BASE}/ledger/export", params={"projectPublicId": project.id})

        assert (answer.status_code, answer.json()["code"]) == (403, "PERMISSION_DENIED")

    @pytest.mark.parametrize("form", ["xlsx", "csv"])
    async def test_gives_the_sheet_to_fill_in(self, signed_in: SignIn, tmp_path: Path, form: str) -> None:
        client = await signed_in("padmin")

        answer = await client.get(f"{BASE}/imports/template", params={"format": form})

        (tmp_path / f"a.{form}").write_bytes(answer.content)
        assert list(NUMBER_IMPORTER.rows(tmp_path / f"a.{form}")) == []
