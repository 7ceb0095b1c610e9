"""Headers of a download: conditional and partial requests (RFC 9110), and the name that a browser saves (RFC 6266)."""

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import quote

from saraban.kit.errors import DomainError, ErrorKind, Text

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class ByteSpan:
    """`length` bytes from `start` on."""

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
