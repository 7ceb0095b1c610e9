"""A migration in a process that is killed (`kill -9`) before one of its statements, of those that change something."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from saraban.kit import migrations
from tests.preloaded import FORKS

# The beat comes by the clock.
_CHANGES_NOTHING = re.compile(r"\s*(SELECT|SHOW|SET|DESCRIBE|COMMIT|UPDATE migration_lock SET beat)\b")


def is_killed(die_before: Callable[[str], bool], direction: str, url: str, revision: str) -> bool:
    """
    Return whether the process was killed; otherwise it came to its end.

    :param die_before: asked before each statement
    :param direction: `upgrade` or `downgrade`
    """
    process = FORKS.Process(target=_migrate, args=(die_before, direction, url, revision))
    process.start()
    process.join()
    assert process.exitcode in {0, -signal.SIGKILL}
    return process.exitcode != 0


class Nth:
    """The statement of that number, counted from 1."""

    def __init__(self, number: int) -> None:
        self._left = number

    def __call__(self, _statement: str) -> bool:
        self._left -= 1
        return self._left == 0


class FirstUnseen:
    """The first statement that no process has come to yet; `seen` keeps one in each line."""

    def __init__(self, seen: Path) -> None:
        self._file = seen
        self._seen = set(seen.read_text("utf-8").splitlines()) if seen.exists() else set()

    def __call__(self, statement: str) -> bool:
        line = " ".join(statement.split())
        if line in self._seen:
            return False
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        return True


def _migrate(die_before: Callable[[str], bool], direction: str, url: str, revision: str) -> None:
    def ask(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if not _CHANGES_NOTHING.match(statement) and die_before(statement):
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(sa.Engine, "before_cursor_execute", ask)
    getattr(migrations, direction)(url, revision)
