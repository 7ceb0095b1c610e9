"""
Files, without any I/O: where their bytes lie, which names and kinds are taken, what others see of one, how it is downloaded,
and what is kept of the text inside.
"""

import re
import struct
import unicodedata
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import BinaryIO, Protocol, TypeVar
from urllib.parse import quote
from uuid import UUID
from xml.etree import ElementTree as ET

from saraban.attachments.domain.kinds import (
    BY_MIME_TYPE,
    DOCX,
    MACROS,
    PDF,
    PPTX,
    TXT,
    XLSX,
    ZIP,
    FileKind,
    kind_by_content,
)
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.text import control_character, fold, fold_stored

T = TypeVar("T")


class Storage(Protocol):
    """Keys are text with `/` between the parts; none ever comes from a user."""

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store all chunks under `key`, or nothing when the iterator raises."""
        ...

    def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """
        Return the bytes from `start` on, in chunks.

        :raises FileNotFoundError: when nothing lies under `key`, at the first chunk
        """
        ...

    async def examine(self, key: str, look: Callable[[BinaryIO], T]) -> T:
        """Run `look` on the stored bytes, off the event loop."""
        ...

    async def holds(self, key: str) -> bool: ...

    async def delete(self, key: str) -> None:
        """Remove what lies under `key`, if anything does."""
        ...


def storage_key(public_id: UUID, *, day: date) -> str:
    """Return the place of a file for all its life: being claimed moves no bytes."""
    return f"files/{day:%Y/%m}/{public_id}"


MAX_NAME = 255
FILE_FIELD = "/file"


def acceptable_file_name(sent: str) -> str:
    """
    Return the name a file is kept under: the last part of a path, in the one spelling of `kit.text`.

    :raises Invalid: when it cannot be kept
    """
    name = fold(re.split(r"[/\\]", sent)[-1], FILE_FIELD).strip().rstrip(".")
    if not name.strip("."):
        raise invalid(FILE_FIELD, "required", "ต้องมีชื่อไฟล์", "The file needs a name.")
    if control_character(name) is not None:
        th, en = "ชื่อไฟล์มีอักขระที่ไม่อนุญาต", "The file name has a character that is not allowed."
        raise invalid(FILE_FIELD, "control_character", th, en)
    if len(name) > MAX_NAME:
        th, en = f"ชื่อไฟล์ยาวเกิน {MAX_NAME} ตัวอักษร", f"The file name is longer than {MAX_NAME} characters."
        raise invalid(FILE_FIELD, "too_long", th, en)
    return name


def detect_kind(file: BinaryIO) -> FileKind | None:
    """Return the kind that the content shows, None for one that is not taken."""
    file.seek(0)
    head = file.read(16)
    if head.startswith(b"%PDF-"):
        return PDF
    kind = kind_by_content(file)
    if head.startswith(b"PK\x03\x04"):
        return _recognise_archive(file, kind)
    return PDF if kind in (None, TXT) and _has_late_pdf_header(file) else kind


# What scanners, printers and mail programs write before a PDF begins with none of these, which others open: programs, scripts,
# pages, archives, pictures, and documents of other kinds.
_OTHERS = re.compile(
    rb"\s*(?:MZ|\x7fELF|\xca\xfe\xba\xbe|[\xce\xcf]\xfa\xed\xfe|#!|@echo|<|\{\\rtf|\xd0\xcf\x11\xe0|PK|Rar!|7z\xbc|\x1f\x8b|MSCF"
    rb"|GIF8|RIFF|II\*|MM\0)",
    re.IGNORECASE,
)
_PDF_HEADER = re.compile(rb"%PDF-[12]\.[0-9]")


def _has_late_pdf_header(file: BinaryIO) -> bool:
    """Readers look for the begin of the header in the first 1,024 bytes of a file, and for its end in the last ones."""
    file.seek(0)
    head = file.read(1024 + len("PDF-1.4"))
    file.seek(max(0, file.seek(0, 2) - 2048))
    return (
        not _OTHERS.match(head.lstrip(b"\xef\xbb\xbf")) and bool(_PDF_HEADER.search(head)) and b"%%EOF" in file.read()
    )


def _recognise_archive(file: BinaryIO, open_document: FileKind | None) -> FileKind | None:
    """Office files are archives too; the content types of their parts tell them apart, whatever the parts are called."""
    entries = _entries(file)
    if entries is not None and open_document is not None:
        return MACROS if _SCRIPTS in entries else open_document
    if entries is None or _CONTENT_TYPES not in entries:
        return ZIP if entries is not None and _MACROS not in entries else None
    content_types = _content_types(file, *entries[_CONTENT_TYPES])
    if content_types is None:
        return None
    if _MACROS in entries or _ACTIVE.search(content_types):
        return MACROS
    kinds = [_MAIN_PARTS[part] for part in set(content_types.lower().split(b"\n")) & _MAIN_PARTS.keys()]
    return kinds[0] if len(kinds) == 1 else None  # programs differ in which of two they open


def _content_types(file: BinaryIO, method: int, size: int, offset: int) -> bytes | None:
    """Return the content types of the parts of an office file, None when they cannot be read."""
    file.seek(offset)
    lengths = struct.unpack("<26x2H", file.read(30).ljust(30, b"\0"))
    file.seek(offset + 30 + sum(lengths))
    packed = file.read(min(size, _MOST_CONTENT_TYPES))
    try:
        text = zlib.decompressobj(-15).decompress(packed, _MOST_CONTENT_TYPES) if method else packed
        return "\n".join(one.get("ContentType", "") for one in ET.fromstring(text)).encode()  # noqa: S314  expat is bounded
    except (zlib.error, ET.ParseError, ValueError, LookupError):
        return None


_CONTENT_TYPES, _MACROS, _SCRIPTS = b"[content_types].xml", b"vba", b"basic"
_MAIN_PARTS = {f"{kind.mime_type}.main+xml".encode(): kind for kind in (DOCX, XLSX, PPTX)}
_ACTIVE = re.compile(rb"vba|macro|activex", re.IGNORECASE)  # in content types, whatever a part is called
_ACTIVE_PART = re.compile(rb"(?:^|/)vba(?:project|data)[^/]*$|^xl/macrosheets/|^(?:word|xl|ppt)/activex/")
_SCRIPT_PART = re.compile(rb"^basic/[^/]+/(?!script-lb|dialog-lb)|^scripts/.")  # of an OpenDocument file
_MOST_CONTENT_TYPES = 4 * 1024 * 1024
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")


def _entries(file: BinaryIO) -> "Entries | None":
    """
    Return those entries of an archive that decide its kind, by their names in lower case; None when it has no readable directory.

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
    return _telling_entries(file.read(length), count)


Entries = dict[bytes, tuple[int, int, int]]  # method, packed size and place


def _telling_entries(directory: bytes, count: int) -> Entries | None:
    found: Entries = {}
    place = 0
    for _ in range(count):
        if len(directory) - place < _ENTRY.size or not directory.startswith(b"PK\x01\x02", place):
            return None
        fields = _ENTRY.unpack_from(directory, place)
        name_length, extra, comment = fields[10:13]
        name = directory[place + _ENTRY.size : place + _ENTRY.size + name_length].lower()
        if name in found:
            return None  # programs differ in which of the two they open
        if name == _CONTENT_TYPES or _ACTIVE_PART.search(name):
            found[name if name == _CONTENT_TYPES else _MACROS] = fields[4], fields[8], fields[16]
        elif _SCRIPT_PART.search(name):
            found[_SCRIPTS] = fields[4], fields[8], fields[16]
        place += _ENTRY.size + name_length + extra + comment
    return found


@dataclass(frozen=True, slots=True)
class AttachmentRow:
    """
    :param id: for use inside the process only
    :param workflow_history_id: of the step it came with, None for a document's own file
    """

    id: int
    public_id: UUID
    file_name: str
    mime_type: str
    size: int
    checksum: str | None
    storage_key: str
    is_temporary: bool
    uploaded_by_user_id: int
    created_at: datetime
    expires_at: datetime | None
    workflow_history_id: str | None

    @property
    def download_url(self) -> str:
        return f"/api/v1/attachments/{self.public_id}/content"

    @property
    def shows_inline(self) -> bool:
        kind = BY_MIME_TYPE.get(self.mime_type)
        return kind is not None and kind.inline


_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class ByteSpan:
    start: int
    length: int

    def content_range(self, size: int) -> str:
        return f"bytes {self.start}-{self.start + self.length - 1}/{size}"


class RangeNotSatisfiable(DomainError):
    """The `Range` that was asked for begins behind the file's last byte; `Content-Range` says how long the file is."""

    kind, code = ErrorKind.BEYOND, "RANGE_NOT_SATISFIABLE"
    says = Text("ช่วงที่ขออยู่นอกไฟล์ ({size} ไบต์)", "The range lies outside the file ({size} bytes).")
    recovery = (Text("ดาวน์โหลดทั้งไฟล์ใหม่", "Download the whole file again."),)


def byte_range(header: str | None, *, size: int) -> ByteSpan | None:
    """
    Return the one range that was asked for; None means the whole file, also for what is not understood.

    :raises RangeNotSatisfiable: when nothing of the range is in the file
    """
    match = _RANGE.fullmatch((header or "").strip())
    if not match or not any(match.groups()):
        return None
    first, last = match.groups()
    if not first:
        wanted = min(int(last), size)
        if not wanted:
            raise RangeNotSatisfiable(values={"size": size})
        return ByteSpan(size - wanted, wanted)
    start = int(first)
    if last and int(last) < start:
        return None
    if start >= size:
        raise RangeNotSatisfiable(values={"size": size})
    end = min(int(last), size - 1) if last else size - 1
    return ByteSpan(start, end - start + 1)


def same_tag(header: str | None, tag: str) -> bool:
    """Return whether an `If-None-Match` or `If-Range` header names `tag`; weak marks are looked through."""
    if header is None:
        return False
    listed = {part.strip().removeprefix("W/") for part in header.split(",")}
    return tag in listed or "*" in listed


def content_disposition(name: str, *, inline: bool) -> str:
    """Return the header of RFC 6266: an ASCII name for old clients, the real one after RFC 5987."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r'["\\%;]', "_", plain).strip()
    if not plain.rpartition(".")[0].strip("-_ ."):
        plain = "file" + plain[plain.rfind(".") :] if "." in plain else "file"
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


# A thousand close pages, and three megabytes at most of a statement that MariaDB takes up to 16 of. What stands behind is not searched.
MOST_TEXT = 1_000_000


class TextProblem(StrEnum):
    """Why the text of a file cannot be searched, or not all of it."""

    PASSWORD = "password"  # noqa: S105  the reason, and no secret
    DAMAGED = "damaged"
    NO_TEXT = "no_text"
    NO_UNICODE = "no_unicode"
    TOO_LARGE = "too_large"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    MISSING = "missing"
    CUT = "cut"
    KIND = "kind"


def text_problem(mime_type: str, stored: str | None) -> TextProblem | None:
    """Return why the text of a file cannot be searched; a file of a kind without text is never read."""
    kind = BY_MIME_TYPE.get(mime_type)
    return TextProblem(stored) if stored else TextProblem.KIND if kind and not kind.has_text else None


class UnreadableFile(Exception):
    """The text of a file cannot be had."""

    def __init__(self, problem: TextProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class FileText:
    """
    :param problem: the reason where there is no text, or not all of it
    """

    text: str = ""
    problem: TextProblem | None = None


# Controls but spaces, what has no shape or no meaning of its own, halves of surrogate pairs.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufeff"
    "\ufff0-\uffff]"
)
# Thai fonts of Windows have marks that stand lower or further left under these codes, and PDFs name them so.
_THAI_GLYPHS = dict(zip(range(0xF700, 0xF71B), "ฐิีึื่้๊๋์่้๊๋์ญัํ็่้๊๋์ฺุู", strict=True))
_TONE_INSIDE_SARA_AM = re.compile("\u0e4d([\u0e48-\u0e4b])\u0e32")  # as it is drawn, not as it is typed
_TORN_OFF = re.compile(" (?=[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e])")  # no Thai word begins with these


def holds_thai(text: str) -> bool:
    return re.search("[\u0e01-\u0e5b]", text) is not None


def searchable_text(found: str) -> str:
    """Return what is kept of a file's text: visible letters in the one spelling of `kit.text`, one space between words."""
    visible = _INVISIBLE.sub("", found.translate(_THAI_GLYPHS))
    joined = _TORN_OFF.sub("", " ".join(visible.split()))
    return fold_stored(_TONE_INSIDE_SARA_AM.sub("\\1\u0e33", joined))
