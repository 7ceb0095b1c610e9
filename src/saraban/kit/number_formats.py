"""Texts that a spreadsheet program displays for stored numbers."""

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Final

from olefile import OleFileIO

from saraban.kit.sheet_columns import RawCell

# ECMA-376 part 1, 18.8.30. All dates share one format here, because their text is never certain.
# fmt: off
BUILT_IN: Final = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 49: "@",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0",
    **dict.fromkeys((14, 15, 16, 17, 22, *range(27, 37), *range(50, 59), *range(71, 82)), "yyyy-mm-dd"),
}
# fmt: on
_LONGEST_CODE: Final = 255
_LONGEST_GENERAL: Final = 11  # characters of a fraction; beyond, the width of the column decides
_LEAST_GENERAL: Final = Decimal("0.0001")
_MOST: Final = Decimal(10**15)
_SECONDS: Final = 86_400
_TIME: Final = re.compile(r"(?:\[\$-[0-9a-f]{1,4}\])?(?P<hours>hh?):mm(?P<seconds>:ss)?(?:;@)?")
_PART: Final = re.compile(
    r'"([^"]*)"|\\(.)|(?P<gap>_.)|\*.|\[\$([^\]-]*)(?:-(?P<locale>[0-9A-F]{1,8}))?\]|(?P<general>general|@)|(?P<figure>[0#?.,])'
    r"|\[(?:black|blue|cyan|green|magenta|red|white|yellow)\]|([-+$%(): 1-9]|[^\x00-\x7f])",
    re.DOTALL | re.IGNORECASE,
)
_FIGURES: Final = re.compile(r"([0#?,]*[0#?])(,*)(\.?)([0#?]{0,9})")
_THAI_DIGITS: Final = 0x0D  # first byte of a locale; other values stand for digits that are not known here
_TO_THAI: Final = str.maketrans("0123456789", "๐๑๒๓๔๕๖๗๘๙")
_SECTIONS: Final = re.compile(r'((?:"[^"]*"|\\.|[^;"\\])*);', re.DOTALL)
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
    Return the displayed text, or None if it is not certain, as for every date.
    :param code: number format; empty if unknown
    """
    number = Decimal(f"{float(stored):.15g}")  # spreadsheet programs display 15 digits
    if not code or len(code) > _LONGEST_CODE or kind_of(code) == NumberKind.DAY:
        return None
    if kind_of(code) == NumberKind.TIME:
        return _format_time(float(stored), code)
    sections = _sections(code)[0]
    at = 2 if not number and len(sections) > 2 else 1 if number < 0 and len(sections) > 1 else 0
    text = _format_number(abs(number), sections[at]) if sections and abs(number) < _MOST else None
    return text if text is None else f"{'-' if number < 0 and at == 0 else ''}{text}".strip()


@lru_cache(maxsize=65536)
def shown_text(stored: str, code: str) -> str | None:
    """Return the displayed text, or None if it is not certain."""
    parts = _parts(_sections(code[:_LONGEST_CODE])[1])
    return None if parts is None or any(part["figure"] for part in parts) else _join_parts(parts, stored)


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[list[str], str]:
    sections: list[str] = _SECTIONS.findall(f"{code};")
    has_text = len(sections) > 3 or any(part[0] == "@" for part in _PART.finditer("".join(sections[-1:])))
    return (sections[:-1] or sections, sections[-1]) if has_text else (sections, "@")


@lru_cache(maxsize=1024)
def _parts(section: str) -> list[re.Match[str]] | None:
    parts = [*_PART.finditer(section)]
    return parts if sum(len(part[0]) for part in parts) == len(section) else None


def plain_number(stored: str) -> str:
    return f"{Decimal(f'{float(stored):.15g}'):f}"


def _format_time(value: float, code: str) -> str | None:
    """Elapsed times return None: a typed scale of 1:100 is displayed as 2:40."""
    form = _TIME.fullmatch(code.lower())
    seconds = round(value * _SECONDS)
    if form is None or not 0 <= seconds < _SECONDS or (seconds % 60 and not form["seconds"]):
        return None
    hours, rest = divmod(seconds, 3600)
    return f"{hours:0{len(form['hours'])}}:{rest // 60:02}" + (f":{rest % 60:02}" if form["seconds"] else "")


def _format_number(number: Decimal, section: str) -> str | None:
    parts = _parts(section) or []
    figures = "".join(part["figure"] or "" for part in parts)
    digits = {int(part["locale"], 16) >> 24 for part in parts if part["locale"]} - {0, 1}
    shares = _figure_texts(number * 100 ** sum(part[0] == "%" for part in parts), figures) if figures else []
    is_certain = bool(parts or not section) and digits <= {_THAI_DIGITS} and ("," not in figures or figures in section)
    general = _general_text(number)
    if not is_certain or shares is None or (general is None and any(part["general"] for part in parts)):
        return None
    to_local = _TO_THAI if digits else {}
    return _join_parts(parts, str(general).translate(to_local), [share.translate(to_local) for share in shares])


def _general_text(number: Decimal) -> str | None:
    text = f"{number:f}"
    return None if "." in text and (len(text) > _LONGEST_GENERAL or number < _LEAST_GENERAL) else text


def _join_parts(parts: Sequence[re.Match[str]], general: str, shares: Iterable[str] = ()) -> str:
    share = iter(shares)
    fixed = {"general": general, "gap": " "}
    return "".join(
        next(share)
        if part["figure"]
        else fixed.get(part.lastgroup or "", part[1] or part[2] or part[4] or part[8] or "")
        for part in parts
    )


def _figure_texts(number: Decimal, figures: str) -> list[str] | None:
    match = _FIGURES.fullmatch(figures)
    if match is None or number >= _MOST:
        return None
    whole, thousands, point, decimals = match.groups()
    number /= 1000 ** len(thousands)
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    required_digits = whole.replace(",", "").lstrip("#?")
    if (number and not rounded) or ("," in whole and (len(required_digits) > 1 or "?" in whole)):
        return None
    text, _, fraction = f"{rounded:{',' if ',' in whole else ''}f}".partition(".")
    text = ("" if text == "0" else text).zfill(len(required_digits))
    head_length = max(len(text) - len(whole) + 1, 1)
    places = [text[:head_length], *text[head_length:]] if text else []
    blanks = [" " if place == "?" else "" for place in whole + decimals]
    decimal_count = max(len(decimals.rstrip("#?")), len(fraction.rstrip("0")))
    return [
        *blanks[: len(whole) - len(places)],
        *places,
        *("" for _ in thousands),
        *point,
        *fraction[:decimal_count],
        *blanks[len(whole) + decimal_count :],
    ]


def xls_cell(cell: object, code: str) -> RawCell:
    if isinstance(cell, bool):
        return ["flag", str(cell).upper(), str(cell).lower()]
    if isinstance(cell, int | float):
        return ["number", shown_number(str(cell), code), plain_number(str(cell)), code]
    if isinstance(cell, date):
        return ["day", None, cell.isoformat()[:10], code]
    if isinstance(cell, str):
        return text_cell(cell, code)
    if isinstance(cell, time):
        cell = timedelta(hours=cell.hour, minutes=cell.minute, seconds=cell.second)
    assert isinstance(cell, timedelta)
    days = str(cell / timedelta(days=1))
    return ["time", shown_number(days, code), days, code]


def text_cell(text: str, code: str) -> RawCell:
    displayed = shown_text(text, code) if code else text
    return ["number", None, "#N/A"] if displayed is None else displayed


# Records of an XLS (MS-XLS 2.4): the end of a part, a sheet, a format, a style; cells with a formula, a number, a text, several
# numbers.
_END, _SHEET, _FORMAT, _STYLE = 0x0A, 0x85, 0x41E, 0xE0
_CELLS: Final = (0x06, 0x203, 0x27E, 0xFD, _SEVERAL := 0xBD)


def xls_formats(path: Path) -> list[dict[tuple[int, int], str]]:
    """Return the cell formats of each sheet by row and place; the XLS library omits them."""
    with OleFileIO(path) as compound:
        name = "Workbook" if compound.exists("Workbook") else "Book"  # Excel 95 writes formats in another way
        content = compound.openstream(name).read()
    parts = defaultdict[int, list[bytes]](list)
    for kind, body in _records(content, 0):
        parts[kind].append(body)
    texts = ((body, "utf-16-le" if body[4] & 1 else "latin-1") for body in parts[_FORMAT] if name == "Workbook")
    custom_formats = {body[0] | body[1] << 8: body[5:].decode(encoding) for body, encoding in texts}
    codes = [
        custom_formats.get(key) or BUILT_IN.get(key, "") for key in (body[2] | body[3] << 8 for body in parts[_STYLE])
    ]
    starts = [int.from_bytes(body[:4], "little") for body in parts[_SHEET]]
    return [dict(_cell_formats(content, start, codes)) for start in starts]


def _cell_formats(content: bytes, start: int, codes: list[str]) -> Iterator[tuple[tuple[int, int], str]]:
    for kind, body in _records(content, start):
        if kind in _CELLS:
            row, place = struct.unpack_from("<HH", body)
            for at in range(4, len(body) - 2 if kind == _SEVERAL else 6, 6):
                yield (row + 1, place + at // 6), codes[body[at] | body[at + 1] << 8]


def _records(content: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the records up to the end of a part or its first chart, which follows the cells."""
    kind = 0
    while kind != _END:
        kind, size = struct.unpack_from("<HH", content, start)
        yield kind, content[start + 4 : start + 4 + size]
        start += 4 + size
