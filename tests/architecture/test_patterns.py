"""No regular expression takes more than linear time, whatever is sent: what is four times as long takes about four times as long."""

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import saraban

_FRAGMENTS = (
    "<c ",
    "<c r=",
    " ",
    "a",
    "a ",
    "-",
    '"',
    'a:"',
    ":",
    "x: ",
    "{",
    "0",
    "0.",
    "/",
    "a/",
    "\u0e40",
    "\u0e48",
    "Rev ",
)
_SIZE, _QUADRATIC, _NOTICEABLE = 4_000, 9.0, 0.05  # times as long; seconds of processor time


def patterns() -> Iterator[tuple[str, re.Pattern[Any], set[str]]]:
    """Give the expressions of every module, and the methods by which it uses them."""
    for found in pkgutil.walk_packages(saraban.__path__, "saraban."):
        module = importlib.import_module(found.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and re.search(rf"^{name}\b.*=", source, re.MULTILINE):
                used = set(re.findall(rf"\b{name}\.(fullmatch|match|search|sub|finditer|split)\(", source))
                yield f"{found.name}.{name}", value, used or {"fullmatch"}


def processor_time(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    started = time.thread_time()
    if method == "sub":
        pattern.sub(text[:0], text)
    elif (result := getattr(pattern, method)(text)) is not None and method == "finditer":
        for _ in result:
            pass
    return time.thread_time() - started


def is_quadratic(pattern: re.Pattern[Any], method: str, fragment: str) -> bool:
    def text(size: int) -> Any:
        whole = "a" + fragment * (size // len(fragment)) + "\0"
        return whole.encode() if isinstance(pattern.pattern, bytes) else whole

    if (longer := processor_time(pattern, method, text(4 * _SIZE))) < _NOTICEABLE:
        return False
    return min(longer, processor_time(pattern, method, text(4 * _SIZE))) > _QUADRATIC * min(
        processor_time(pattern, method, text(_SIZE)) for _ in range(3)
    )


def test_every_expression_is_linear() -> None:
    slow = {
        f"{name}.{method} of {fragment!r}"
        for name, pattern, methods in patterns()
        for method in methods
        for fragment in _FRAGMENTS
        if is_quadratic(pattern, method, fragment)
    }

    assert slow == set()
