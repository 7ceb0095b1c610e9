"""
The drawings of the demo (what was signed, what the contractor drew from it, the first sheet of what was built), and the pages and
pictures that all its files are.
"""

import struct
import zlib
from dataclasses import dataclass


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


def _contract(number: str, title: str, title_en: str, discipline: str) -> DemoDrawing:
    return DemoDrawing(
        register="contract",
        by="dc.consultant",
        number=number,
        title=title,
        title_en=title_en,
        discipline=discipline,
        revisions=(("0", 90),),
    )


def _shop(
    number: str, title: str, title_en: str, discipline: str, drawn_from: str, *revisions: tuple[str, int]
) -> DemoDrawing:
    return DemoDrawing(
        register="shop",
        by="dc.contractor",
        originator="ผรม.2",
        number=number,
        title=title,
        title_en=title_en,
        discipline=discipline,
        drawn_from=drawn_from,
        revisions=revisions,
        scale="1:50",
    )


DRAWINGS = (
    _contract("RD-101", "แนวและระดับทางเข้าท่าเรือ", "Access road: alignment and levels", "ROW"),
    _contract("RD-102", "รูปตัดมาตรฐานทางเข้าท่าเรือ", "Access road: typical sections", "ROW"),
    _contract("OF-201", "แปลนฐานรากอาคารสำนักงานปฏิบัติการ", "Operations office: foundation plan", "BUD"),
    _contract("OF-202", "แปลนคานและพื้นอาคารสำนักงานปฏิบัติการ", "Operations office: beams and slabs", "BUD"),
    _contract("WT-301", "แนวท่อประปาหลักบริเวณลานหลังท่า", "Back yard: water mains", "UTL"),
    _shop("RD-101-S1", "โครงสร้างชั้นทาง กม. 0+000 ถึง 0+600", "Pavement, km 0+000 to 0+600", "ROW", "RD-101", ("0", 70)),
    _shop("RD-101-S2", "โครงสร้างชั้นทาง กม. 0+600 ถึง 1+200", "Pavement, km 0+600 to 1+200", "ROW", "RD-101", ("0", 70)),
    _shop("RD-102-S1", "ขอบทางและรางตื้น", "Kerbs and gutters", "ROW", "RD-102", ("0", 68), ("1", 64)),
    _shop("OF-201-S1", "เหล็กเสริมฐานราก แนว A ถึง D", "Footing rebar, grid A to D", "BUD", "OF-201", ("0", 25)),
    _shop("OF-201-S2", "เหล็กเสริมฐานราก แนว E ถึง H", "Footing rebar, grid E to H", "BUD", "OF-201", ("0", 25)),
    _shop("OF-202-S1", "เหล็กเสริมคานชั้น 2", "Beam rebar, second floor", "BUD", "OF-202", ("0", 12), ("1", 3)),
    _shop("WT-301-S1", "ท่อประปาหลักและหัวดับเพลิง โซน 1", "Water main and hydrants, zone 1", "UTL", "WT-301", ("0", 4)),
    _shop("WT-301-S2", "ท่อประปาหลักและหัวดับเพลิง โซน 2", "Water main and hydrants, zone 2", "UTL", "WT-301", ("0", 4)),
    DemoDrawing(
        register="asbuilt",
        by="dc.contractor",
        originator="ผรม.2",
        number="RD-102-S1",
        title="ขอบทางและรางตื้นที่ก่อสร้างจริง",
        title_en="Kerbs and gutters as built",
        discipline="ROW",
        revisions=(("0", 20),),
        scale="1:50",
    ),
)

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
