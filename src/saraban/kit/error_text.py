"""Texts of errors for logs, rows and operators, without the values that databases repeat in their messages."""

import re
from traceback import TracebackException

from saraban.kit.errors import DomainError

_DATABASE_MODULES = {"sqlalchemy", "asyncmy", "sqlite3", "aiosqlite"}
_NAMES_ONLY = {1044, 1045, 1049, 1054, 1130, 1142, 1143, 1146, 1227, 1370, 1698}  # accounts, tables and columns
_NAME_AND_PLACE = re.compile(r"(?: for (?:key|column) ['\w.`]+)?(?: at (?:row|line) \d+)?\Z")


def error_text(error: BaseException) -> str:
    """Return class and first line of an error, at most 500 characters, and no value that a database repeats."""
    words = error.detail if isinstance(error, DomainError) else safe_message(error).partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {words}"[:500] if words else name


def safe_message(error: BaseException) -> str:
    """Return an error's message; of a database's its number and message, with `…` in the place of values."""
    if type(error).__module__.partition(".")[0] not in _DATABASE_MODULES:
        return str(error)
    cause = getattr(error, "orig", None) or error
    number, message = cause.args[:2] if len(cause.args) > 1 else ("", cause)
    return f"{number} {message if number in _NAMES_ONLY else without_values(str(message))}".strip()


def without_values(message: str) -> str:
    """Cut a database's message from its first quote on, except a key, a column or a place at the end."""
    text = message.partition("\n[SQL")[0]
    quotes = [text.find(quote) for quote in "'\"" if quote in text]
    end = _NAME_AND_PLACE.search(text)
    if not quotes or end is None or end.start() < min(quotes):
        return text
    return f"{text[: min(quotes)]}'…'{end.group()}"  # a value may have quotes itself


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an error and of its causes, with safe messages."""
    shown = TracebackException.from_exception(error)
    _hide_values(shown, error)
    return "".join(shown.format()).rstrip("\n")


def _hide_values(shown: TracebackException, error: BaseException) -> None:
    vars(shown)["_str"] = safe_message(error)
    pairs = [(shown.__cause__, error.__cause__), (shown.__context__, error.__context__)]
    if isinstance(error, BaseExceptionGroup):
        pairs += zip(shown.exceptions or (), error.exceptions, strict=False)
    for inner, cause in pairs:
        if inner is not None and cause is not None:
            _hide_values(inner, cause)
