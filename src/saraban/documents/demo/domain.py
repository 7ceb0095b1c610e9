"""What a demo document and a demo drawing are, and the pages and pictures that all their files are."""

import struct
import zlib
from dataclasses import dataclass
from enum import StrEnum


class DemoRegister(StrEnum):
    """The register a document stands in."""

    CORRESPONDENCE = "correspondence"
    RFA = "rfa"
    TRANSMITTAL = "transmittal"
    CIRCULATION = "circulation"


@dataclass(frozen=True, slots=True)
class DemoAction:
    """
    One thing somebody did with a document.

    :param by: user name
    :param action: an action of the workflow, or `revise` or `cancel`
    :param day: days after the document was written
    """

    by: str
    action: str
    day: int = 0
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """
    One demo document.

    :param key: how other scripts name it
    :param age: days since it was written
    :param due: days after that on which an answer is due
    :param files: names; the extension decides what is made
    :param about: keys of documents: references, items of a transmittal, the subject of a circulation sheet
    :param drawings: numbers of shop drawings, of an RFA; with its next revision they are drawn anew
    :param assignees: user names, of a circulation sheet
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
    One demo drawing.

    :param register: path of its register
    :param originator: code of the organization; without one the whole project is shown it
    :param revisions: labels, each with the days since it was issued
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
    """Return the content of a demo file, a picture or a page, as the extension says."""
    return png_picture() if name.lower().endswith(".png") else pdf_page(name)


def pdf_page(title: str) -> bytes:
    """Return a PDF of one page that shows its title; what PDF's own fonts cannot show becomes a question mark."""
    shown = title.encode("ascii", "replace").decode().replace("\\", " ").replace("(", " ").replace(")", " ")
    text = f"BT /F1 18 Tf 72 770 Td (Saraban demo) Tj 0 -30 Td /F1 12 Tf ({shown}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Length {len(text)} >>\nstream\n{text}\nendstream",
    )
    whole, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(whole))
        whole += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(whole)}\n%%EOF\n"
    return f"{whole}xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode("ascii")


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
