"""Commands as a person types them, in this process, on the data folder of a test."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from saraban import config
from saraban.cli.outcome import told
from saraban.config import Settings

Command = Callable[..., tuple[int, str, str]]


@contextmanager
def commands_of(
    noun: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """`command("verify")` then gives the exit code, stdout and stderr of `saraban <noun> verify`, in English."""
    from saraban.cli.root import app

    monkeypatch.setenv("SARABAN_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    config.load.cache_clear()

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["saraban", noun, *(str(word) for word in words)])
        code = told(app)
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    yield run
    config.load.cache_clear()
