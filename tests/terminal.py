"""Commands as a person types them, in this process, on the data folder of a test."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from saraban import config
from saraban.config import Settings
from tests.command_tree import program, run_program

DEMO = ("--project", "LCBP3-C2")
Command = Callable[..., tuple[int, str, str]]


@contextmanager
def commands_of(
    noun: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Command]:
    """
    `command("verify")` then gives the exit code, stdout and stderr of `saraban <noun> verify`, in English.

    What is done in a project is done in the demo's, unless another one is named.
    """
    monkeypatch.setenv("SARABAN_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("SARABAN_LANG", "en")
    monkeypatch.setenv("COLUMNS", "200")
    config.load.cache_clear()

    def run(*words: object) -> tuple[int, str, str]:
        typed = [noun, *(str(word) for word in words)]
        monkeypatch.setattr(sys, "argv", ["saraban", *typed, *(DEMO if needs_project(typed) else ())])
        code = run_program()
        printed = capfd.readouterr()
        return code, printed.out, printed.err

    yield run
    config.load.cache_clear()


def needs_project(words: list[str]) -> bool:
    """Whether a command has to name a project and does not."""
    command: Any = program()
    named = [word for word in words if not word.startswith("-")]
    while named and named[0] in getattr(command, "commands", {}):
        command = command.commands[named.pop(0)]
    required = any(one.name == "project" and (one.required or command.name == "list") for one in command.params)
    return required and not {"--project", "--own"} & set(words)
