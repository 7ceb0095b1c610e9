"""Storage interface, file names and kinds, downloads, and searchable text."""

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
    """Keys are text with `/` between the parts; users never choose them."""

    async def write(self, key: str, chunks: AsyncIterator[bytes]) -> None:
        """Store all chunks, or nothing when the iterator raises."""
        ...

    def read(self, key: str, *, start: int = 0, length: int | None = None) -> AsyncIterator[bytes]:
        """:raises FileNotFoundError: at the first chunk"""
        ...

    async def examine(self, key: str, look: Callable[[BinaryIO], T]) -> T:
        """Run `look` in a thread."""
        ...

    async def holds(self, key: str) -> bool: ...

    async def delete(self, key: str) -> None: ...


def storage_key(public_id: UUID, *, day: date) -> str:
    return f"files/{day:%Y/%m}/{public_id}"


MAX_NAME = 255
FILE_FIELD = "/file"


def acceptable_file_name(sent: str) -> str:
    """
    Return the last part of a path, in the normal spelling.

    :raises Invalid:
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
    """Return None for content that is not accepted."""
    file.seek(0)
    head = file.read(16)
    if head.startswith(b"%PDF-"):
        return PDF
    kind = kind_by_content(file)
    if head.startswith(b"PK\x03\x04"):
        return _recognise_archive(file, kind)
    return PDF if kind in (None, TXT) and _has_late_pdf_header(file) else kind


# Beginnings of programs, scripts, pages, archives, pictures and other documents; text that scanners, printers and mail
# programs write before a PDF does not begin like them.
_OTHER_FORMATS = re.compile(
    rb"\s*(?:MZ|\x7fELF|\xca\xfe\xba\xbe|[\xce\xcf]\xfa\xed\xfe|#!|@echo|<|\{\\rtf|\xd0\xcf\x11\xe0|PK|Rar!|7z\xbc|\x1f\x8b|MSCF"
    rb"|GIF8|RIFF|II\*|MM\0)",
    re.IGNORECASE,
)
_PDF_HEADER = re.compile(rb"%PDF-[12]\.[0-9]")


def _has_late_pdf_header(file: BinaryIO) -> bool:
    """Accept a PDF header within 1,024 bytes, like readers."""
    file.seek(0)
    head = file.read(1024 + len("PDF-1.4"))
    file.seek(max(0, file.seek(0, 2) - 2048))
    return (
        not _OTHER_FORMATS.match(head.lstrip(b"\xef\xbb\xbf"))
        and bool(_PDF_HEADER.search(head))
        and b"%%EOF" in file.read()
    )


def _recognise_archive(file: BinaryIO, open_document: FileKind | None) -> FileKind | None:
    """Recognize Office files by the content types of their parts."""
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
    return kinds[0] if len(kinds) == 1 else None  # programs differ in which of the two they open


def _content_types(file: BinaryIO, method: int, size: int, offset: int) -> bytes | None:
    file.seek(offset)
    lengths = struct.unpack("<26x2H", file.read(30).ljust(30, b"\0"))
    file.seek(offset + 30 + sum(lengths))
    packed = file.read(min(size, _MOST_CONTENT_TYPES))
    try:
        text = zlib.decompressobj(-15).decompress(packed, _MOST_CONTENT_TYPES) if method else packed
        return "\n".join(part.get("ContentType", "") for part in ET.fromstring(text)).encode()  # noqa: S314  expat is bounded
    except (zlib.error, ET.ParseError, ValueError, LookupError):
        return None


_CONTENT_TYPES, _MACROS, _SCRIPTS = b"[content_types].xml", b"vba", b"basic"
_MAIN_PARTS = {f"{kind.mime_type}.main+xml".encode(): kind for kind in (DOCX, XLSX, PPTX)}
_ACTIVE = re.compile(rb"vba|macro|activex", re.IGNORECASE)  # in content types, because names can differ
_ACTIVE_PART = re.compile(rb"(?:^|/)vba(?:project|data)[^/]*$|^xl/macrosheets/|^(?:word|xl|ppt)/activex/")
_SCRIPT_PART = re.compile(rb"^basic/[^/]+/(?!script-lb|dialog-lb)|^scripts/.")  # of an OpenDocument file
_MOST_CONTENT_TYPES = 4 * 1024 * 1024
_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s6H3L5H2L")


def _entries(file: BinaryIO) -> "Entries | None":
    """Parse by hand: the standard library creates up to a million objects."""
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
    return _deciding_entries(file.read(length), count)


Entries = dict[bytes, tuple[int, int, int]]  # method, packed size and place


def _deciding_entries(directory: bytes, count: int) -> Entries | None:
    entries: Entries = {}
    place = 0
    for _ in range(count):
        if len(directory) - place < _ENTRY.size or not directory.startswith(b"PK\x01\x02", place):
            return None
        fields = _ENTRY.unpack_from(directory, place)
        name_length, extra, comment = fields[10:13]
        name = directory[place + _ENTRY.size : place + _ENTRY.size + name_length].lower()
        if name in entries:
            return None  # programs differ in which of the two they open
        if name == _CONTENT_TYPES or _ACTIVE_PART.search(name):
            entries[name if name == _CONTENT_TYPES else _MACROS] = fields[4], fields[8], fields[16]
        elif _SCRIPT_PART.search(name):
            entries[_SCRIPTS] = fields[4], fields[8], fields[16]
        place += _ENTRY.size + name_length + extra + comment
    return entries


@dataclass(frozen=True, slots=True)
class AttachmentRow:
    """`workflow_history_id` is None for a document's own file."""

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
    """The requested `Range` begins behind the file's last byte; `Content-Range` contains the file's length."""

    kind, code = ErrorKind.BEYOND, "RANGE_NOT_SATISFIABLE"
    says = Text("ช่วงที่ขออยู่นอกไฟล์ ({size} ไบต์)", "The range lies outside the file ({size} bytes).")
    recovery = (Text("ดาวน์โหลดทั้งไฟล์ใหม่", "Download the whole file again."),)


def byte_range(header: str | None, *, size: int) -> ByteSpan | None:
    """
    Return the range; None for the whole file, also if it is not understood.

    :raises RangeNotSatisfiable:
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
    if header is None:
        return False
    listed = {part.strip().removeprefix("W/") for part in header.split(",")}
    return tag in listed or "*" in listed


def content_disposition(name: str, *, inline: bool) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r'["\\%;]', "_", plain).strip()
    if not plain.rpartition(".")[0].strip("-_ ."):
        plain = "file" + plain[plain.rfind(".") :] if "." in plain else "file"
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


# Characters: a thousand pages, at most 3 MB of a statement, for which MariaDB allows 16. The rest is not searched.
MOST_TEXT = 1_000_000


class TextProblem(StrEnum):
    PASSWORD = "password"  # noqa: S105  not a secret
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
    kind = BY_MIME_TYPE.get(mime_type)
    return TextProblem(stored) if stored else TextProblem.KIND if kind and not kind.has_text else None


class UnreadableFile(Exception):
    def __init__(self, problem: TextProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class FileText:
    """`problem` tells why there is no text, or not all of it."""

    text: str = ""
    problem: TextProblem | None = None


# Control characters, invisible and private characters, surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufeff"
    "\ufff0-\uffff]"
)
# Thai fonts of Windows have shifted marks under these codes, and PDFs contain the codes.
_THAI_GLYPHS = dict(zip(range(0xF700, 0xF71B), "ฐิีึื่้๊๋์่้๊๋์ญัํ็่้๊๋์ฺุู", strict=True))
_TONE_INSIDE_SARA_AM = re.compile("\u0e4d([\u0e48-\u0e4b])\u0e32")  # in drawing order instead of typing order
_SEPARATED_MARK = re.compile(" (?=[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e])")  # no Thai word begins with these


def has_thai(text: str) -> bool:
    return re.search("[\u0e01-\u0e5b]", text) is not None


def searchable_text(text: str) -> str:
    visible = _INVISIBLE.sub("", text.translate(_THAI_GLYPHS))
    joined = _SEPARATED_MARK.sub("", " ".join(visible.split()))
    return fold_stored(_TONE_INSIDE_SARA_AM.sub("\\1\u0e33", joined))
