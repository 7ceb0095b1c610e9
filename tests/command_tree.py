"""Every command of the terminal, with those below it."""

from collections.abc import Iterator
from typing import Any


def commands(command: Any) -> Iterator[Any]:
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from commands(child)
