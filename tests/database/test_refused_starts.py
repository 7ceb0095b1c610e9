"""What a MariaDB server refuses is said in one line that says what to do, in both languages, and never with a password."""

import re
import sys

import pytest

from saraban import config
from saraban.cli.output import run_app
from tests.servers import HOST, PASSWORD, USER, MariaDb

pytestmark = pytest.mark.servers

THAI = re.compile("[\u0e00-\u0e7f]")
CANNOT_TELL = 2


@pytest.fixture(scope="module")
def server(mariadb_server: MariaDb) -> MariaDb:
    mariadb_server.create("plain")
    mariadb_server.run(
        "CREATE DATABASE latin CHARACTER SET latin1; GRANT SELECT ON plain.* TO reader@'%' IDENTIFIED BY 's3cret';"
        "CREATE USER nobody@'%' IDENTIFIED BY 's3cret';"
    )
    return mariadb_server


@pytest.mark.parametrize(
    ("account", "database", "code", "words"),
    [
        (f"{USER}:wrong-s3cret", "plain", 4, "%40"),
        (f"{USER}:{PASSWORD}", "nowhere", 5, "CREATE DATABASE"),
        ("nobody:s3cret", "plain", 4, "GRANT ALL ON"),
        ("reader:s3cret", "plain", 4, "GRANT ALL ON"),
        (f"{USER}:{PASSWORD}", "latin", 6, "ALTER DATABASE `latin` CHARACTER SET utf8mb4"),
        (f"{USER}:{PASSWORD}@{HOST}:1", "plain", 8, "SARABAN_DATABASE_URL"),
    ],
)
@pytest.mark.parametrize("language", ["th", "en"])
def test_migrate_says_what_to_do(
    server: MariaDb,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    account: str,
    database: str,
    code: int,
    words: str,
    language: str,
) -> None:
    where = account if "@" in account else f"{account}@{HOST}:{server.port}"
    monkeypatch.setenv("SARABAN_DATABASE_URL", f"mysql://{where}/{database}")
    monkeypatch.setenv("SARABAN_LANG", language)

    ended, err = run("migrate", monkeypatch, capfd)

    assert (ended, err.count("\n"), bool(THAI.search(err))) == (code, 1, language == "th"), err
    assert words in err
    assert "s3cret" not in err and PASSWORD not in err
    assert server.run("SHOW TABLES", database="latin") == ""


@pytest.mark.parametrize("command", ["serve", "worker", "user list", "number verify", "audit verify", "audit seal"])
def test_every_command_says_it(
    server: MariaDb, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setenv("SARABAN_DATABASE_URL", f"mysql://{USER}:wrong@{HOST}:{server.port}/plain")
    monkeypatch.setenv("SARABAN_PORT", "1")
    monkeypatch.setattr("saraban.cli.serve.refuse_taken_port", lambda *_: None)

    ended, err = run(command, monkeypatch, capfd)

    assert (ended, err.count("\n")) == (CANNOT_TELL if "verify" in command else 4, 1), err


def run(words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    from saraban.cli import app

    monkeypatch.setattr(sys, "argv", ["saraban", *words.split()])
    config.load.cache_clear()
    try:
        return run_app(app), capfd.readouterr().err
    finally:
        config.load.cache_clear()
