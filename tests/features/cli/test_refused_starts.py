"""
What is wrong with the installation is said in one line that says what to do, in both languages, and never with a password.

`tests/database/test_refused_starts.py` has what a MariaDB server refuses.
"""

import errno
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from saraban import config
from saraban.config import Settings
from saraban.kit.errors import ErrorKind
from saraban.ops.operator_messages import operator_message
from tests.command_tree import run_program
from tests.preloaded import PreloadedProgram, begin_lifespan
from tests.processes import environment_of
from tests.terminal import Command, commands_of

THAI = re.compile("[\u0e00-\u0e7f]")
COMMANDS = ("serve", "worker", "migrate", "user list", "number verify", "audit verify", "document reach verify")
CANNOT_TELL = 2


@pytest.fixture
def command(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    with commands_of("", settings, monkeypatch, capfd):

        def run(words: str, language: str = "en") -> tuple[int, str, str]:
            monkeypatch.setenv("SARABAN_LANG", language)
            monkeypatch.setattr(sys, "argv", ["saraban", *words.split()])
            config.load.cache_clear()
            code = run_program()
            printed = capfd.readouterr()
            return code, printed.out, printed.err

        yield run


class TestASetting:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("PORT", ["many"]),
            ("WORKERS", ["0"]),
            ("ENV", ["prod"]),
            ("TIMEZONE", ["Asia/Bankok", "Asia", "../../etc/passwd"]),
            ("LOG_LEVEL", ["LOUD"]),
            (
                "DATABASE_URL",
                ["s3cret", "postgresql://u:s3cret@h/n", "mysql://u:s3cret@h:port/n", "mysql://u:s3cret@h"],
            ),
            (
                "REDIS_URL",
                [
                    "s3cret",
                    "redis://:s3cret@h:port/0",
                    "redis://:s3cret@h/zero",
                    "http://:s3cret@h/0",
                    "redis://:s3cret@a/0,redis://:s3cret@b/0",
                    "redis+sentinel://:s3cret@a:26379,b:26379",
                    "redis+sentinel://:s3cret@a:port,b:26379/dms",
                    "redis+sentinel://:s3cret@a:26379,b:26379/dms/zero",
                ],
            ),
            (
                "LOCK_REDIS_URLS",
                [
                    "redis://h/0, s3cret",
                    "redis://:s3cret@a/0, redis://:s3cret@b/0",
                    "redis://:s3cret@a/0,redis://b/0,redis://:s3cret@A:6379/1",
                    "redis+sentinel://:s3cret@a:26379,b:26379,c:26379/dms",
                ],
            ),
        ],
    )
    def test_that_cannot_be_used_is_named(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, name: str, values: list[str]
    ) -> None:
        for value, language in product(values, ("th", "en")):
            monkeypatch.setenv(f"SARABAN_{name}", value)
            code, _, err = command("user list", language)

            assert (code, err.count("\n"), bool(THAI.search(err))) == (3, 1, language == "th"), err
            assert f"SARABAN_{name}" in err, value
            assert "s3cret" not in err, value

    @pytest.mark.parametrize("words", COMMANDS)
    def test_is_named_by_every_command(self, command: Command, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
        monkeypatch.setenv("SARABAN_TIMEZONE", "Nowhere")
        monkeypatch.setenv("SARABAN_WORKERS", "none")

        code, _, err = command(words)

        assert code == (CANNOT_TELL if "verify" in words else 3)
        assert [line.split()[3] for line in err.splitlines()] == ["SARABAN_WORKERS", "SARABAN_TIMEZONE"]

    @pytest.mark.parametrize(
        ("wrong", "meant"),
        [
            ("DATABASE_ULR", "DATABASE_URL"),
            ("PROT", "PORT"),
            ("DATABASE", "DATABASE_URL"),
            ("LAGN", "LANG"),
            ("WEBHOOK_LIMIT", "OUTBOUND_LIMIT"),
            ("MAIL_PER_MINUTE", "OUTBOUND_LIMIT"),
            ("MAIL_ATTEMPTS", "MAIL_RETRY_HOURS"),
            ("MAIL_RETRY_SECONDS", "MAIL_RETRY_HOURS"),
        ],
    )
    @pytest.mark.parametrize("place", ["variable", "file"])
    def test_whose_name_is_misspelt_or_retired_is_refused(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: str, meant: str, place: str
    ) -> None:
        folder = tmp_path / "new"
        monkeypatch.setenv("SARABAN_DATA_DIR", str(folder))
        monkeypatch.chdir(tmp_path)
        if place == "variable":
            monkeypatch.setenv(f"SARABAN_{wrong}", "mysql://u:s3cret@h/n")
        else:
            (tmp_path / ".env").write_text(f"SARABAN_{wrong}=mysql://u:s3cret@h/n\n")

        for language in ("th", "en"):
            code, _, err = command("migrate", language)

            assert (code, err.count("\n"), bool(THAI.search(err))) == (2, 1, language == "th"), err
            assert f"SARABAN_{wrong}" in err and f"SARABAN_{meant}" in err
            assert "s3cret" not in err
        assert not folder.exists()

    @pytest.mark.parametrize("name", ["SARABAN_VERSION", "SARABAN_DB_PASSWORD", "SARABAN_SERVICE_HOST"])
    def test_of_another_unknown_name_is_a_warning(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setenv(name, "x")

        code, _, err = command("user list")

        assert (code, err.count("\n")) == (0, 1)
        assert name in err

    def test_of_the_database_is_required_in_production_for_sqlite_too(
        self, command: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("SARABAN_ENV", "production")
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org")
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "new"))

        code, _, err = command("user list")
        assert (code, err.count("\n")) == (3, 1)
        assert "SARABAN_DATABASE_URL" in err

        monkeypatch.setenv("SARABAN_DATABASE_URL", settings.sqlalchemy_url)
        assert command("user list")[0] == 0

    @pytest.mark.parametrize("value", ["", "mysql://u:p%40@h/n", "sqlite:///x.db", "mariadb://u@h:3307/n?x=1"])
    def test_that_can_be_used_is_left_as_it_is(self, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.setenv("SARABAN_DATABASE_URL", value)
        monkeypatch.setenv("SARABAN_REDIS_URL", "rediss://:p@h:6380/1")

        assert Settings().database_url == value

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("redis_url", "redis+sentinel://u:p%40@a:26379, b,[::1]:26380/dms.1/2?sentinel_password=p"),
            ("redis_url", "rediss+sentinel://a/dms"),
            ("lock_redis_urls", "redis://a/0"),
            ("lock_redis_urls", "redis://a/0, redis://a:6380/0,rediss://b/0,unix:///a.sock,unix:///b.sock"),
        ],
    )
    def test_that_leads_to_redis_is_left_as_it_is(self, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
        monkeypatch.setenv(f"SARABAN_{name.upper()}", value)

        assert getattr(Settings(), name) == value


class TestTheDataFolder:
    @pytest.mark.parametrize("words", COMMANDS)
    def test_that_cannot_be_made_is_named(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
    ) -> None:
        in_the_way = tmp_path / "file"
        in_the_way.touch()
        monkeypatch.setenv("SARABAN_DATA_DIR", str(in_the_way))

        code, _, err = command(words)

        assert (code, err.count("\n")) == (CANNOT_TELL if "verify" in words else 4, 1), err
        assert str(in_the_way) in err

    @pytest.mark.parametrize("words", ["number verify", "audit verify", "document reach verify"])
    def test_with_a_damaged_database_leaves_a_verification_open(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
    ) -> None:
        (tmp_path / "saraban.db").write_bytes(os.urandom(8192))
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path))

        code, _, err = command(words)

        assert (code, err.count("\n")) == (CANNOT_TELL, 1), err
        assert "restore a copy" in err


class TestVerify:
    @pytest.mark.parametrize("words", ["number verify", "audit verify", "document reach verify"])
    def test_that_broke_off_is_no_finding(self, command: Command, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
        def fail(_settings: Settings) -> None:
            raise RuntimeError("a bug")

        monkeypatch.setattr("saraban.bootstrap.wire", fail)

        code, _, err = command(words)

        assert code == CANNOT_TELL
        assert "RuntimeError: a bug" in err

    def test_of_the_audit_without_its_heads_tells_nothing_of_the_tail(
        self, command: Command, settings: Settings
    ) -> None:
        assert command("audit seal")[0] == 0
        (settings.data_dir / "audit-heads.log").unlink()

        assert command("audit verify")[0] == CANNOT_TELL


class TestMigrate:
    def test_to_a_revision_that_does_not_exist_is_refused(self, command: Command) -> None:
        code, _, err = command("migrate --to nonsense")

        assert (code, err.count("\n")) == (3, 1)
        assert "nonsense" in err


class TestWorker:
    def test_refuses_demo_accounts_in_production(
        self, command: Command, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SARABAN_ENV", "production")
        monkeypatch.setenv("SARABAN_DATABASE_URL", settings.sqlalchemy_url)
        monkeypatch.setenv("SARABAN_PUBLIC_URL", "https://saraban.example.org")

        code, _, err = command("worker --once")

        assert (code, err.count("\n")) == (6, 1)
        assert "demo accounts" in err

    def test_refuses_a_database_that_is_behind(
        self, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("SARABAN_DATA_DIR", str(tmp_path / "empty"))

        code, _, err = command("worker --once")

        assert (code, err.count("\n")) == (1, 1)
        assert "saraban migrate" in err


@pytest.mark.slow
def test_a_process_of_the_server_says_it_in_one_line_too(settings: Settings) -> None:
    """Its parent has looked before; what changed since then is told by the process that replaces another."""
    environment = environment_of(
        env="production",
        public_url="https://saraban.example.org",
        data_dir=settings.data_dir,
        database_url=settings.sqlalchemy_url,
        lang="en",
    )
    log = settings.data_dir / "process.log"
    process = PreloadedProgram(environment=environment, folder=settings.data_dir, log=log, prepare=begin_lifespan)
    process.wait(60)

    printed = log.read_text("utf-8")
    assert (process.poll(), printed.count("\n")) == (1, 1), printed
    assert "demo accounts" in printed


def _of_sqlite(words: str) -> DBAPIError:
    return OperationalError("SELECT 1", None, sqlite3.OperationalError(words))


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), ErrorKind.BROKEN, "make room"),
        (OSError(errno.EROFS, "Read-only file system", "/data/signing.key"), ErrorKind.FORBIDDEN, "/data/signing.key"),
        (PermissionError(errno.EACCES, "Permission denied", "/data"), ErrorKind.FORBIDDEN, "SARABAN_DATA_DIR"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/data"), ErrorKind.NOT_FOUND, "/data"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), ErrorKind.BROKEN, "does not answer"),
        (_of_sqlite("database or disk is full"), ErrorKind.BROKEN, "make room"),
        (_of_sqlite("attempt to write a readonly database"), ErrorKind.FORBIDDEN, "SARABAN_DATA_DIR"),
        (_of_sqlite("unable to open database file"), ErrorKind.FORBIDDEN, "SARABAN_DATA_DIR"),
        (_of_sqlite("database is locked"), ErrorKind.BUSY, "try again"),
        (_of_sqlite("no such column: x"), None, "saraban migrate"),
    ],
)
def test_a_fault_of_the_system_is_told_with_its_cure(error: Exception, kind: ErrorKind | None, words: str) -> None:
    message = operator_message(error)

    assert message is not None
    assert (message.kind, len(message.lines)) == (kind, 1)
    assert words in message.lines[0].en
    assert THAI.search(message.lines[0].th)


def test_a_bug_keeps_its_traceback() -> None:
    assert operator_message(ValueError("a bug")) is None
