"""Small files that are what their names say: a page of PDF, a picture. Bytes only; storing them is the service's."""

import struct
import zlib

_WIDTH, _HEIGHT = 160, 100


def content(name: str) -> bytes:
    """Return the content of a demo file, a picture or a page, as the extension says."""
    return picture() if name.lower().endswith(".png") else page(name)


def page(title: str) -> bytes:
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


def picture() -> bytes:
    """Return a PNG: sky over a quay."""
    rows = b"".join(b"\0" + _pixel(y) * _WIDTH for y in range(_HEIGHT))
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)


def _pixel(y: int) -> bytes:
    sky = y < _HEIGHT * 2 // 3
    return bytes((120 + y, 170 + y // 2, 220)) if sky else bytes((90, 100 - y // 4, 105))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
