"""
Just enough of number templates to carry old rows over: frozen here, whatever the product's own become.

Old counters counted apart what prints alike; what they print is their series (REQ-NUM-03).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

FALLBACK = "{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}"
BUDDHIST_OFFSET = 543
_TOKEN = re.compile(r"\{([^{}]*)\}")
_SPELLINGS = {"{ORG}": "{ORIGINATOR}", "{TYPE}": "{CORR_TYPE}", "{YEAR:BE}": "{YEAR:B.E.}", "{YEAR:AD}": "{YEAR:A.D.}"}
_DIGITS = re.compile(r"\d{1,9}")
_UNKNOWN = {"YEAR:B.E.": r"\d{4}", "YEAR:A.D.": r"\d{4}"}


@dataclass(frozen=True)
class Reading:
    """What a printed number turned out to consist of."""

    template: str
    values: dict[str, str]
    sequence: int
    revision: str
    base: str


def respelled(template: str) -> str:
    """Return a template in the spelling that is accepted today."""
    for old, new in _SPELLINGS.items():
        template = template.replace(old, new)
    return template


def christian(year: int) -> int:
    """Return the A.D. year of a counter's year, which was kept in either era (REQ-FMT-14)."""
    return year - BUDDHIST_OFFSET if year >= 2400 else year


def years(year: int) -> dict[str, str]:
    return {"YEAR:B.E.": str(year + BUDDHIST_OFFSET), "YEAR:A.D.": str(year)}


def series(template: str, values: Mapping[str, str], *, resets: bool) -> str:
    """Print a template with the sequence and the revision left out."""

    def fill(token: re.Match[str]) -> str:
        name = token[1]
        if name.startswith("SEQ:"):
            return "{SEQ}"
        if name.startswith("YEAR:") and not resets:
            return "{YEAR}"
        return "" if name == "REV" else values.get(name, "")

    return _TOKEN.sub(fill, template)


def read(number: str, template: str, values: Mapping[str, str]) -> Reading:
    """Take a printed number apart by its template, or by its last digits where the template is not its own."""
    names: list[str] = []

    def pattern(token: str) -> str:
        name = token[1:-1]
        names.append(name)
        if name.startswith("SEQ:"):
            return rf"(\d{{{int(name[4:])},9}})"
        if name == "REV":
            return "([A-Z]{1,3})"
        return f"({re.escape(values[name]) if values.get(name) else _UNKNOWN.get(name, '.+?')})"

    pieces = re.split(r"(\{[^{}]*\})", template)
    whole = "".join(pattern(piece) if piece[:1] == "{" else re.escape(piece) for piece in pieces)
    match = re.fullmatch(whole, number)
    if match is None:
        return _foreign(number)
    found = dict(zip(names, match.groups(), strict=True))
    sequence = next(int(text) for name, text in found.items() if name.startswith("SEQ:"))
    kept = {name: text for name, text in found.items() if name != "REV" and not name.startswith("SEQ:")}
    base = "".join("" if piece == "{REV}" else found[piece[1:-1]] if piece[:1] == "{" else piece for piece in pieces)
    return Reading(template, kept, sequence, found.get("REV", "A"), base)


def _foreign(number: str) -> Reading:
    runs = list(_DIGITS.finditer(number))
    if not runs:
        return Reading(number, {}, 0, "A", number)
    last = runs[-1]
    template = f"{number[: last.start()]}{{SEQ:{len(last[0])}}}{number[last.end() :]}"
    return Reading(template, {}, int(last[0]), "A", number)
