"""The text that a spreadsheet program shows for a stored number, where its number format alone decides that text."""

import re
import struct
from collections import defaultdict
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final

from olefile import OleFileIO

# ECMA-376 part 1, 18.8.30; dates of all countries are here as a year, because none is ever shown.
# fmt: off
BUILT_IN: Final = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
    **dict.fromkeys((14, 15, 16, 17, 22, *range(27, 37), *range(50, 59), *range(71, 82)), "yyyy"),
}
# fmt: on
_LONGEST_CODE: Final = 255
_LONGEST_GENERAL: Final = 11  # characters; beyond, the width of the column decides
_LEAST_GENERAL: Final = Decimal("0.0001")
_MOST: Final = Decimal(10**15)
_SECONDS: Final = 86_400
_TIME: Final = re.compile(r"(?:\[\$-[0-9a-f]{1,4}\])?(?P<hours>hh?):mm(?P<seconds>:ss)?(?:;@)?")
# A locale of more than four figures has digits or an era of its own.
_LITERALS: Final = (
    r'((?:"[^"]*"|\\.|_.|\* |\[\$[^\]-]*(?:-[0-9A-Fa-f]{1,4})?\]'
    r"|\[(?:black|blue|cyan|green|magenta|red|white|yellow)\]|[-+$%(): ]|[^\x00-\x7f])*)"
)
_SECTION: Final = re.compile(rf"{_LITERALS}(?:([#0,]*[#0])(?:\.([0#]{{1,9}}))?)?{_LITERALS}", re.DOTALL | re.IGNORECASE)
_SECTIONS: Final = re.compile(r'((?:"[^"]*"|\\.|[^;"\\])*);', re.DOTALL)
_LITERAL: Final = re.compile(r'"([^"]*)"|\\(.)|_(?:.)|\* |\[\$([^\]-]*)[^\]]*\]|\[[^\]]*\]|(.)', re.DOTALL)
_NO_LETTERS: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]|general', re.DOTALL)


class NumberKind(StrEnum):
    NUMBER = "number"
    DAY = "day"
    TIME = "time"


@lru_cache(maxsize=1024)
def kind_of(code: str) -> NumberKind:
    letters = _NO_LETTERS.sub("", code[:_LONGEST_CODE].lower()).partition(";")[0]
    if re.search("[ydbg]", letters) or ("m" in letters and not re.search("[hs]", letters)):
        return NumberKind.DAY
    return NumberKind.TIME if re.search("[hms]", letters) else NumberKind.NUMBER


@lru_cache(maxsize=65536)
def shown_number(stored: str, code: str) -> str | None:
    """
    Return the text shown for a stored number, or None where that is not certain, as of every date.

    :param code: a number format; empty for an unknown one
    """
    number = Decimal(f"{float(stored):.15g}")  # a spreadsheet program shows 15 digits
    if not code or len(code) > _LONGEST_CODE or kind_of(code) == NumberKind.DAY:
        return None
    if kind_of(code) == NumberKind.TIME:
        return _time(float(stored), code)
    if code.lower() in {"general", "@"}:
        text = f"{number:f}"
        fits = len(text.removeprefix("-")) <= _LONGEST_GENERAL and (not number or abs(number) >= _LEAST_GENERAL)
        return text if fits else None
    return _formatted(number, code)


def plain_number(stored: str) -> str:
    return f"{Decimal(f'{float(stored):.15g}'):f}"


def _time(value: float, code: str) -> str | None:
    """An elapsed time is never certain: a scale of 1:100 that was typed in shows 2:40."""
    form = _TIME.fullmatch(code.lower())
    seconds = round(value * _SECONDS)
    if form is None or not 0 <= seconds < _SECONDS or (seconds % 60 and not form["seconds"]):
        return None
    hours, rest = divmod(seconds, 3600)
    return f"{hours:0{len(form['hours'])}}:{rest // 60:02}" + (f":{rest % 60:02}" if form["seconds"] else "")


def _formatted(number: Decimal, code: str) -> str | None:
    if abs(number) >= _MOST:
        return None
    sections = _SECTIONS.findall(f"{code};")
    at = 2 if not number and len(sections) > 2 else 1 if number < 0 and len(sections) > 1 else 0
    match = _SECTION.fullmatch(sections[at]) if sections else None
    if match is None:
        return None
    before, places, decimals, after = match.groups(default="")
    before, after = ("".join(map(_literal, _LITERAL.finditer(text))) for text in (before, after))
    sign = "-" if number < 0 and at == 0 else ""
    digits = _digits(abs(number) * 100 ** match[0].count("%"), places, decimals) if places else ""
    return None if digits is None else f"{sign}{before}{digits}{after}".strip() or None


def _literal(match: re.Match[str]) -> str:
    return " " if match[0][0] == "_" else "".join(text or "" for text in match.groups())


def _digits(number: Decimal, places: str, decimals: str) -> str | None:
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    whole, _, fraction = f"{rounded:f}".partition(".")
    zeros = places.replace(",", "").lstrip("#")
    if (number and not rounded) or ("," in places and len(zeros) > 1):
        return None
    whole = (
        "" if whole == "0" and not zeros else f"{rounded.__trunc__():,}" if "," in places else whole.zfill(len(zeros))
    )
    least = len(decimals.rstrip("#"))
    return f"{whole}{'.' if decimals else ''}{fraction[:least]}{fraction[least:].rstrip('0')}"


# Records of an XLS (MS-XLS 2.4): the end of a part, a sheet, a format, a style; cells with a formula, a number, several.
_END, _SHEET, _FORMAT, _STYLE = 0x0A, 0x85, 0x41E, 0xE0
_CELLS: Final = (0x06, 0x203, 0x27E, _SEVERAL := 0xBD)


def xls_formats(path: Path) -> list[dict[tuple[int, int], str]]:
    """Return the formats of the cells of each sheet, by row and place; the library that reads the values gives none."""
    with OleFileIO(path) as compound:
        name = "Workbook" if compound.exists("Workbook") else "Book"  # Excel 95 writes formats in another way
        content = compound.openstream(name).read()
    parts = defaultdict[int, list[bytes]](list)
    for kind, body in _records(content, 0):
        parts[kind].append(body)
    texts = ((body, "utf-16-le" if body[4] & 1 else "latin-1") for body in parts[_FORMAT] if name == "Workbook")
    own = {body[0] | body[1] << 8: body[5:].decode(encoding) for body, encoding in texts}
    codes = [own.get(key) or BUILT_IN.get(key, "") for key in (body[2] | body[3] << 8 for body in parts[_STYLE])]
    starts = [int.from_bytes(body[:4], "little") for body in parts[_SHEET]]
    return [dict(_formats_of_sheet(content, start, codes)) for start in starts]


def _formats_of_sheet(content: bytes, start: int, codes: list[str]) -> Iterator[tuple[tuple[int, int], str]]:
    for kind, body in _records(content, start):
        if kind in _CELLS:
            row, place = struct.unpack_from("<HH", body)
            for at in range(4, len(body) - 2 if kind == _SEVERAL else 6, 6):
                yield (row + 1, place + at // 6), codes[body[at] | body[at + 1] << 8]


def _records(content: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records of one part, up to its end or to a chart within it: the cells come before that."""
    kind = 0
    while kind != _END:
        kind, size = struct.unpack_from("<HH", content, start)
        yield kind, content[start + 4 : start + 4 + size]
        start += 4 + size
