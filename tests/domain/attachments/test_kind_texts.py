"""The text of each kind that is searched, but PDF, DOCX and XLSX."""

import struct
import zipfile
from base64 import b64encode
from io import BytesIO

import pytest

from saraban.attachments.adapters.text_reader import _read
from saraban.attachments.domain import TextProblem, text_problem
from saraban.attachments.domain.kinds import BY_EXTENSION, KINDS
from tests.ole_files import ole
from tests.readable_files import packed

_TEXT = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
_DRAW = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'


def open_document(body: str, manifest: str = "<manifest/>", **parts: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("META-INF/manifest.xml", manifest)
        target.writestr("content.xml", f"<body {_TEXT}>{body}</body>")
        for name, content in parts.items():
            target.writestr(f"{name}.xml", f"<body {_TEXT}>{content}</body>")
    return buffer.getvalue()


def slide(*paragraphs: str) -> str:
    return f"<sld {_DRAW}>{''.join(f'<a:p><a:r><a:t>{one}</a:t></a:r></a:p>' for one in paragraphs)}</sld>"


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<2H", kind, len(content)) + content


def workbook(text: str) -> bytes:
    """Return a BIFF8 stream with one sheet and one cell."""
    label = struct.pack("<3HHB", 0, 0, 0, len(text), 1) + text.encode("utf-16-le")
    sheet = record(0x809, struct.pack("<2H", 0x600, 0x10)) + record(0x204, label) + record(0x0A, b"")
    opening = record(0x809, struct.pack("<2H", 0x600, 5))
    place = len(opening) + 4 + 8 + 1 + 4
    return opening + record(0x85, struct.pack("<IHBB", place, 0, 1, 0) + b"S") + record(0x0A, b"") + sheet


def word(text: str, charset: str) -> str:
    return f"=?{charset}?B?{b64encode(text.encode(charset.replace('windows-', 'cp'))).decode()}?="


MAIL = (
    f"From: {word('สมชาย', 'windows-874')} <a@example.org>\r\nTo: b@example.org\r\nSubject: {word('ขออนุมัติ', 'utf-8')}\r\n"
    "Content-Type: multipart/mixed; boundary=x\r\n\r\n"
    "--x\r\nContent-Type: text/plain; charset=klingon\r\n\r\nlost\r\n"
    "--x\r\nContent-Type: text/html; charset=windows-874\r\n\r\n<style>p {color: red}</style><p>เสา<b>เข็ม</b><br>P&amp;ID"
    "\r\n--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename*=utf-8''%E0%B9%81.pdf\r\n\r\n%\r\n--x--"
).encode("cp874")
MSG = {
    "__substg1.0_0037001F": "ขออนุมัติ".encode("utf-16-le"),
    "__substg1.0_0E04001E": b"b@example.org",
    "__substg1.0_10130102": "<p>เสาเข็ม</p>".encode(),
    "__substg1.0_0FFF0102": b"key",
}
TEXTS = [
    ("txt", "\ufeffเสาเข็ม P-101\r\nสอง".encode(), "เสาเข็ม P-101 สอง"),
    ("txt", "เสาเข็ม".encode("cp874"), "เสาเข็ม"),
    ("csv", "เสาเข็ม;2".encode("utf-16"), "เสาเข็ม;2"),
    ("rtf", rb"{\rtf1\ansi\ansicpg874 \'e0\'ca\'d2 {\b P}-101\par \u3648?\u3586?}", "เสา P-101 เข"),
    ("eml", MAIL, "สมชาย <a@example.org> b@example.org ขออนุมัติ เสาเข็ม P&ID แ.pdf"),
    ("msg", ole(MSG), "ขออนุมัติ b@example.org เสาเข็ม"),
    ("xls", ole({"Workbook": workbook("เสาเข็ม")}), "เสาเข็ม"),
    (
        "pptx",
        packed(
            ppt__slides__slide10=slide("ten"), ppt__slides__slide2=slide("a", "b"), ppt__slideMasters__m=slide("no")
        ),
        "a b ten",
    ),
    (
        "odt",
        open_document(
            "<text:h>หัวข้อ</text:h><text:p>เสา<text:span>เข็ม</text:span> a<text:s/>b<text:tab/>c<text:line-break/>d</text:p>",
            styles="<text:p>footer</text:p>",
        ),
        "หัวข้อ เสาเข็ม a b c d footer",
    ),
    ("ods", open_document("<cell><text:p>1</text:p></cell><cell><text:p>2</text:p></cell>"), "1 2"),
    ("odp", open_document("<text:p>slide</text:p>"), "slide"),
]


class TestText:
    @pytest.mark.parametrize(("extension", "content", "text"), TEXTS)
    def test_is_read(self, extension: str, content: bytes, text: str) -> None:
        assert _read(BytesIO(content), BY_EXTENSION[extension].mime_type).text == text

    def test_of_a_locked_open_document_is_not(self) -> None:
        locked = open_document("<text:p>x</text:p>", "<manifest><encryption-data/></manifest>")

        assert _read(BytesIO(locked), BY_EXTENSION["odt"].mime_type).problem is TextProblem.PASSWORD


class TestTextProblem:
    def test_says_of_each_kind_whether_it_is_searched(self) -> None:
        said = {kind.code for kind in KINDS if text_problem(kind.mime_type, None) is None}

        assert said == {"PDF", "DOCX", "XLSX"} | {BY_EXTENSION[extension].code for extension, _, _ in TEXTS}

    def test_keeps_what_the_reader_met(self) -> None:
        assert text_problem("application/pdf", "no_text") is TextProblem.NO_TEXT
