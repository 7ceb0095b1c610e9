"""File and folder names that are valid on Windows, macOS and Linux."""

import re
import unicodedata
from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from saraban.kit.text import fold_stored

MAX_PATH: Final = 240  # UTF-16 units; Windows allows 259 with the folder of the unpacked archive
MAX_NAME_BYTES: Final = 255  # of one file or folder on Linux
_MAX_FOLDER: Final = 100
_FORBIDDEN: Final = re.compile('[\x00-\x1f\x7f-\x9f<>:"/\\\\|?*\u2028\u2029\ud800-\udfff]+')
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)", re.IGNORECASE)
_END: Final = re.compile(r"(?<=.)\.\w{1,15}$")
# Characters that belong to the letter before them: sara am, skin tones, tags, the second half of a flag.
_JOINED: Final = re.compile(
    "[\u0e33\u0eb3\u1160-\u11ff\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)


def archive_paths(files: Iterable[tuple[Hashable, str, str]]) -> Iterator[str]:
    """:param files: owner of the folder, name of the folder (empty: none) and name of the file"""
    folders: dict[Hashable, str] = {}
    taken: dict[str, int] = {}
    for owner, folder, name in files:
        if folder and owner not in folders:
            folders[owner] = _unused_path("", _clean_name(folder), "", _MAX_FOLDER, taken) + "/"
        inside, cleaned = folders[owner] if folder else "", _clean_name(name)
        end = "".join(_END.findall(cleaned))
        yield _unused_path(inside, cleaned.removesuffix(end), end, MAX_PATH - _units(inside), taken)


def _clean_name(name: str) -> str:
    return _FORBIDDEN.sub("-", fold_stored(name)).strip().rstrip(". ")


def _unused_path(inside: str, stem: str, end: str, limit: int, taken: dict[str, int]) -> str:
    """:param taken: by path without case, the last number that was appended"""
    path = inside + _fitting_name(stem, end, limit)
    first = key = _key(path)
    while key in taken:
        taken[first] += 1
        path = inside + _fitting_name(stem, f" ({taken[first]}){end}", limit)
        key = _key(path)
    taken[key] = 1
    return path


def _fitting_name(stem: str, end: str, limit: int) -> str:
    kept = _cut(stem, limit - _units(end) - 1, MAX_NAME_BYTES - len(end.encode()) - 1) or "_"
    return f"_{kept}{end}" if _RESERVED.match(kept + end) else kept + end


def _cut(text: str, units: int, size: int) -> str:
    """Cut without splitting a letter from its marks."""
    complete = 0
    for place, letter in enumerate(text):
        if unicodedata.category(letter)[0] != "M" and not _JOINED.match(letter):
            complete = place
        units, size = units - _units(letter), size - len(letter.encode())
        if units < 0 or size < 0:
            return text[:complete].rstrip(". ")
    return text


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())
