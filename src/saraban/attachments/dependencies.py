"""Dependencies of file endpoints, and streaming of uploads."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from typing import Annotated, Any

from fastapi import Depends, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from saraban.attachments.domain import Storage
from saraban.attachments.service import AccessRules, FileStore, UploadRules
from saraban.kit.errors import Invalid, invalid, required
from saraban.kit.http import Wiring, async_dependency, wiring

MAX_PART_HEADERS = 8 * 1024
# The OpenAPI request body of an operation with `OneFile`.
MULTIPART: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "additionalProperties": False,
                }
            }
        },
    }
}


@dataclass(frozen=True, kw_only=True)
class FileWiring(Wiring):
    storage: Storage
    uploads: UploadRules
    readers: AccessRules


def storage(request: Request) -> Storage:
    return wiring(request, FileWiring).storage


def readers(request: Request) -> AccessRules:
    return wiring(request, FileWiring).readers


def file_store(request: Request) -> FileStore:
    wired = wiring(request, FileWiring)
    return FileStore(wired.db, wired.storage, wired.uploads, wired.clock)


class SentFile:
    """Streams the part `file` after an optional part `sheet`; FastAPI would store it first."""

    def __init__(self, boundary: bytes, stream: AsyncIterator[bytes]) -> None:
        self.name = ""
        self._stream = stream
        self._has_file = self._has_ended = self._is_sheet = False
        self._sheet = b""
        self._headers: dict[bytes, bytes] = {}
        self._field = self._value = b""
        self._ready: list[bytes] = []
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_end": self._on_end,
            },
        )

    @property
    def sheet(self) -> str | None:
        return self._sheet.decode(errors="replace").strip() or None

    async def open(self) -> None:
        """Read up to the file's first bytes, for its name."""
        while not self._has_file:
            if not await self._read():
                raise required("/file")

    async def chunks(self) -> AsyncIterator[bytes]:
        """:raises Invalid: when the body breaks off, or contains another part"""
        while True:
            for chunk in self._ready:
                yield chunk
            self._ready.clear()
            if not await self._read():
                break
        if not self._has_ended:
            raise _malformed()

    async def _read(self) -> bool:
        chunk = await anext(self._stream, None)
        if chunk is None:
            return False
        try:
            self._parser.write(chunk)
        except FormParserError as fault:
            raise _malformed() from fault
        return True

    def _on_part_begin(self) -> None:
        self._headers = {}

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._field += data[start:end]
        self._bound_headers()

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]
        self._bound_headers()

    def _bound_headers(self) -> None:
        if len(self._field) + len(self._value) > MAX_PART_HEADERS or len(self._headers) > 20:
            raise _malformed()

    def _on_header_end(self) -> None:
        self._headers[self._field.lower()] = self._value
        self._field = self._value = b""

    def _on_headers_finished(self) -> None:
        part, name = sent_names(self._headers.get(b"content-disposition", b""))
        self._is_sheet = part == "sheet" and not self._has_file
        if self._is_sheet:
            return
        if part != "file":
            raise invalid(f"/{part[:50]}", "unknown_field", "ไม่รู้จักช่องนี้", "Unknown field.")
        if self._has_file:
            raise invalid("/file", "too_many", "อัปโหลดได้ครั้งละหนึ่งไฟล์", "One file at a time.")
        if name is None:
            raise invalid("/file", "required", "ช่อง file ต้องเป็นไฟล์", "The field must be a file.")
        self.name, self._has_file = name, True

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_sheet:
            self._sheet = (self._sheet + data[start:end])[:MAX_PART_HEADERS]
        else:
            self._ready.append(data[start:end])

    def _on_end(self) -> None:
        self._has_ended = True


async def sent_file(request: Request) -> SentFile:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise invalid(
            "header:Content-Type", "malformed", "ต้องส่งแบบ multipart/form-data", "Send the file as multipart/form-data."
        )
    try:
        file = SentFile(options[b"boundary"], request.stream())
    except FormParserError as fault:
        raise _malformed() from fault
    await file.open()
    return file


def sent_names(disposition: bytes) -> tuple[str, str | None]:
    """
    Return names of field and file; RFC 8187 precedes RFC 2047, which .NET sends.

    :raises Invalid:
    """
    header = Message()
    header["content-disposition"] = disposition.decode("latin-1")
    values: dict[tuple[str, bool], str] = {}
    parameters: Sequence[tuple[str, object]] = header.get_params([], "content-disposition")
    try:
        for name, value in parameters:
            charset, text = (value[0], value[2]) if isinstance(value, tuple) else (None, str(value))
            values[name.lower(), isinstance(value, tuple)] = text.encode("latin-1").decode(charset or "utf-8")
    except (UnicodeError, LookupError) as fault:
        raise invalid("/file", "malformed", "ชื่อไฟล์ต้องเป็น UTF-8", "The file name must be UTF-8.") from fault
    plain, file_name = values.get(("filename", False)), values.get(("filename", True))
    if file_name is None and plain and plain.isascii():
        with suppress(HeaderParseError, UnicodeError, LookupError):  # not encoded words after all
            words = decode_header(plain)
            file_name = "".join(word if isinstance(word, str) else word.decode(code or "ascii") for word, code in words)
    return values.get(("name", False), ""), plain if file_name is None else file_name


def _malformed() -> Invalid:
    return invalid("/file", "malformed", "การอัปโหลดล้มเหลว กรุณาลองใหม่", "The upload was interrupted. Try again.")


FileStorage = Annotated[Storage, Depends(async_dependency(storage))]
Readers = Annotated[AccessRules, Depends(async_dependency(readers))]
Files = Annotated[FileStore, Depends(async_dependency(file_store))]
OneFile = Annotated[SentFile, Depends(sent_file)]
