"""The command line in this process, on a copy of the demo database."""

import sys
from collections.abc import Callable

import pytest

from saraban import config
from saraban.config import Settings
from tests.command_tree import run_program

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """`command("user", "list")` gives the exit code, stdout and stderr, on a copy of the demo database."""

    monkeypatch.setenv("SARABAN_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    config.load.cache_clear()

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saraban", *words])
        code = run_program()
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    yield run
    config.load.cache_clear()
