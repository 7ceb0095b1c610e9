"""`saraban setup`: an empty database becomes an installation, once; what is wrong is said before anything is made."""

import io
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from saraban import config
from saraban.cli import setup
from tests.command_tree import run_program
from tests.factories.projects import FULL

Command = Callable[..., tuple[int, str, str]]

ROOT = ("--username", "Root", "--email", "root@example.org", "--organization", "กทท.", "--password-stdin")
STRONG = "Harbour-Wall-61"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """`command("setup", …, typed="…")` in production, on a data folder that is not there yet."""

    monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("SARABAN_ENV", "production")
    monkeypatch.setenv("SARABAN_DATABASE_URL", f"sqlite:///{tmp_path / 'data' / 'saraban.db'}")
    monkeypatch.setenv("SARABAN_PUBLIC_URL", "http://localhost:8000")
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    config.load.cache_clear()

    def run(*words: str, typed: str = f"{STRONG}\n") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saraban", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        code = run_program()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    yield run
    config.load.cache_clear()


@pytest.fixture
def migrated(migrated_file: Path, tmp_path: Path) -> None:
    """A database at the newest revision, which saves the command from migrating."""
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(migrated_file, tmp_path / "data")


class TestSetup:
    def test_makes_the_first_super_admin_with_an_organization(self, command: Command) -> None:
        code, out, err = command("setup", *ROOT, "--organization-name", "การท่าเรือ")

        assert (code, err) == (0, "")
        assert "Root is its Super Admin" in out
        listed = command("user", "list")[1]
        assert re.search(r"root.*กทท\..*Superadmin.*active", listed)

    @pytest.mark.usefixtures("migrated")
    def test_is_refused_a_second_time(self, command: Command) -> None:
        command("setup", *ROOT)
        code, _, err = command("setup", *ROOT)

        assert code == 6
        assert err.startswith("saraban: Saraban is set up already; nothing was changed.")

    def test_names_every_fault_and_makes_nothing(self, command: Command, tmp_path: Path) -> None:
        words = ("--username", "x", "--email", "nowhere", "--organization", "two words", "--password-stdin")
        code, _, err = command("setup", *words, typed="weak\n")

        assert code == 3
        assert [line.split(":")[1].strip() for line in err.splitlines()] == [
            "organization",
            "username",
            "email",
            "password",
        ]
        assert not list((tmp_path / "data").glob("*.key"))
        assert command("user", "list")[0] != 0

    def test_names_what_is_missing_where_nobody_can_be_asked(self, command: Command) -> None:
        code, _, err = command("setup", "--username", "root", "--password-stdin")

        assert code == 2
        assert "--email, --organization" in err

    def test_says_which_file_cannot_be_read(self, command: Command, tmp_path: Path) -> None:
        code, _, err = command("setup", *ROOT, "--project", str(tmp_path / "none.yaml"))

        assert code == 3
        assert "none.yaml cannot be read" in err

    @pytest.mark.usefixtures("migrated")
    def test_begins_with_a_project_and_hands_out_its_invitations(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL)
        code, out, err = command("setup", *ROOT, "--project", str(file))

        assert (code, err) == (0, "")
        assert re.search(r"^\w+: http://localhost:8000/invitations/\S{40,}$", out, re.MULTILINE)
        assert "Project BRIDGE: 3 organizations, 1 contract, 2 people\n" in out
        assert "invited" in command("user", "list")[1]

    def test_names_the_faults_of_the_file_too_and_makes_nothing(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text("project: {code: A, name: B, colour: red}\n")
        code, _, err = command("setup", *ROOT, "--project", str(file), typed="weak\n")

        assert code == 3
        assert "password:" in err
        assert "colour" in err
        assert command("user", "list")[0] != 0

    @pytest.mark.usefixtures("migrated")
    def test_makes_no_administrator_without_the_project(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL.replace("RFA_APPROVAL", "NO_SUCH_FLOW"))
        code, _, err = command("setup", *ROOT, "--project", str(file))

        assert code == 3
        assert "NO_SUCH_FLOW" in err
        assert command("setup", *ROOT)[0] == 0

    @pytest.mark.usefixtures("migrated")
    def test_finishes_what_a_server_began(self, command: Command) -> None:
        assert command("migrate")[0] == 0

        assert command("setup", *ROOT)[0] == 0

    @pytest.mark.parametrize(
        ("name", "value", "typed"),
        [("SECRET_KEY", "short", STRONG), ("LOG_LEVEL", "NOISY", STRONG), ("LANG", "en", "weak")],
    )
    def test_leaves_no_database_when_a_setting_or_the_password_is_refused(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, typed: str
    ) -> None:
        monkeypatch.setenv(f"SARABAN_{name}", value)
        config.load.cache_clear()

        assert command("setup", *ROOT, typed=f"{typed}\n")[0] == 3
        assert not (tmp_path / "data" / "saraban.db").exists()

    def test_refuses_another_name_than_the_file_gives_the_organization(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text("organizations: [{code: กทท., name: การท่าเรือ}]\nproject: {code: P, name: a}\n")
        code, _, err = command("setup", *ROOT, "--organization-name", "กรมท่า", "--project", str(file))

        assert code == 6
        assert "“กรมท่า”" in err
        assert "“การท่าเรือ”" in err
        assert not (tmp_path / "data" / "saraban.db").exists()


def test_asks_again_for_a_password_that_is_too_weak(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["weak", STRONG])
    monkeypatch.setattr(setup.typer, "prompt", lambda *_words, **_how: next(typed))

    assert setup._asked_password("root") == STRONG
    assert "12" in capsys.readouterr().err


class TestDryRun:
    def test_shows_what_a_file_would_make_and_leaves_nothing(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL)
        code, out, err = command("setup", "--project", str(file), "--dry-run", typed="")

        assert (code, err) == (0, "")
        assert "/contracts/BR-1" in out
        assert "nothing was written" in out
        assert not (tmp_path / "data").exists()

    @pytest.mark.usefixtures("migrated")
    def test_names_what_the_file_refers_to_in_vain(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "project.yaml"
        file.write_text(FULL.replace("RFA_APPROVAL", "NO_SUCH_FLOW"))
        code, _, err = command("setup", "--project", str(file), "--dry-run", typed="")

        assert code == 3
        assert "NO_SUCH_FLOW" in err

    def test_needs_a_file(self, command: Command) -> None:
        assert command("setup", "--dry-run", typed="")[0] == 2


def test_a_project_is_applied_after_the_setup(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "project.yaml"
    file.write_text(FULL)
    code, _, err = command("project", "apply", str(file), "--dry-run")

    assert code == 1
    assert "`saraban setup`" in err
    assert not (tmp_path / "data" / "saraban.db").exists()


class TestToken:
    @pytest.mark.usefixtures("migrated")
    def test_prints_a_new_link_until_somebody_has_an_account(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org/")
        config.load.cache_clear()
        links = []
        for _ in range(2):
            code, out, _ = command("setup", "--token")
            links += re.findall(r"https://saraban\.example\.org/setup\?token=\S{40,}", out)
            assert code == 0
        command("setup", *ROOT)

        assert len(set(links)) == 2
        assert command("setup", "--token")[0] == 6
