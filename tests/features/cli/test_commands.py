"""The command line as a person meets it: what is printed, in which language, with which exit code."""

import asyncio
import copy
import io
import re
import shlex
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
import typer
from pydantic import SecretStr
from sqlalchemy.ext.asyncio import AsyncSession

import saraban
from saraban import bootstrap, config
from saraban.cli import COMMANDS, GROUPS
from saraban.config import Settings
from saraban.kit import revisions
from saraban.workflow.runtime.models import WorkflowDefinition
from saraban.workflow.service import Subjects
from tests.command_tree import commands, program
from tests.factories.contexts import context
from tests.factories.letterbox import Letterbox, office_in
from tests.features.cli.conftest import Command
from tests.servers import free_port
from tests.terminal import DEMO

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def examples() -> Iterator[str]:
    """Every line of every help text that shows a command, without the remark behind it."""
    for command in commands(program()):
        for line in re.sub(r"\\\n\s*", "", command.help or "").splitlines():
            if found := re.match(r"\s*(?:[A-Z_]+=\S+ |.*\| )*(saraban .+)", line):
                yield re.split(r"\s{3,}", found[1])[0].strip()


def fault_in(line: str) -> str:
    """What the parser has against it, nothing when it would run."""
    words = shlex.split(line)[1:]
    command = program()
    parent = command.context_class(command, info_name="saraban")
    try:
        while hasattr(command, "commands") and words and not words[0].startswith("-"):
            command = command.commands[words.pop(0)]
        command.make_context(line, words, parent=parent)
    except (typer.Exit, SystemExit):
        return ""
    except Exception as fault:  # noqa: BLE001  whatever it is, it is the verdict
        return f"{line}: {type(fault).__name__} {fault}"
    return ""


class TestHelp:
    @pytest.mark.parametrize("noun", [*COMMANDS, *GROUPS])
    def test_every_noun_has_words_to_learn_from(self, command: Command, noun: str) -> None:
        code, out, _ = command(noun, "--help")

        assert code == 0
        assert "Usage: saraban" in out

    @pytest.mark.parametrize("verb", ["create", "invite", "list", "disable", "enable", "unlock", "password", "grant"])
    def test_every_verb_of_user_has_an_example(self, command: Command, verb: str) -> None:
        assert f"saraban user {'list' if verb == 'list' else verb}" in command("user", verb, "--help")[1]

    def test_every_example_is_a_command_that_exists(self) -> None:
        told = list(examples())

        assert len(told) > 20
        assert [fault for line in told if (fault := fault_in(line))] == []

    def test_every_action_in_an_example_is_one_that_is_written(self) -> None:
        written = "\n".join(path.read_text() for path in Path(saraban.__file__).parent.rglob("*.py"))
        actions = {action for line in examples() for action in re.findall(r"--action (\S+)", line)}

        assert actions
        assert {action for action in actions if f'"{action}"' not in written} == set()

    def test_a_wrong_word_is_wrong_usage(self, command: Command) -> None:
        assert command("usr")[0] == 2


class TestNumberPreview:
    def test_shows_the_number_that_comes_next(self, command: Command) -> None:
        words = "number preview RFA --project LCBP3-C2 --from ผรม.2 --to คคง. --contract LCBP3-C2 --discipline TER --rfa-type RPT"

        code, out, _ = command(*words.split())

        assert code == 0
        assert re.fullmatch(r"LCBP3-C2-RFA-TER-RPT-\d{4}-A", out.splitlines()[0])

    def test_draws_nothing(self, command: Command) -> None:
        words = ["number", "preview", "LETTER", *DEMO, "--from", "คคง.", "--to", "สคฉ.3"]

        assert command(*words) == command(*words)

    def test_names_what_is_unknown_in_one_line(self, command: Command) -> None:
        code, out, err = command("number", "preview", "RFA", *DEMO, "--from", "ผรม.9")

        assert (code, out) == (3, "")
        assert err == "saraban: from: “ผรม.9” was not found.\n"

    def test_speaks_thai(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SARABAN_LANG", "th")

        assert "ไม่พบ “ผรม.9”" in command("number", "preview", "RFA", *DEMO, "--from", "ผรม.9")[2]


class TestUser:
    def test_opens_an_account_and_gives_it_a_role(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("Correct-horse-7-battery\n"))
        assert command("user", "create", "somchai", "--email", "s@example.org", "--password-stdin")[0] == 0
        assert command("user", "grant", "somchai", "Document Control", "--organization", "คคง.")[0] == 0

        listed = command("user", "list")[1]
        assert re.search(r"somchai.*Document Control", listed)

    @pytest.mark.parametrize("words", [("password", "viewer"), ("create", "somchai", "--email", "s@example.org")])
    def test_takes_no_password_as_an_argument(self, command: Command, words: tuple[str, ...]) -> None:
        code, out, err = command("user", *words, "--password", "Correct-horse-7-battery")

        assert code == 2
        assert "--password-stdin" in err
        assert "battery" not in out + err

    def test_has_the_person_change_what_was_set_for_them(
        self, command: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for words in (("password", "viewer"), ("create", "somchai", "--email", "s@example.org")):
            monkeypatch.setattr(sys, "stdin", io.StringIO("Correct-horse-7-battery\n"))
            assert command("user", *words, "--password-stdin")[0] == 0

        with sqlite3.connect(settings.data_dir / "saraban.db") as database:
            rows = database.execute("SELECT username FROM users WHERE must_change_password ORDER BY username")
            assert rows.fetchall() == [("somchai",), ("viewer",)]
        database.close()

    def test_makes_the_password_of_a_program_and_asks_for_none(self, command: Command) -> None:
        code, told, _ = command("user", "create", "importer", "--email", "i@example.org", "--service")

        assert code == 0
        assert re.search(r"told this once: \S{12,}", told)

    def test_refuses_a_role_in_the_wrong_place(self, command: Command) -> None:
        code, _, err = command("user", "grant", "viewer", "Document Control")

        assert code == 6
        assert err.count("\n") == 1

    def test_says_which_account_is_not_there(self, command: Command) -> None:
        code, _, err = command("user", "disable", "nobody")

        assert code == 5
        assert "nobody" in err

    def test_disables_and_enables(self, command: Command) -> None:
        assert command("user", "disable", "viewer")[0] == 0
        assert re.search(r"viewer.*closed", command("user", "list")[1])
        assert command("user", "enable", "viewer")[0] == 0
        assert not re.search(r"viewer.*closed", command("user", "list")[1])


class TestUserInvite:
    SOMCHAI = ("somchai", "--email", "s@example.org", "--organization", "คคง.")

    def test_prints_the_path_of_a_link_and_what_to_put_before_it(self, command: Command) -> None:
        code, out, _ = command("user", "invite", *self.SOMCHAI)

        assert code == 0
        assert re.match(r"somchai: /invitations/\S{40,}\n", out)
        assert "SARABAN_PUBLIC_URL" in out
        assert re.search(r"somchai.*invited", command("user", "list")[1])

    def test_prints_the_whole_link_where_the_address_is_known(
        self, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org/")
        config.load.cache_clear()
        first = command("user", "invite", *self.SOMCHAI)[1]
        second = command("user", "invite", "somchai", "--again")[1]

        assert first.startswith("somchai: https://saraban.example.org/invitations/")
        assert second.startswith("somchai: https://saraban.example.org/invitations/")
        assert first.splitlines()[0] != second.splitlines()[0]

    def test_prints_no_link_that_goes_by_e_mail(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org/")
        monkeypatch.setenv("SARABAN_MAIL", "console")
        config.load.cache_clear()
        out = command("user", "invite", *self.SOMCHAI)[1]

        assert out == "Invitations go by e-mail to somchai.\n"
        handed = command("user", "invite", "somchai", "--again", "--hand-over")[1]
        assert handed.startswith("somchai: https://saraban.example.org/invitations/")
        assert "24 hours" in handed

    def test_asks_for_an_address_or_for_again(self, command: Command) -> None:
        assert command("user", "invite", "somchai")[0] == 2
        assert command("user", "invite", "somchai", "--again")[0] == 5


class TestUserImport:
    def test_writes_a_workbook_to_fill_in_and_takes_it_back(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "people.xlsx"

        assert command("user", "import", "--template", str(file))[0] == 0
        code, out, _ = command("user", "import", str(file), "--dry-run")
        assert (code, out) == (0, "0 would be invited, 0 have an account already; nothing was changed.\n")

    def test_prints_links_and_what_differs(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "people.csv"
        file.write_text(
            "username,email,organization,role,place\nmalee,m@example.org,คคง.,Viewer,คคง.\nviewer,v@example.org,กทท.,,\n"
        )
        code, out, _ = command("user", "import", str(file))

        assert code == 0
        assert "row 3: viewer has an account and stays as it is; the sheet differs in E-mail." in out
        assert re.search(r"^malee: /invitations/\S{40,}$", out, re.MULTILINE)

    def test_names_row_and_column(self, command: Command, tmp_path: Path) -> None:
        file = tmp_path / "people.csv"
        file.write_text("username,email,organization\nmalee,nowhere,คคง.\n")

        assert command("user", "import", str(file)) == (
            3,
            "",
            "saraban: row 2, E-mail: The e-mail address is not valid. Enter a single address such as name@example.org.\n",
        )
        assert command("user", "import", str(tmp_path / "none.xlsx"))[0] == 3


class TestNumberByHand:
    PARTIES = ("LETTER", *DEMO, "--from", "คคง.", "--to", "สคฉ.3")
    REASON = ("--reason", "Test numbers before the project began.")

    def test_is_stated_made_void_and_the_counter_set_back(self, command: Command) -> None:
        stated = command("number", "override", *self.PARTIES, "--sequence", "42", "--as", "padmin", *self.REASON)
        number = stated[1].strip()
        voided = command("number", "void", number, *DEMO, "--as", "padmin", *self.REASON)
        twice = command("number", "void", number, *DEMO, "--as", "padmin", *self.REASON)
        again = command("number", "override", *self.PARTIES, "--sequence", "42", "--as", "padmin", *self.REASON)

        assert (stated[0], "-0042-" in number) == (0, True)
        assert voided[:2] == (0, f"{number} is void.\n")
        assert (twice[0], again[0]) == (6, 6)
        assert number in again[2]

    def test_goes_by_the_rights_of_the_account_that_is_named(self, command: Command) -> None:
        series = ("number", "reset", "คคง.-สคฉ.3-{SEQ}-2569", *DEMO, *self.REASON)

        assert command(*series, "--as", "padmin")[0] == 4
        assert command(*series, "--as", "nobody")[0] == 3
        assert command(*series, "--as", "admin")[0] == 3, "the series has no counter yet"
        assert command("number", "reset", "x", *DEMO, "--as", "admin", "--reason", "short")[0] == 2


class TestAuditShow:
    def test_shows_deeds_by_name_and_public_id(self, command: Command) -> None:
        command("user", "unlock", "viewer")

        code, out, _ = command("audit", "show", "--limit", "1")

        assert code == 0
        assert "user.unlock" in out
        assert "system, command line" in out
        assert UUID.search(out)

    def test_tells_what_was_done_with_a_number(self, command: Command, settings: Settings) -> None:
        drawn = asyncio.run(draw_a_letter(settings))

        code, out, _ = command("audit", "show", "--number", drawn)

        assert code == 0
        assert drawn in out
        assert "GENERATE" in out
        assert "dc.consultant" in out

    def test_says_that_a_number_was_never_printed(self, command: Command) -> None:
        code, out, err = command("audit", "show", "--number", "คคง.-สคฉ.3-9999-2569")

        assert (code, out) == (5, "")
        assert "คคง.-สคฉ.3-9999-2569" in err


async def draw_a_letter(settings: Settings) -> str:
    """Draw the number of a letter as the consultant's document controller."""
    from saraban import bootstrap
    from saraban.identity import service as identity
    from saraban.numbering import service as numbering
    from tests.numbering_world import world_of

    async with bootstrap.closing(bootstrap.wire(settings)) as system:
        world = await world_of(system.db)
        async with system.db.reading() as session:
            caller = await identity.find_caller(session, username="dc.consultant")
            assert caller is not None
            plan = await numbering.plan(
                context(caller=caller, now=system.clock.now(), zone=system.clock.zone), session, request=world.letter()
            )

        issued = await system.allocator.issue(numbering.IssueRequest(context(caller=caller, address=""), plan))
        return issued.number


class TestMigrate:
    def test_check_says_yes_when_nothing_is_to_do(self, command: Command) -> None:
        code, out, _ = command("migrate", "--check")

        assert code == 0
        assert "newest" in out

    def test_check_says_no_on_an_empty_database(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "empty"))
        config.load.cache_clear()

        code, _, err = command("migrate", "--check")

        assert code == 1
        assert "saraban migrate" in err

    @pytest.mark.parametrize("words", [("migrate",), ("migrate", "--check"), ("serve",), ("worker", "--once")])
    @pytest.mark.parametrize(
        ("revision", "said"),
        [
            ("9999", f"newer than this program (revision 9999; this program knows up to {revisions.newest()})"),
            ("0071", "Upgrade it with the version tagged pre-1.0 first."),
        ],
    )
    def test_and_the_server_and_the_worker_refuse_a_database_that_they_cannot_migrate(
        self,
        command: Command,
        settings: Settings,
        monkeypatch: pytest.MonkeyPatch,
        words: tuple[str, ...],
        revision: str,
        said: str,
    ) -> None:
        monkeypatch.setenv("SARABAN_PORT", str(free_port()))
        config.load.cache_clear()
        with closing(sqlite3.connect(settings.data_dir / "saraban.db")) as database, database:
            database.execute("UPDATE alembic_version SET version_num = ?", [revision])

        code, _, err = command(*words)

        assert code == 6
        assert said in err

    def test_fills_an_empty_database_and_again_without_change(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "empty"))
        config.load.cache_clear()

        assert command("migrate")[0] == 0
        assert command("migrate")[0] == 0
        assert command("user", "list")[0] == 0


class TestSecretKey:
    @pytest.mark.parametrize("key", ["x", "changeme", "ก" * 10])
    @pytest.mark.parametrize("words", [("serve", "--demo"), ("worker", "--once"), ("user", "list")])
    def test_that_is_too_short_is_refused_with_one_line_that_says_how_to_make_one(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], key: str
    ) -> None:
        monkeypatch.setenv("SARABAN_SECRET_KEY", key)
        monkeypatch.setenv("SARABAN_PORT", str(free_port()))
        config.load.cache_clear()

        code, _, err = command(*words)

        assert code == 3
        said = f"SARABAN_SECRET_KEY has {len(key.encode())} bytes and needs at least 32"
        assert err == f"saraban: {said}: make one with `openssl rand -base64 48`.\n"

    def test_in_the_data_folder_is_long_enough_or_refused(self, settings: Settings) -> None:
        own = settings.model_copy(update={"secret_key": SecretStr("")})
        assert len(bootstrap.signing_key(own).encode()) >= 32
        (settings.data_dir / "signing.key").write_text("")
        with pytest.raises(bootstrap.SecretKeyTooShort, match=r"signing\.key has 0 bytes"):
            bootstrap.signing_key(own)

    def test_of_32_bytes_is_taken(self, settings: Settings) -> None:
        assert bootstrap.signing_key(settings.model_copy(update={"secret_key": SecretStr("ก" * 11)})) == "ก" * 11


class TestServe:
    def test_says_in_one_line_that_the_port_is_taken(self, command: Command) -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]

            code, _, err = command("serve", "--port", str(port))

        assert code == 1
        assert err == f"saraban: port {port} on 127.0.0.1 is taken; choose another with SARABAN_PORT.\n"

    def test_refuses_a_database_that_is_behind(
        self, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "old"))
        monkeypatch.setenv("SARABAN_PORT", str(free_port()))
        config.load.cache_clear()
        command("migrate", "--to", "0001")

        code, _, err = command("serve")

        assert code == 1
        assert err.count("\n") == 1
        assert "saraban migrate" in err

    @pytest.mark.parametrize("words", [(), ("--demo",)])
    def test_refuses_demo_accounts_in_production(
        self, command: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("SARABAN_ENV", "production")
        monkeypatch.setenv("SARABAN_DATABASE_URL", settings.sqlalchemy_url)
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org")
        monkeypatch.setenv("SARABAN_PORT", str(free_port()))
        config.load.cache_clear()

        code, _, err = command("serve", *words)

        assert code == 6
        assert err.count("\n") == 1
        assert "demo accounts" in err

    @pytest.mark.parametrize("words", [("serve", "--demo"), ("demo",), ("demo", "generate", "--documents", "9")])
    def test_makes_nothing_when_the_demo_is_asked_for_in_production(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
    ) -> None:
        folder = tmp_path / "not-there-yet"
        monkeypatch.setenv("SARABAN_ENV", "production")
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org")
        monkeypatch.setenv("SARABAN_DATA_DIR", str(folder))
        monkeypatch.setenv("SARABAN_DATABASE_URL", f"sqlite:///{folder / 'saraban.db'}")
        config.load.cache_clear()

        code, _, err = command(*words)

        assert (code, folder.exists()) == (6, False)
        assert err == (
            "saraban: The demo project with its demo accounts is not for SARABAN_ENV=production; nothing was made.\n"
        )

        monkeypatch.setenv("SARABAN_LANG", "th")
        assert "ในโหมด production ไม่ได้" in command(*words)[2]

    def test_names_a_setting_that_cannot_be_used(self, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SARABAN_PORT", "many")
        config.load.cache_clear()

        code, _, err = command("serve")

        assert code == 3
        assert "SARABAN_PORT" in err


class TestWorker:
    def test_once_delivers_what_is_due_and_ends(self, command: Command) -> None:
        assert command("worker", "--once")[0] == 0


def test_the_entry_point_runs_as_a_program() -> None:
    program = Path(sys.executable).with_name("saraban")
    outcome = subprocess.run([str(program), "version"], capture_output=True, text=True, check=True)

    assert outcome.stdout.startswith("saraban 0.")


class TestFirstStart:
    def test_says_what_takes_so_long_before_it_does_it(
        self, migrated_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from saraban.cli import serve
        from saraban.documents.demo.service import DemoLoader

        heard: list[str] = []

        async def no_documents(_system: Any) -> int:  # they take most of the time, and another test loads them
            heard.append(capsys.readouterr().out)
            return 0

        folder = tmp_path / "new"
        folder.mkdir()
        shutil.copy(migrated_file, folder / "saraban.db")
        monkeypatch.setattr(DemoLoader, "load_documents", no_documents)
        monkeypatch.setenv("SARABAN_DATA_DIR", str(folder))
        monkeypatch.setenv("SARABAN_LANG", "en")
        config.load.cache_clear()
        try:
            assert [serve._prepare(config.load(), demo=True) for _ in range(2)] == [(True, "")] * 2
        finally:
            config.load.cache_clear()

        assert [text.startswith("Loading the demo project") for text in heard] == [True, False]


class TestWorkflow:
    def test_lists_what_runs_on_which_version(self, command: Command) -> None:
        code, printed, _ = command("workflow", "list", "RFA_APPROVAL")

        assert code == 0
        assert re.fullmatch(r"RFA_APPROVAL +1  active  –\n", printed)

    def test_says_what_publishing_would_refuse_of_what_is_in_force(self, settings: Settings, command: Command) -> None:
        asyncio.run(_older_checks(settings))

        code, printed, told = command("workflow", "list", "RFA_APPROVAL")

        assert (code, printed.count("\n")) == (0, 1)
        assert "RFA_APPROVAL 1: would not pass today's publishing checks: /states/1/on/approve/condition/rule: " in told
        assert "actor.isSubmiter" in told

    def test_moves_what_can_go_on_and_names_what_cannot(
        self, settings: Settings, command: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box = asyncio.run(_two_letters_under_an_old_version(settings))
        # The letterbox stands where documents would, so that the workflow can be any.
        monkeypatch.setattr(bootstrap, "_subjects", lambda _zone: Subjects(box))
        words = ("workflow", "migrate", "LETTERS", "--to", "2", "--as", "admin")

        code, printed, told = command(*words, "--dry-run")
        assert (code, "Nothing was migrated." in printed) == (6, True)
        assert told.count("This version no longer has this status") == 2
        mapped = (*words, "--map", "reading=checking")
        assert command(*mapped)[:2] == (0, f"{2:>8}  Moves to the status given in the mapping.\n")
        assert command(*mapped)[:2] == (0, "There is nothing to migrate.\n")
        assert "checking 2" in command("workflow", "list", "LETTERS")[1]

    def test_says_why_not(self, command: Command) -> None:
        refusals = [
            (("--to", "1", "--as", "padmin"), 4),
            (("--to", "9", "--as", "admin"), 5),
            (("--to", "1", "--as", "admin", "--map", "a=nowhere"), 3),
            (("--to", "1", "--as", "admin", "--map", "bogus_state=pending_review"), 3),
            (("--to", "1", "--as", "admin", "--map", "nothing"), 2),
            (("--to", "1", "--as", "admin", "--map", "draft=draft", "--map", "draft=pending_review"), 2),
            (("--to", "1", "--as", "nobody"), 3),
        ]

        for words, exit_code in refusals:
            code, _, told = command("workflow", "migrate", "RFA_APPROVAL", *words)
            assert (code, bool(told)) == (exit_code, True), words
            assert "saraban: --map bogus_state: " in told or "bogus_state=pending_review" not in words


class TestWorkflowChoices:
    def test_are_made_listed_and_taken_back_by_code(self, command: Command) -> None:
        place = ("--kind", "rfa", "--type", "RPT", "--project", "LCBP3-C2", "--as", "padmin")

        empty = command("workflow", "choices", "--as", "padmin")
        chosen = command("workflow", "choose", "RFA_APPROVAL", *place)
        _, listed, _ = command("workflow", "choices", "--project", "LCBP3-C2", "--as", "padmin")
        gone = [command("workflow", "unchoose", *place)[0] for _ in range(2)]

        assert empty[:2] == (0, "Nothing is assigned.\n")
        assert chosen[:2] == (0, "New documents start on RFA_APPROVAL.\n")
        assert listed.split() == ["rfa", "RPT", "LCBP3-C2", "RFA_APPROVAL"]
        assert gone == [0, 5]

    def test_are_refused_with_the_reason(self, command: Command) -> None:
        refusals = [
            (("RFA_APPROVAL", "--kind", "letters", "--as", "admin"), 3, "--kind: There is no kind “letters”"),
            (("NO_SUCH", "--kind", "rfa", "--as", "admin"), 3, "CODE: No version of “NO_SUCH”"),
            (("RFA_APPROVAL", "--kind", "rfa", "--type", "XYZ", "--as", "admin"), 3, "saraban: --type: "),
            (("RFA_APPROVAL", "--kind", "rfa", "--project", "XYZ", "--as", "admin"), 3, "saraban: --project: "),
            (("RFA_APPROVAL", "--kind", "circulation", "--as", "admin"), 3, "Circulations"),
            (("RFA_APPROVAL", "--kind", "rfa", "--as", "padmin"), 4, ""),
        ]

        for words, exit_code, said in refusals:
            code, _, told = command("workflow", "choose", *words)
            assert (code, said in told) == (exit_code, True), (words, told)


class TestReplay:
    def test_plays_what_has_ended_and_says_what_was_left_out(
        self, command: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        box = asyncio.run(_two_letters_that_ended(settings))
        first = next(facts.number for facts in box.letters.values())
        monkeypatch.setattr(bootstrap, "_subjects", lambda _zone: Subjects(box))

        same = command("workflow", "replay", "LETTERS", "--version", "1")
        other = command("workflow", "replay", "LETTERS", "--version", "2")
        part = command("workflow", "replay", "LETTERS", "--version", "1", "--limit", "1")
        gone = command("workflow", "replay", "LETTERS", "--version", "9")

        assert (same[0], "2  take the same path" in same[1]) == (0, True)
        assert other[0] == 6
        assert f"{first} (step 1, draft, send): A comment is required, and there was none." in other[1]
        assert "2  differ" in other[1]
        assert "1  closed earlier, not tested" in part[1]
        assert gone[0] == 5


async def _two_letters_that_ended(settings: Settings) -> Letterbox:
    """Two letters that went to their end, of a workflow whose second version wants a comment."""
    words = {"th": "คำ", "en": "Word"}
    async with bootstrap.closing(bootstrap.wire(settings)) as system:
        office = await office_in(system.db)
        for more in ({}, {"comment": "required"}):
            states = [
                {
                    "name": "draft",
                    "label": words,
                    "initial": True,
                    "on": {"send": {"to": "sent", "label": words} | more},
                },
                {"name": "sent", "label": words, "terminal": True},
            ]
            await office.define({"workflow": "LETTERS", "states": states}, activate=not more)
        for _ in range(2):
            letter = await office.start(office.letter(), code="LETTERS")
            await office.act(letter.instance_public_id, "send", by="dc.contractor")
    return office.box


async def _older_checks(settings: Settings) -> None:
    """A version in force with a condition that was accepted before names were checked."""

    async def keep(session: AsyncSession) -> None:
        where = WorkflowDefinition.workflow_code == "RFA_APPROVAL"
        raw = copy.deepcopy(await session.scalar(sa.select(WorkflowDefinition.dsl).where(where)))
        assert raw is not None
        raw["states"][1]["on"]["approve"]["condition"] = {"type": "json-logic", "rule": {"var": "actor.isSubmiter"}}
        await session.execute(sa.update(WorkflowDefinition).where(where).values(dsl=raw))

    async with bootstrap.closing(bootstrap.wire(settings)) as system:
        await system.db.transact(keep)


async def _two_letters_under_an_old_version(settings: Settings) -> Letterbox:
    """Two letters in `reading`, of a workflow whose second version calls that state otherwise."""
    words = {"th": "คำ", "en": "Word"}
    async with bootstrap.closing(bootstrap.wire(settings)) as system:
        office = await office_in(system.db)
        for state in ("reading", "checking"):
            states = [
                {"name": "draft", "label": words, "initial": True, "on": {"send": {"to": state, "label": words}}},
                {"name": state, "label": words, "on": {"close": {"to": "closed", "label": words}}},
                {"name": "closed", "label": words, "terminal": True},
            ]
            await office.define({"workflow": "LETTERS", "states": states})
            if state == "reading":
                for _ in range(2):
                    letter = await office.start(office.letter(), code="LETTERS")
                    await office.act(letter.instance_public_id, "send", by="dc.contractor")
    return office.box


class TestProject:
    def test_is_never_assumed(self, command: Command) -> None:
        """Nineteen commands once acted on the demo's project when none was named."""

        taking = [one for one in commands(program()) if any(p.name == "project" for p in one.params)]
        assumed = [one.name for one in taking if any(p.name == "project" and p.default for p in one.params)]
        code, _, err = command("number", "series")

        assert assumed == []
        assert sum(p.required for one in taking for p in one.params if p.name == "project") == 20
        assert (code, "--project" in err) == (2, True)
        assert command("webhook", "list", "--as", "admin")[0] == 2

    def test_generates_nothing_where_as_many_documents_are_there(self, command: Command) -> None:
        assert command("demo", "generate", "--documents", "1", "--json")[0] == 0

        code, out, _ = command("demo", "generate", "--documents", "1", "--json")

        assert code == 0
        assert orjson.loads(out)["found"] == 1
        assert orjson.loads(out)["written"] == 0
        assert command("demo", "generate", "--documents", "1", "--project", "NONE", "--yes")[0] == 3

    def test_generates_drawings_beside_documents_or_alone(self, command: Command) -> None:
        code, out, _ = command("demo", "generate", "--drawings", "30", "--json")

        assert code == 0
        assert orjson.loads(out)["written"] == 0
        assert orjson.loads(out)["drawings"] == {"found": 0, "written": 30}
        assert "30 drawings were there, 0 were written." in command("demo", "generate", "--drawings", "30")[1]
        assert command("demo", "generate")[0] == 2

    @pytest.mark.parametrize(("typed", "expected"), [("y\n", 3), ("n\n", 1)])
    def test_of_somebodys_own_is_filled_with_documents_only_after_a_question(
        self, command: Command, typed: str, expected: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))

        code, _, err = command("demo", "generate", "--documents", "1", "--project", "NONE")

        assert (code, "cannot be removed again" in err) == (expected, True)
        assert ("Nothing was done." in err) == (expected == 1)


class TestFile:
    def test_says_how_far_the_reading_of_files_is(self, command: Command) -> None:
        assert command("file", "texts") == (0, "waiting: 0\nread: 0\n", "")

    def test_has_what_could_not_be_read_wait_again(self, command: Command) -> None:
        code, told, _ = command("file", "retry")

        assert (code, "wait to be read again: 0" in told) == (0, True)
