"""How a command ends: exit codes by kind of outcome, one line on stderr in the language of the person at the keyboard."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

import typer

from saraban import config
from saraban.kit.error_text import traceback_text
from saraban.kit.errors import ErrorKind, Invalid, Text

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.identity.service import Invitation

T = TypeVar("T")
P = ParamSpec("P")

FAILED: Final = 1
CANNOT_TELL: Final = 2
EXIT_CODES: Final[dict[ErrorKind, int]] = {
    ErrorKind.INVALID: 3,
    ErrorKind.TOO_LARGE: 3,
    ErrorKind.UNSUPPORTED: 3,
    ErrorKind.BEYOND: 3,
    ErrorKind.UNAUTHENTICATED: 4,
    ErrorKind.FORBIDDEN: 4,
    ErrorKind.NOT_FOUND: 5,
    ErrorKind.CONFLICT: 6,
    ErrorKind.GONE: 6,
    ErrorKind.STALE: 6,
    ErrorKind.TIMEOUT: 7,
    ErrorKind.THROTTLED: 7,
    ErrorKind.BUSY: 7,
    ErrorKind.BROKEN: 8,
    ErrorKind.FULL: 8,
}


language = config.language


def say(th: str, en: str) -> str:
    return Text(th, en).say(language())


def tell(th: str, en: str, *, err: bool = False) -> None:
    """Print one sentence in the language of the person at the keyboard."""
    typer.echo(say(th, en), err=err)


def stop(th: str, en: str, *, code: int = FAILED) -> typer.Exit:
    """Print one line on stderr and give what to raise: `raise stop(…)`."""
    sys.stderr.write(f"saraban: {say(th, en)}\n")
    return typer.Exit(code)


def run_app(app: typer.Typer) -> int:
    return exit_code_of(partial(app, prog_name="saraban"))


def exit_code_of(work: Callable[[], object]) -> int:
    """Do a command's work and give its exit code; an expected outcome is one line on stderr."""
    try:
        work()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001  the door of every command
        from saraban.ops.operator_messages import operator_message, printed

        message = operator_message(error)
        sys.stderr.write(printed(message, language()) if message else f"{traceback_text(error)}\n")
        if isinstance(error, config.SettingMisspelt):
            return 2  # wrong usage
        return EXIT_CODES[message.kind] if message and message.kind else FAILED
    return 0


@contextmanager
def verification_failure() -> Iterator[None]:
    """Whatever keeps a verification from its end, a bug too, must not look like what it found."""
    from saraban.ops.operator_messages import operator_message, printed

    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        message = operator_message(error)
        sys.stderr.write(printed(message, language()) if message else f"{traceback_text(error)}\n")
        raise typer.Exit(CANNOT_TELL) from error


@contextmanager
def option_names(names: Mapping[str, str]) -> Iterator[None]:
    """
    Have faults name the options and arguments that were typed.

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


def with_system(work: "Callable[Concatenate[System, P], Awaitable[T]]", /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Wire the system, do `work` with it, and close it again."""
    return with_system_of(config.load(), work, *args, **kwargs)


def with_system_of(
    settings: config.Settings,
    work: "Callable[Concatenate[System, P], Awaitable[T]]",
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Do the same with other settings than those of the environment."""
    from saraban.ops import logs

    logs.configure(level="WARNING", form="console")
    return asyncio.run(_run(settings, work, args, kwargs))


async def _run(
    settings: config.Settings, work: Callable[..., Awaitable[T]], args: Sequence[object], kwargs: Mapping[str, object]
) -> T:
    from saraban.bootstrap import closing, wire

    async with closing(wire(settings)) as system:
        return await work(system, *args, **kwargs)


def print_list(lines: Iterable[str], th: str, en: str) -> None:
    """Print a list, or the sentence that says it is empty."""
    typer.echo("\n".join(lines) or say(th, en))


def print_table(title: str, headings: Iterable[tuple[str, str]], rows: Iterable[Sequence[str]]) -> None:
    """Print a table whose cells are folded where the terminal is narrow."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for th, en in headings:
        table.add_column(say(th, en), overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@contextmanager
def progress_bar(th: str, en: str, *, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Draw a bar on stderr where somebody looks at it; what is given moves it, as `Progress.update` does."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(say(th, en)), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as progress:
        yield partial(progress.update, progress.add_task("", total=total))


class CountedRows:
    """Moves a bar as a comparison reports how far it is, and keeps the count."""

    def __init__(self, move: Callable[..., None]) -> None:
        self._move, self.done = move, 0

    def __call__(self, done: int, total: int) -> None:
        self.done = done
        self._move(completed=done, total=total)


def print_invitations(invitations: "Sequence[Invitation]", *, handed_over: bool = False) -> None:
    """Print each link with whom it is for; what the worker mails has a link of its own."""
    settings = config.load()
    if not invitations:
        return
    if settings.mails_invitations and not handed_over:
        names = ", ".join(one.username for one in invitations)
        tell(f"ส่งคำเชิญทางอีเมลถึง {names}", f"Invitations go by e-mail to {names}.")
        return
    home = settings.public_url.rstrip("/")
    for one in invitations:
        typer.echo(f"{one.username}: {home}{one.path}")
    th, en = ("24 ชั่วโมง", "24 hours") if handed_over else ("7 วัน", "7 days")
    tell(f"ส่งลิงก์ให้เจ้าตัวเท่านั้น ใช้ได้ครั้งเดียวภายใน {th}", f"Give each link to that person alone; it works once, for {en}.")
    if not home:
        tell(
            "ตั้ง SARABAN_PUBLIC_URL ไว้ จะได้ลิงก์เต็ม ตอนนี้ให้เติมที่อยู่ของเซิร์ฟเวอร์ไว้ข้างหน้า",
            "Put the server's address before the path; with SARABAN_PUBLIC_URL set, whole links are printed.",
        )
