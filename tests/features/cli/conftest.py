"""The command line in this process, on a copy of the demo database."""

import sys
from collections.abc import Callable

import pytest

from saraban import config
from saraban.cli.output import run_app
from saraban.config import Settings

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """`command("user", "list")` gives the exit code, stdout and stderr, on a copy of the demo database."""
    from saraban.cli import app

    monkeypatch.setenv("SARABAN_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    config.load.cache_clear()

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saraban", *words])
        code = run_app(app)
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    yield run
    config.load.cache_clear()
