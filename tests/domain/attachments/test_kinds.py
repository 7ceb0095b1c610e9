"""What a file is, told by its bytes."""

import zipfile
from io import BytesIO

import pytest

from saraban.attachments.domain import by_name, detect_kind
from saraban.attachments.domain.kinds import DOCX, DWG, JPEG, MACROS, PDF, PNG, XLSX, ZIP, FileKind


def archive(*names: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for name in names:
            target.writestr(name, "<Types/>")
    return buffer.getvalue()


def office(types: str, *names: str, document: str = "word/document.xml") -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("[Content_Types].xml", types)
        for name in (document, *names):
            target.writestr(name, "content")
    return buffer.getvalue()


def typed(content_type: str) -> str:
    return f'<Types><Override PartName="/word/a.bin" ContentType="{content_type}"/></Types>'


class TestRecognise:
    @pytest.mark.parametrize(
        "content",
        [
            office("<Types/>", "word/vbaProject.bin"),
            office("<Types/>", "WORD/VBADATA.XML"),
            office("<Types/>", "word/activeX/activeX1.bin"),
            office("<Types/>", "xl/macrosheets/sheet1.xml", document="xl/workbook.xml"),
            office(typed("application/vnd.ms-word.document.macroEnabled.main+xml")),
            office(typed("application/vnd.ms-word.document.&#109;acroEnabled.main+xml")),
            office(typed("application/vnd.ms-office.vbaProject"), "word/a.bin"),
            office(typed("application/vnd.ms-excel.intlmacrosheet+xml"), document="xl/workbook.xml"),
        ],
    )
    def test_finds_macros_by_content(self, content: bytes) -> None:
        assert detect_kind(BytesIO(content)) is MACROS

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"%PDF-1.7\n%...", PDF),
            (b"\xff\xd8\xff\xe0\x00\x10JFIF", JPEG),
            (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", PNG),
            (b"AC1032\x00\x00\x00\x00\x00", DWG),
            (archive("[Content_Types].xml", "word/document.xml"), DOCX),
            (archive("[Content_Types].xml", "xl/workbook.xml"), XLSX),
            (archive("word/document.xml", "[Content_Types].xml"), DOCX),
            (archive("drawing.dwg", "readme.txt"), ZIP),
        ],
    )
    def test_tells_each_kind_that_is_taken(self, content: bytes, kind: FileKind) -> None:
        assert detect_kind(BytesIO(content)) is kind

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"MZ\x90\x00\x03",
            b"\x7fELF\x02",
            b"#!/bin/sh\nrm -rf /",
            b"<html><script>alert(1)</script>",
            b"\n%PDF-1.7",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            b"AC10xx\x00",
            b"PK\x03\x04 and then nothing of an archive",
            archive("[Content_Types].xml", "ppt/presentation.xml"),
            archive("a.txt", "word/vbaProject.bin"),
            archive("[Content_Types].xml", "[content_types].xml", "word/document.xml"),
            office("not XML"),
            b"MZ" + archive("a.txt"),
            archive("a.txt") + b"<script>",
        ],
    )
    def test_refuses_everything_else(self, content: bytes) -> None:
        assert detect_kind(BytesIO(content)) is None

    def test_is_not_led_astray_by_a_directory_that_lies_about_its_place(self) -> None:
        content = bytearray(archive("a.txt"))
        end = content.rfind(b"PK\x05\x06")
        content[end + 16 : end + 20] = (0xFFFFFFF0).to_bytes(4, "little")

        assert detect_kind(BytesIO(bytes(content))) is None


class TestByName:
    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("แบบแปลน.PDF", PDF),
            ("a.b.jpeg", JPEG),
            ("photo.JPG", JPEG),
            ("run.exe", None),
            ("pdf", None),
            (".pdf", None),
            ("a.pdf.exe", None),
            ("macro.docm", None),
        ],
    )
    def test_reads_the_last_extension(self, name: str, kind: FileKind | None) -> None:
        assert by_name(name) is kind
