"""OLE2 files, as Word 97, Outlook or Revit write them; made by code, so that one can see what is in them."""

import struct
from collections.abc import Mapping

_FREE, _END, _FAT, _NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_SECTOR = 512


def ole(streams: Mapping[str, bytes], *, entries: int = 0) -> bytes:
    """
    Return an OLE2 file with these streams at its root; each is filled up to 4096 bytes, so that none lies in the mini stream.

    :param entries: of the directory, empty ones beside those that it needs
    """
    names = sorted(streams)
    directory = _entry("Root Entry", 5, child=1 if names else _NONE, start=_END, size=0)
    wholes = [whole + bytes(-len(whole) % _SECTOR) for whole in (streams[name].ljust(4096, b"\0") for name in names)]
    count = -(-max(len(names) + 1, entries) * 128 // _SECTOR)
    places, place = [], count
    for whole in wholes:
        places.append(place)
        place += len(whole) // _SECTOR
    for number, (name, whole) in enumerate(zip(names, wholes, strict=True)):
        following = number + 2 if number + 1 < len(names) else _NONE
        directory += _entry(name, 2, right=following, start=places[number], size=len(whole))
    body = directory.ljust(count * _SECTOR, b"\0") + b"".join(wholes)
    chains = _chain(0, count)
    for whole, start in zip(wholes, places, strict=True):
        chains += _chain(start, len(whole) // _SECTOR)
    tables = 1
    while tables * _SECTOR // 4 < len(chains) + tables:
        tables += 1
    fat = [*chains, *[_FAT] * tables]
    fat += [_FREE] * (tables * _SECTOR // 4 - len(fat))
    listed = [len(chains) + number for number in range(tables)] + [_FREE] * (109 - tables)
    numbers = (0, 0, tables, 0, 0, 4096, _END, 0, _END, 0)
    head = struct.pack("<8s16s6H10I", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6, 0, *numbers)
    return head + struct.pack("<109I", *listed) + body + struct.pack(f"<{len(fat)}I", *fat)


def _chain(start: int, length: int) -> list[int]:
    return [*range(start + 1, start + length), _END] if length else []


def _entry(name: str, kind: int, *, right: int = _NONE, child: int = _NONE, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le") + b"\0\0"
    return struct.pack(
        "<64sH2B3I16sI8s8s3I", text, len(text), kind, 1, _NONE, right, child, b"", 0, b"", b"", start, size, 0
    )
