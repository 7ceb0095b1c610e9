"""The life of numbers and the ranges of series at the terminal, on a database with the demo project."""

import io
import re
import sqlite3

import pytest

from tests.number_commands import command, rows
from tests.numbering_requests import REASON
from tests.terminal import Command

__all__ = ["command", "rows"]

LETTER = ("LETTER", "--from", "คคง.", "--to", "ผรม.1")
AS = ("--as", "dc.consultant")
ADMIN = ("--as", "padmin", "--reason", REASON)


def reserved(command: Command) -> tuple[str, str]:
    """Reserve a letter's number and give it with its token."""
    code, out, err = command("reserve", *LETTER, *AS)
    assert code == 0, err
    number, token, until = out.splitlines()
    assert re.fullmatch(r"  until: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d", until)
    return number, token.removeprefix("  token: ")


def state_of(rows: sqlite3.Connection, number: str) -> tuple[str, str | None]:
    found: tuple[str, str | None] = rows.execute(
        "SELECT document_number_status, reason FROM document_number_reservations WHERE document_number = ?", [number]
    ).fetchone()
    return found


def series_of(number: str) -> str:
    return re.sub(r"-\d{4}-(\d{4})$", r"-{SEQ}-\1", number)


class TestReserve:
    def test_keeps_the_next_number_for_the_account(self, command: Command, rows: sqlite3.Connection) -> None:
        number, _ = reserved(command)
        following, _ = reserved(command)

        assert following == number.replace("-0001-", "-0002-")
        assert state_of(rows, number) == ("RESERVED", None)

    def test_is_for_who_may_create_the_document(self, command: Command, rows: sqlite3.Connection) -> None:
        refused = command("reserve", *LETTER, "--as", "viewer")
        nobody = command("reserve", *LETTER, "--as", "nobody")

        assert (refused[0], nobody[0]) == (4, 3)
        assert nobody[2] == "saraban: as: “nobody” was not found.\n"
        assert rows.execute("SELECT count(*) FROM document_number_reservations").fetchone() == (0,)


class TestRegister:
    def test_of_drawings_has_its_own_series(self, command: Command, rows: sqlite3.Connection) -> None:
        drawing = ("DRAWING", "--from", "กทท.", "--category", "DRW", "--register", "asbuilt")
        code, out, err = command("reserve", *drawing, "--as", "admin")
        assert code == 0, err
        number, *_ = out.splitlines()

        _, following, _ = command("preview", *drawing)
        confirmed = command("confirm", number, "--register", "asbuilt", "--as", "admin")
        by_hand = ("--sequence", "3", "--as", "admin", "--reason", REASON)
        stated = command("override", *drawing, *by_hand)
        letter = command("preview", *LETTER, "--register", "shop")

        assert (number, confirmed[0], stated[0]) == ("LCBP3-C2-GEN-DRW-0001-A", 0, 0)
        assert following.startswith("LCBP3-C2-GEN-DRW-0002-A\n  series: asbuilt:")
        assert rows.execute("SELECT DISTINCT register FROM document_number_reservations").fetchall() == [("asbuilt",)]
        assert letter[0] == 3
        assert "register" in letter[2]


class TestConfirm:
    @pytest.mark.parametrize("named", ["number", "token"])
    def test_makes_it_final_and_says_the_same_again(
        self, command: Command, rows: sqlite3.Connection, named: str
    ) -> None:
        number, token = reserved(command)
        words = ("confirm", number if named == "number" else token, *AS)

        answers = [command(*words) for _ in range(2)]

        assert answers == [(0, f"{number} is confirmed.\n", "")] * 2
        assert state_of(rows, number) == ("CONFIRMED", None)

    def test_of_somebody_elses_number_finds_no_reservation(self, command: Command, rows: sqlite3.Connection) -> None:
        number, token = reserved(command)

        answers = [command("confirm", named, "--as", "padmin")[0] for named in (number, token)]

        assert answers == [5, 5]
        assert state_of(rows, number) == ("RESERVED", None)

    def test_after_the_expiry_is_refused(self, command: Command, rows: sqlite3.Connection) -> None:
        number, _ = reserved(command)
        rows.execute("UPDATE document_number_reservations SET expires_at = '2026-01-01 00:00:00'")

        code, out, err = command("confirm", number, *AS)

        assert (code, out) == (6, "")
        assert "expired" in err


class TestCancel:
    def test_gives_it_up_with_a_reason(self, command: Command, rows: sqlite3.Connection) -> None:
        number, _ = reserved(command)

        code, out, _ = command("cancel", number, *AS, "--reason", REASON)

        assert (code, out) == (0, f"{number} is given up.\n")
        assert state_of(rows, number) == ("CANCELLED", REASON)
        assert command("confirm", number, *AS)[0] == 6

    @pytest.mark.parametrize("reason", ["abc", "x" * 501, "a bell\x07 rings"])
    def test_with_a_bad_reason_is_wrong_usage(self, command: Command, rows: sqlite3.Connection, reason: str) -> None:
        number, _ = reserved(command)

        assert command("cancel", number, *AS, "--reason", reason)[0] == 2
        assert state_of(rows, number) == ("RESERVED", None)


class TestRange:
    def test_that_is_kept_serves_its_keeper_and_is_listed(self, command: Command) -> None:
        stretch = ("--first", 1, "--last", 2, "--for", "คคง.")
        code, out, err = command("range", "create", *LETTER, *stretch, *ADMIN)
        assert code == 0, err
        name = out.split()[0]

        inside = command("reserve", *LETTER, *AS, "--range", name)[1].splitlines()[0]
        outside, _ = reserved(command)
        listed = command("range", "list")[1]

        assert ("-0001-" in inside, "-0003-" in outside) == (True, True)
        assert re.fullmatch(rf"{name}\s+1-2  KEPT\s+คคง\.  given to 1  (\S+)  {re.escape(REASON)}\n", listed)
        assert series_of(inside) in listed

    def test_that_is_barred_can_be_released_once(self, command: Command) -> None:
        name = command("range", "create", *LETTER, "--first", 1, "--barred", *ADMIN)[1].split()[0]
        over, _ = reserved(command)

        first, second = [command("range", "release", name, *ADMIN) for _ in range(2)]

        assert "-0002-" in over
        assert first == (0, "Range released.\n", "")
        assert second[0] == 6
        assert "RELEASED" in command("range", "list")[1]

    def test_is_told_in_thai_when_there_is_none(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SARABAN_LANG", "th")

        assert command("range", "list") == (0, "ไม่มีช่วงเลข\n", "")

    @pytest.mark.parametrize(
        ("words", "code", "told"),
        [
            (("--first", 9, "--last", 3, *ADMIN), 3, "lastNumber: "),
            (("--first", 1, "--for", "ผรม.9", *ADMIN), 3, "for: “ผรม.9” was not found."),
            (("--first", 1, "--barred", "--for", "คคง.", *ADMIN), 3, "organizationPublicId: "),
            (("--first", 1, "--as", "dc.consultant", "--reason", REASON), 4, "saraban: "),
            (("--first", 0, *ADMIN), 2, "--first"),
        ],
    )
    def test_that_cannot_be_is_refused_and_nothing_is_written(
        self, command: Command, rows: sqlite3.Connection, words: tuple[object, ...], code: int, told: str
    ) -> None:
        answer = command("range", "create", *LETTER, *words)

        assert (answer[0], told in answer[2]) == (code, True), answer
        assert rows.execute("SELECT count(*) FROM document_number_ranges").fetchone() == (0,)


class TestOverride:
    def test_states_a_number_of_an_earlier_year(self, command: Command, rows: sqlite3.Connection) -> None:
        words = ("override", *LETTER, "--sequence", 7, *ADMIN)

        past = command(*words, "--issued-on", "14/8/2567")
        future = command(*words, "--issued-on", "2670-08-14")

        assert past == (0, "คคง.-ผรม.1-0007-2567\n", "")
        assert (future[0], "issuedOn: This must not be after today" in future[2]) == (3, True)
        assert rows.execute("SELECT substr(confirmed_at, 1, 10) FROM document_number_reservations").fetchall() == [
            ("2024-08-14",)
        ]

    def test_takes_the_number_as_it_is_printed(self, command: Command, rows: sqlite3.Connection) -> None:
        number, _ = reserved(command)
        stated = number.replace("-0001-", "-0042-")

        assert command("override", *LETTER, "--number", stated, *ADMIN) == (0, f"{stated}\n", "")
        assert state_of(rows, stated) == ("CONFIRMED", REASON)
        following, _ = reserved(command)
        assert "-0002-" in following

    def test_takes_a_year_in_either_era(self, command: Command) -> None:
        words = ("override", *LETTER, *ADMIN)

        answers = [command(*words, "--sequence", 7 + era, "--year", year)[1] for era, year in enumerate((2567, 2024))]

        assert answers == ["คคง.-ผรม.1-0007-2567\n", "คคง.-ผรม.1-0008-2567\n"]

    @pytest.mark.parametrize(("said", "code", "then"), [("n\n", 1, "-0002-"), ("y\n", 0, "-0041-")])
    def test_moves_the_counter_once_the_jump_was_shown_and_taken(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, said: str, code: int, then: str
    ) -> None:
        reserved(command)
        monkeypatch.setattr("sys.stdin", io.StringIO(said))

        answer = command("override", *LETTER, "--sequence", 40, "--move-counter", *ADMIN)

        assert answer[0] == code, answer
        assert "the counter goes from 1 to 40, by 39." in answer[2]
        assert then in reserved(command)[0]

    def test_moves_the_counter_unasked_where_yes_is_said(self, command: Command) -> None:
        code, _, err = command("override", *LETTER, "--sequence", 40, "--move-counter", "--yes", *ADMIN)

        assert (code, "from 0 to 40" in err) == (0, True)
        assert "-0041-" in reserved(command)[0]

    @pytest.mark.parametrize("words", [(), ("--sequence", 1, "--number", "x")])
    def test_of_neither_or_both_is_refused(self, command: Command, words: tuple[object, ...]) -> None:
        code, out, err = command("override", *LETTER, *words, *ADMIN)

        assert (code, out) == (3, "")
        assert "Give either the number or the sequence." in err


class TestSkip:
    def test_shows_what_is_skipped_and_asks(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        series = series_of(reserved(command)[0])
        moves = f"{series}: 1 -> 52\n"

        monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
        declined = command("skip", series, "--to", 52, "--reason", REASON)
        following, _ = reserved(command)

        assert (declined[0], declined[1].strip()) == (1, moves.strip())
        assert "-0002-" in following

    def test_explains_each_hole_in_the_register(self, command: Command, rows: sqlite3.Connection) -> None:
        series = series_of(reserved(command)[0])

        done = command("skip", series, "--to", 52, "--reason", REASON, "--yes")
        following, _ = reserved(command)
        holes = command("account", series, "--holes")[1]

        assert done == (0, f"{series}: 1 -> 52\nCounters moved: 1\n", "")
        assert "-0053-" in following
        assert re.search(rf"^  2-52  SKIPPED .* system  {re.escape(REASON)}$", holes, re.MULTILINE)
        assert command("verify")[0] == 0
        assert rows.execute(
            "SELECT sequence_number, skipped_to, reason FROM document_number_audit WHERE operation = 'SKIP'"
        ).fetchall() == [(2, 52, REASON)]

    def test_moves_each_series_by_as_many_as_it_would_issue(self, command: Command) -> None:
        first = series_of(reserved(command)[0])
        command("override", *LETTER, "--sequence", 3, *ADMIN)
        command("range", "create", *LETTER, "--first", 4, "--barred", *ADMIN)
        code, out, err = command("reserve", "LETTER", "--from", "คคง.", "--to", "ผรม.2", *AS)
        assert code == 0, err

        done = command("skip", "--all", "--by", 3, "--reason", REASON, "--yes", "--as", "padmin")

        assert done[1].splitlines() == [
            f"{first}: 1 -> 6",
            f"{series_of(out.splitlines()[0])}: 1 -> 4",
            "Counters moved: 2",
        ]

    @pytest.mark.parametrize(
        ("words", "code", "told"),
        [
            (("{series}", "--to", 1), 3, "to: The counter is at 1 already; it cannot go back."),
            (("คคง.-{SEQ}", "--to", 9), 3, "series: “คคง.-{SEQ}” was not found."),
            (("{series}", "--to", 9, "--as", "viewer"), 4, "saraban: "),
            (("{series}", "--to", 9, "--by", 9), 2, "Give SERIES with"),
            (("--all", "--to", 9), 2, "Give SERIES with"),
            (("--by", 9), 2, "Give SERIES with"),
        ],
    )
    def test_that_cannot_be_is_refused_and_nothing_is_written(
        self, command: Command, rows: sqlite3.Connection, words: tuple[object, ...], code: int, told: str
    ) -> None:
        series = series_of(reserved(command)[0])

        answer = command(
            "skip", *(series if word == "{series}" else word for word in words), "--reason", REASON, "--yes"
        )

        assert (answer[0], told in answer[2]) == (code, True), answer
        assert rows.execute("SELECT last_number FROM document_number_counters").fetchall() == [(1,)]


class TestLargeRange:
    WIDE = ("range", "create", *LETTER, "--first", 1, "--last", 999_999, "--barred", *ADMIN)

    @pytest.mark.parametrize(("said", "code", "kept"), [("n\n", 1, 0), ("y\n", 0, 1)])
    def test_is_shown_before_it_is_closed(
        self,
        command: Command,
        rows: sqlite3.Connection,
        monkeypatch: pytest.MonkeyPatch,
        said: str,
        code: int,
        kept: int,
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(said))

        answer = command(*self.WIDE)

        assert answer[0] == code, answer
        assert "999,999 sequences would be closed" in answer[2]
        assert "-1000000-" in answer[2]
        assert rows.execute("SELECT count(*) FROM document_number_ranges").fetchone() == (kept,)

    def test_is_closed_unasked_where_yes_is_said(self, command: Command) -> None:
        assert command(*self.WIDE, "--yes")[0] == 0
