"""Files with text in them, and files that are made to exhaust whoever reads them; made by code, so that one can see what is in them."""

import zipfile
from collections.abc import AsyncIterator
from io import BytesIO

from xlsxwriter import Workbook

from saraban.attachments.adapters import text_reader
from saraban.attachments.adapters.text_reader import TextReader
from saraban.attachments.domain import FileText
from saraban.attachments.domain.kinds import FileKind

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


async def read_in_child(content: bytes, kind: FileKind, *, seconds: int = 20, memory: int = 512) -> FileText:
    async def chunks() -> AsyncIterator[bytes]:
        yield content

    return await TextReader(seconds=seconds, memory=memory).read(chunks(), kind.mime_type)


def read(content: bytes, kind: FileKind) -> FileText:
    """Read as the child does, without its limits."""
    try:
        return text_reader._read(BytesIO(content), kind.mime_type)
    except Exception:  # noqa: BLE001  the child would end with it
        return FileText(problem=text_reader._PROBLEM_BY_EXIT[1])


def pdf(*pages: str, glyphs: str = "", trailer: str = "", objects: tuple[str, ...] = ()) -> bytes:
    """
    Return a PDF with a content stream for each page.

    :param glyphs: letters that a font `/T` draws for the codes from 1 on, each of them 500 wide
    :param objects: further objects, beginning with number 6
    """
    kids = 6 + len(objects)
    unicode = "".join(f"<{code:04X}> <{ord(letter):04X}>\n" for code, letter in enumerate(glyphs, 1))
    cmap = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n"
        f"{len(glyphs)} beginbfchar\n{unicode}endbfchar endcmap end"
    )
    body = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(f'{kids + 2 * n} 0 R' for n in range(len(pages)))}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        (
            "<< /Type /Font /Subtype /Type0 /BaseFont /Thai /Encoding /Identity-H /ToUnicode 5 0 R /DescendantFonts [<<"
            " /Type /Font /Subtype /CIDFontType2 /BaseFont /Thai /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity)"
            " /Supplement 0 >> /DW 500 /FontDescriptor << /Type /FontDescriptor /FontName /Thai /Flags 4 /Ascent 800"
            " /Descent -200 /CapHeight 800 /ItalicAngle 0 /StemV 80 /FontBBox [0 -200 500 800] >> >>] >>"
        ),
        _stream(cmap),
        *objects,
    ]
    for number, page in enumerate(pages):
        body += [
            (
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F 3 0 R /T 4 0 R >> >>"
                f" /Contents {kids + 2 * number + 1} 0 R >>"
            ),
            _stream(page),
        ]
    whole, places = "%PDF-1.7\n", []
    for number, one in enumerate(body, 1):
        places.append(len(whole))
        whole += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        f"{whole}xref\n0 {len(body) + 1}\n0000000000 65535 f \n{table}"
        f"trailer << /Size {len(body) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{len(whole)}\n%%EOF\n"
    ).encode("latin-1")


def _stream(text: str) -> str:
    return f"<< /Length {len(text)} >>\nstream\n{text}\nendstream"


def line(text: str) -> str:
    """Return the content of a page that says something in Latin letters."""
    return f"BT /F 12 Tf 50 700 Td ({text}) Tj ET"


def million_pages() -> bytes:
    """Return a PDF that says a million times that it has the same page."""
    whole = pdf(line("x"))
    return whole.replace(b"/Count 1 /Kids [6 0 R]", b"/Count 1000000 /Kids [%b]" % (b"6 0 R " * 1_000_000))


def locked_pdf() -> bytes:
    """Return a PDF whose password nobody knows."""
    lock = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{'41' * 32}> /U <{'42' * 32}> >>"
    return pdf(line("secret"), objects=(lock,), trailer="/Encrypt 6 0 R /ID [<00> <00>]")


_OFFICE = "application/vnd.openxmlformats-officedocument"
_CONTENT_TYPES = {
    "word__document": "wordprocessingml.document.main",
    "word__document2": "wordprocessingml.document.main",
    "word__header1": "wordprocessingml.header",
    "xl__workbook": "spreadsheetml.sheet.main",
    "xl__book2": "spreadsheetml.sheet.main",
    "xl__worksheets__sheet1": "spreadsheetml.worksheet",
    "ppt__slides__slide2": "presentationml.slide",
    "ppt__slides__slide10": "presentationml.slide",
}


def packed(**parts: bytes | str) -> bytes:
    """Return an office file; `__` in a name stands for `/`, and `.xml` is added."""
    types = "".join(
        f'<Override PartName="/{name.replace("__", "/")}.xml" ContentType="{_OFFICE}.{_CONTENT_TYPES[name]}+xml"/>'
        for name in parts
        if name in _CONTENT_TYPES
    )
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", f"<Types>{types}</Types>")
        for name, content in parts.items():
            archive.writestr(f"{name.replace('__', '/')}.xml", content)
    return file.getvalue()


def docx(body: str, **parts: bytes | str) -> bytes:
    return packed(word__document=f"<w:document {_WORD}><w:body>{body}</w:body></w:document>", **parts)


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(f'<w:r><w:t>{run}</w:t></w:r>' for run in runs)}</w:p>"


def header(text: str) -> str:
    return f"<w:hdr {_WORD}>{paragraph(text)}</w:hdr>"


def xlsx(*sheets: list[list[object]]) -> bytes:
    file = BytesIO()
    with Workbook(file) as book:
        for rows in sheets:
            sheet = book.add_worksheet()
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return file.getvalue()


def far_cell() -> bytes:
    """Return a workbook of 600 bytes that says it has 17 billion cells."""
    cells = '<c r="A1" t="inlineStr"><is><t>near</t></is></c></row><row r="1048576"><c r="XFD1048576"><v>7</v></c>'
    sheet = f'<worksheet {_SHEET}><dimension ref="A1:XFD1048576"/><sheetData><row r="1">{cells}</row></sheetData></worksheet>'
    return packed(xl__workbook="<workbook/>", xl__worksheets__sheet1=sheet)
