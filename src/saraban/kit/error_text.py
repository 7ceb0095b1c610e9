"""Error texts for logs and operators, without the stored values in database messages."""

import re
from traceback import TracebackException

from saraban.kit.errors import DomainError

_DATABASE_MODULES = {"sqlalchemy", "asyncmy", "sqlite3", "aiosqlite"}
_NAMES_ONLY = {1044, 1045, 1049, 1054, 1130, 1142, 1143, 1146, 1227, 1370, 1698}  # accounts, tables and columns
_NAME_AND_PLACE = re.compile(r"(?: for (?:key|column) ['\w.`]+)?(?: at (?:row|line) \d+)?\Z")


def error_text(error: BaseException) -> str:
    words = error.detail if isinstance(error, DomainError) else safe_message(error).partition("\n")[0]
    name = type(error).__name__
    return f"{name}: {words}"[:500] if words else name


def safe_message(error: BaseException) -> str:
    """Return the message; `…` replaces the values in a database message."""
    if type(error).__module__.partition(".")[0] not in _DATABASE_MODULES:
        return str(error)
    cause = getattr(error, "orig", None) or error
    number, message = cause.args[:2] if len(cause.args) > 1 else ("", cause)
    return f"{number} {message if number in _NAMES_ONLY else without_values(str(message))}".strip()


def without_values(message: str) -> str:
    """Cut at the first quote; keep a key, column or row at the end."""
    text = message.partition("\n[SQL")[0]
    quotes = [text.find(quote) for quote in "'\"" if quote in text]
    end = _NAME_AND_PLACE.search(text)
    if not quotes or end is None or end.start() < min(quotes):
        return text
    return f"{text[: min(quotes)]}'…'{end.group()}"  # a value may contain quotes


def traceback_text(error: BaseException) -> str:
    trace = TracebackException.from_exception(error)
    _hide_values(trace, error)
    return "".join(trace.format()).rstrip("\n")


def _hide_values(trace: TracebackException, error: BaseException) -> None:
    vars(trace)["_str"] = safe_message(error)
    pairs = [(trace.__cause__, error.__cause__), (trace.__context__, error.__context__)]
    if isinstance(error, BaseExceptionGroup):
        pairs += zip(trace.exceptions or (), error.exceptions, strict=False)
    for inner, cause in pairs:
        if inner is not None and cause is not None:
            _hide_values(inner, cause)
