"""How a command ends: exit codes by kind of outcome, one line on stderr in the language of the person at the keyboard."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import typer

from saraban import config
from saraban.kit.errors import DomainError, Invalid, Kind, Text

if TYPE_CHECKING:
    from saraban.bootstrap import System

T = TypeVar("T")

FAILED: Final = 1
EXIT_CODES: Final[dict[Kind, int]] = {
    Kind.INVALID: 3,
    Kind.TOO_LARGE: 3,
    Kind.UNSUPPORTED: 3,
    Kind.BEYOND: 3,
    Kind.UNAUTHENTICATED: 4,
    Kind.FORBIDDEN: 4,
    Kind.NOT_FOUND: 5,
    Kind.CONFLICT: 6,
    Kind.GONE: 6,
    Kind.STALE: 6,
    Kind.THROTTLED: 7,
    Kind.BUSY: 7,
    Kind.BROKEN: 8,
}


def language() -> str:
    """This will give `th` or `en`: `SARABAN_LANG`, then what the terminal's locale says, then English."""
    for name in ("SARABAN_LANG", "LC_ALL", "LC_MESSAGES", "LANG"):
        if chosen := os.environ.get(name, ""):
            return "th" if chosen.lower().startswith("th") else "en"
    return "en"


def say(th: str, en: str) -> str:
    return Text(th, en).say(language())


def stop(th: str, en: str, *, code: int = FAILED) -> typer.Exit:
    """This will print one line on stderr and give what to raise: `raise stop(…)`."""
    sys.stderr.write(f"saraban: {say(th, en)}\n")
    return typer.Exit(code)


def told(app: typer.Typer) -> int:
    """This will run the command that was asked for and give its exit code."""
    try:
        app(prog_name="saraban")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except DomainError as error:
        sys.stderr.write("".join(f"saraban: {line}\n" for line in lines_of(error)))
        return EXIT_CODES[error.kind]
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        from saraban.kit.db import fault_of

        if fault_of(error) is None and "no such table" not in str(error):
            raise
        message = say(
            "ติดต่อฐานข้อมูลไม่ได้ หรือยังไม่ได้สั่ง `saraban migrate`",
            "The database does not answer, or `saraban migrate` has not run.",
        )
        sys.stderr.write(f"saraban: {message} ({type(error).__name__})\n")
        return EXIT_CODES[Kind.BROKEN]
    return 0


@contextmanager
def as_typed(names: Mapping[str, str]) -> Iterator[None]:
    """
    This will have faults name the options and arguments that were typed.

    :param names: by the pointers of the fields; one that ends in a slash stands for all that begin with it
    """
    try:
        yield
    except Invalid as fault:
        fault.fields = tuple(replace(one, pointer=_typed(one.pointer, names)) for one in fault.fields)
        raise


def _typed(pointer: str, names: Mapping[str, str]) -> str:
    for field, name in names.items():
        if pointer == field:
            return name
        if field.endswith("/") and pointer.startswith(field):
            return f"{name} {pointer.removeprefix(field)}"
    return pointer


def lines_of(error: DomainError) -> list[str]:
    """One line for a rule; for bad input one for each field."""
    spoken = language()
    if error.fields:
        return [f"{field.pointer.lstrip('/')}: {field.text.say(spoken, field.values)}" for field in error.fields]
    words = error.words.say(spoken, error.values)
    return [words if error.detail == error.words.say("en", error.values) else f"{words} ({error.detail})"]


def with_system(work: "Callable[[System], Awaitable[T]]") -> T:
    """This will wire the system, do `work` with it, and close it again."""
    from saraban.bootstrap import closing, wire
    from saraban.ops import logs

    settings = config.load()
    logs.configure(level="WARNING", form="console")

    async def run() -> T:
        async with closing(wire(settings)) as system:
            return await work(system)

    return asyncio.run(run())
