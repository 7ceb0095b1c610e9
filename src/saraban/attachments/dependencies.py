"""What an endpoint about files is given: the storage, the rules, and an upload that is read while it arrives."""

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
# What the API's description says of an operation that takes `OneFile`.
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
    """
    The one part `file` of a multipart request, not held anywhere: neither in memory nor in a spool file. The form of an import sends
    a part `sheet` before it.

    FastAPI's own form parsing would write the whole body to disk before the first line of the endpoint runs.
    """

    def __init__(self, boundary: bytes, stream: AsyncIterator[bytes]) -> None:
        self.name = ""
        self._stream = stream
        self._seen = self._ended = self._is_sheet = False
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
        """Read up to the file's first bytes, so that its name is known."""
        while not self._seen:
            if not await self._read():
                raise required("/file")

    async def chunks(self) -> AsyncIterator[bytes]:
        """
        :raises Invalid: when the body breaks off, or holds anything but this one file
        """
        while True:
            for chunk in self._ready:
                yield chunk
            self._ready.clear()
            if not await self._read():
                break
        if not self._ended:
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
        self._is_sheet = part == "sheet" and not self._seen
        if self._is_sheet:
            return
        if part != "file":
            raise invalid(f"/{part[:50]}", "unknown_field", "ไม่รู้จักช่องนี้", "Unknown field.")
        if self._seen:
            raise invalid("/file", "too_many", "อัปโหลดได้ครั้งละหนึ่งไฟล์", "One file at a time.")
        if name is None:
            raise invalid("/file", "required", "ช่อง file ต้องเป็นไฟล์", "The field must be a file.")
        self.name, self._seen = name, True

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_sheet:
            self._sheet = (self._sheet + data[start:end])[:MAX_PART_HEADERS]
        else:
            self._ready.append(data[start:end])

    def _on_end(self) -> None:
        self._ended = True


async def sent_file(request: Request) -> SentFile:
    kind, options = parse_options_header(request.headers.get("content-type"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise invalid(
            "header:Content-Type", "malformed", "ต้องส่งแบบ multipart/form-data", "Send the file as multipart/form-data."
        )
    try:
        sent = SentFile(options[b"boundary"], request.stream())
    except FormParserError as fault:
        raise _malformed() from fault
    await sent.open()
    return sent


def sent_names(disposition: bytes) -> tuple[str, str | None]:
    """
    Return the names of a field and of its file, None where it has no file; RFC 8187 counts before RFC 2047, which .NET sends too.

    :raises Invalid: for a name in no known encoding
    """
    header = Message()
    header["content-disposition"] = disposition.decode("latin-1")
    sent: dict[tuple[str, bool], str] = {}
    parameters: Sequence[tuple[str, object]] = header.get_params([], "content-disposition")
    try:
        for name, value in parameters:
            charset, text = (value[0], value[2]) if isinstance(value, tuple) else (None, str(value))
            sent[name.lower(), isinstance(value, tuple)] = text.encode("latin-1").decode(charset or "utf-8")
    except (UnicodeError, LookupError) as fault:
        raise invalid("/file", "malformed", "ชื่อไฟล์ต้องเป็น UTF-8", "The file name must be UTF-8.") from fault
    plain, file_name = sent.get(("filename", False)), sent.get(("filename", True))
    if file_name is None and plain and plain.isascii():
        with suppress(HeaderParseError, UnicodeError, LookupError):  # it only looks like encoded words
            words = decode_header(plain)
            file_name = "".join(word if isinstance(word, str) else word.decode(code or "ascii") for word, code in words)
    return sent.get(("name", False), ""), plain if file_name is None else file_name


def _malformed() -> Invalid:
    return invalid("/file", "malformed", "การอัปโหลดล้มเหลว กรุณาลองใหม่", "The upload was interrupted. Try again.")


FileStorage = Annotated[Storage, Depends(async_dependency(storage))]
Readers = Annotated[AccessRules, Depends(async_dependency(readers))]
Files = Annotated[FileStore, Depends(async_dependency(file_store))]
OneFile = Annotated[SentFile, Depends(sent_file)]
