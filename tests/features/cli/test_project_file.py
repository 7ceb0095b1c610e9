"""`saraban project apply | export | template` as a person meets them."""

from pathlib import Path

import pytest

from saraban.setup import service as setup
from tests.factories.projects import FULL
from tests.features.cli.conftest import Command


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "project.yaml"
    path.write_text(FULL, "utf-8")
    return path


class TestApply:
    def test_shows_and_does_and_has_nothing_left_to_do(self, command: Command, file: Path) -> None:
        dry = command("project", "apply", str(file), "--dry-run")
        first = command("project", "apply", str(file))
        second = command("project", "apply", str(file), "--as", "admin")

        assert (dry[0], first[0], second[0]) == (0, 0, 0)
        assert "nothing was written" in dry[1]
        assert "/contracts/BR-1/disciplines/STR" in first[1]
        assert "somchai: /invitations/" in first[1]
        assert second[1] == "Nothing changes.\n"

    def test_counts_by_section_and_writes_values_as_the_file_does(self, command: Command, file: Path) -> None:
        _, out, _ = command("project", "apply", str(file), "--dry-run")

        assert "organizations: 3\n" in out
        assert "resetYearly: false" in out

    @pytest.mark.parametrize("width", ["60", "80", "120"])
    def test_breaks_no_path_inside_a_word(
        self, command: Command, file: Path, monkeypatch: pytest.MonkeyPatch, width: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", width)
        _, out, _ = command("project", "apply", str(file), "--dry-run")

        assert "/disciplines/STR" in out
        assert "/reviewTeams/DESIGN" in out

    def test_says_one_change_and_what_is_removed(self, command: Command, file: Path) -> None:
        command("project", "apply", str(file))
        file.write_text(FULL.replace("    - {date: 2026-12-07, kind: holiday, name: ชดเชยวันพ่อ}", "    []"), "utf-8")
        _, out, _ = command("project", "apply", str(file), "--prune")

        assert "remove" in out
        assert "1 change written." in out

    def test_speaks_thai(self, command: Command, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SARABAN_LANG", "th")
        _, out, _ = command("project", "apply", str(file), "--dry-run")

        assert "การเปลี่ยนแปลง" in out
        assert "ยังไม่ได้บันทึก" in out

    @pytest.mark.parametrize(
        ("change", "code", "said"),
        [
            (("role: OWNER", "role: BOSS"), 3, "saraban: members/0/role: Line 9: This must be one of:"),
            (("{code: ทช., name: กรมทางหลวงชนบท}", "{code: กทท., name: x}"), 3, "There is no organization"),
            ((FULL, "# empty"), 3, "saraban: The file is empty."),
            (("ทช.", "กทท."), 6, "saraban: organizations/0: Line 2: The database has การท่าเรือแห่งประเทศไทย"),
        ],
    )
    def test_names_the_line_and_ends_with_a_code(
        self,
        command: Command,
        file: Path,
        change: tuple[str, str],
        code: int,
        said: str,
    ) -> None:
        file.write_text(FULL.replace(*change), "utf-8")

        ended, _, err = command("project", "apply", str(file))

        assert ended == code
        assert said in err

    def test_is_shown_in_the_trail_with_the_log_in_name_and_the_project(
        self, command: Command, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("os.getlogin", lambda: "malee")
        command("project", "apply", str(file))
        _, out, _ = command("audit", "show", "--action", "project.apply", "--limit", "1")

        assert "system (malee), command line" in out
        assert "BRIDGE" in out

    def test_of_a_file_that_is_not_there(self, command: Command) -> None:
        assert command("project", "apply", "nowhere.yaml")[0] == 3

    def test_is_for_super_admins(self, command: Command, file: Path) -> None:
        assert command("project", "apply", str(file), "--as", "padmin")[0] == 4


def test_export_gives_a_file_that_changes_nothing(command: Command, tmp_path: Path) -> None:
    code, text, _ = command("project", "export", "LCBP3-C2")
    path = tmp_path / "exported.yaml"
    path.write_text(text, "utf-8")

    assert code == 0
    assert command("project", "apply", str(path))[1] == "Nothing changes.\n"


def test_template_needs_no_database(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SARABAN_DATABASE_URL", "nonsense")

    assert command("project", "template", "building")[1] == setup.template("building")
    assert command("project", "template", "castle")[0] == 3


class TestCreate:
    def test_makes_a_project_from_a_template_or_as_a_copy(self, command: Command) -> None:
        made = command(
            "project", "create", "PIER", "--name", "ท่าเรือ", "--template", "building", "--role", "owner", "--as", "admin"
        )
        copy = command("project", "create", "QUAY", "--name", "ท่า", "--copy-of", "PIER", "--as", "admin")
        exported = [command("project", "export", code)[1] for code in ("PIER", "QUAY")]

        assert (made[0], copy[0]) == (0, 0), (made, copy)
        assert made[1] == "Project PIER created.\n"
        assert exported[1] == exported[0].replace("PIER", "QUAY").replace("ท่าเรือ,", "ท่า,").replace(
            "name: ท่าเรือ}", "name: ท่า}"
        )

    def test_names_what_is_wrong_in_one_line(self, command: Command) -> None:
        code, _, error = command("project", "create", "LCBP3-C2", "--name", "x", "--as", "admin")

        assert code == 6
        assert "LCBP3-C2" in error
        assert command("project", "create", "PIER", "--name", "x", "--template", "castle", "--as", "admin")[0] == 2
        assert command("project", "create", "PIER", "--name", "x", "--as", "padmin")[0] == 4
