"""Every command of the terminal, with those below it."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import typer


@cache
def program() -> Any:
    """Return `saraban` with its commands, which takes a tenth of a second to make of their functions."""
    from saraban.cli import app

    return typer.main.get_command(app)


def commands(command: Any) -> Iterator[Any]:
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from commands(child)
