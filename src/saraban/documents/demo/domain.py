"""Scripts of the demo, and the contents of its files."""

import struct
import zlib
from dataclasses import dataclass
from enum import StrEnum


class DemoRegister(StrEnum):
    CORRESPONDENCE = "correspondence"
    RFA = "rfa"
    TRANSMITTAL = "transmittal"
    CIRCULATION = "circulation"


@dataclass(frozen=True, slots=True)
class DemoAction:
    """
    :param by: user name
    :param action: workflow action, or `revise` or `cancel`
    :param day: days after the document was written
    """

    by: str
    action: str
    day: int = 0
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """
    :param age: days since it was written
    :param due: days from then to the due date
    :param about: keys of documents: references, items of a transmittal, or the circulated document
    :param drawings: numbers of an RFA's shop drawings, which its next revision revises
    """

    key: str
    where: DemoRegister
    by: str
    originator: str
    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    subject: str
    body: str | None = None
    age: int
    due: int | None = None
    type: str | None = None
    priority: str = "MEDIUM"
    contract: str | None = None
    discipline: str | None = None
    rfa_type: str | None = None
    sub_type: str | None = None
    purpose: str | None = None
    files: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    drawings: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    acts: tuple[DemoAction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDrawing:
    """
    :param originator: organization code; without one the whole project can see it
    :param revisions: labels, each with the days since issue
    :param drawn_from: number of the contract drawing
    """

    register: str
    by: str
    number: str
    title: str
    title_en: str
    discipline: str
    revisions: tuple[tuple[str, int], ...]
    originator: str | None = None
    drawn_from: str | None = None
    scale: str = "1:100"


_WIDTH, _HEIGHT = 160, 100


def content(name: str) -> bytes:
    return png_picture() if name.lower().endswith(".png") else pdf_page(name)


def pdf_page(title: str) -> bytes:
    """Return a PDF page; characters that PDF's own fonts lack become question marks."""
    safe_title = title.encode("ascii", "replace").decode().replace("\\", " ").replace("(", " ").replace(")", " ")
    text = f"BT /F1 18 Tf 72 770 Td (Saraban demo) Tj 0 -30 Td /F1 12 Tf ({safe_title}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
    )
    pdf, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(pdf))
        pdf += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(pdf)}\n%%EOF\n"
    return f"{pdf}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


def png_picture() -> bytes:
    rows = b"".join(b"\0" + _pixel(y) * _WIDTH for y in range(_HEIGHT))
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _pixel(y: int) -> bytes:
    sky = y < _HEIGHT * 2 // 3
    return bytes((120 + y, 170 + y // 2, 220)) if sky else bytes((90, 100 - y // 4, 105))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
