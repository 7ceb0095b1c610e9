"""Which files are taken, told by their content: a name or a header can claim anything."""

import re
import struct
from dataclasses import dataclass
from typing import BinaryIO

_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


@dataclass(frozen=True, slots=True)
class FileKind:
    """
    :param inline: a browser may show it without running anything of the file's in our name
    """

    code: str
    mime_type: str
    extensions: tuple[str, ...]
    inline: bool = False


PDF = FileKind("PDF", "application/pdf", ("pdf",), inline=True)
DOCX = FileKind("DOCX", _DOCX, ("docx",))
XLSX = FileKind("XLSX", _XLSX, ("xlsx",))
DWG = FileKind("DWG", "image/vnd.dwg", ("dwg",))
ZIP = FileKind("ZIP", "application/zip", ("zip",))
JPEG = FileKind("JPEG", "image/jpeg", ("jpg", "jpeg"), inline=True)
PNG = FileKind("PNG", "image/png", ("png",), inline=True)

KINDS = (PDF, DOCX, XLSX, DWG, ZIP, JPEG, PNG)
BY_EXTENSION = {extension: kind for kind in KINDS for extension in kind.extensions}
BY_MIME_TYPE = {kind.mime_type: kind for kind in KINDS}

_DWG_HEAD = re.compile(rb"AC10[0-9]{2}\x00")


def by_name(name: str) -> FileKind | None:
    """Return the kind that the extension of `name` claims, None for one that is not taken."""
    stem, dot, extension = name.rpartition(".")
    return BY_EXTENSION.get(extension.lower()) if stem and dot else None


def detect_kind(file: BinaryIO) -> FileKind | None:
    """Return the kind that the content shows, None for one that is not taken."""
    file.seek(0)
    head = file.read(16)
    if head.startswith(b"%PDF-"):
        return PDF
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if _DWG_HEAD.match(head):
        return DWG
    if head.startswith(b"PK\x03\x04"):
        return _recognise_archive(file)
    return None


def _recognise_archive(file: BinaryIO) -> FileKind | None:
    """Word and Excel files are archives too; what tells them apart are the names inside."""
    names = _names(file)
    if names is None or any(name.endswith(b"vbaProject.bin") for name in names):
        return None
    if b"[Content_Types].xml" not in names:
        return ZIP
    if b"word/document.xml" in names:
        return DOCX
    return XLSX if b"xl/workbook.xml" in names else None


_TELLING = (b"[Content_Types].xml", b"word/document.xml", b"xl/workbook.xml")
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")


def _names(file: BinaryIO) -> set[bytes] | None:
    """
    Return those names of an archive that decide its kind, None when it has no readable directory.

    Read by hand, because the standard library makes an object for each entry: an archive of 50 MB can list a million.
    """
    size = file.seek(0, 2)
    file.seek(max(0, size - 65557))
    tail = file.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < _END.size:
        return None
    _, _, _, _, count, length, offset, comment = _END.unpack_from(tail, place)
    if offset + length > size or place + _END.size + comment != len(tail):
        return None
    file.seek(offset)
    return _telling_names(file.read(length), count)


def _telling_names(directory: bytes, count: int) -> set[bytes] | None:
    found: set[bytes] = set()
    place = 0
    for _ in range(count):
        if len(directory) - place < _ENTRY.size or not directory.startswith(b"PK\x01\x02", place):
            return None
        fields = _ENTRY.unpack_from(directory, place)
        name_length, extra, comment = fields[10:13]
        name = directory[place + _ENTRY.size : place + _ENTRY.size + name_length]
        if name in _TELLING or name.endswith(b"vbaProject.bin"):
            found.add(name)
        place += _ENTRY.size + name_length + extra + comment
    return found
