"""Every command of the terminal, with those below it."""

from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import typer

from saraban.cli.output import exit_code_of


@cache
def program() -> Any:
    """Return `saraban` with its commands, which takes a tenth of a second to make of their functions."""
    from saraban.cli import app

    return typer.main.get_command(app)


def run_program() -> int:
    """Run `saraban` with `sys.argv`, and return its exit code."""
    return exit_code_of(partial(program(), prog_name="saraban"))


def commands(command: Any) -> Iterator[Any]:
    yield command
    for child in getattr(command, "commands", {}).values():
        yield from commands(child)
