"""What a file is, told by its bytes."""

import zipfile
from io import BytesIO

import pytest
from pydantic import TypeAdapter
from pydantic_core import PydanticCustomError

from saraban.attachments.domain import detect_kind
from saraban.attachments.domain.kinds import (
    BY_EXTENSION,
    KINDS,
    MACROS,
    FileKind,
    KindList,
    by_name,
    kind_list,
    kinds_listed,
    list_extensions,
)
from tests.ole_files import ole
from tests.readable_files import packed

DOCX, DWG, JPEG, PDF, PNG, XLSX, ZIP = map(
    BY_EXTENSION.__getitem__, ("docx", "dwg", "jpg", "pdf", "png", "xlsx", "zip")
)
END_OF_PDF = b"%PDF-1.4\ntrailer <<>>\n%%EOF\n"


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


def open_document(name: str, *parts: str) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        for part, content in (
            ("mimetype", f"application/vnd.oasis.opendocument.{name}"),
            *((part, "x") for part in parts),
        ):
            target.writestr(zipfile.ZipInfo(part), content)  # without the time, which would be in the names of tests
    return buffer.getvalue()


PRESENTATION = "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"
# Of each kind that is not an archive of an office program's own, by extension.
CONTENTS = [
    ("pptx", office(typed(PRESENTATION), document="ppt/presentation.xml")),
    ("odt", open_document("text", "content.xml", "Basic/script-lc.xml", "Basic/Standard/script-lb.xml")),
    ("ods", open_document("spreadsheet")),
    ("odp", open_document("presentation")),
    ("zip", open_document("text-template")),
    ("doc", ole({"WordDocument": b"", "1Table": b"", "Data": b""})),
    ("xls", ole({"Workbook": b""})),
    ("xls", ole({"BOOK": b""})),
    ("msg", ole({"__properties_version1.0": b"", "__substg1.0_1000001F": b""})),
    ("rvt", ole({"BasicFileInfo": b"", "Contents": b""})),
    ("mpp", ole({"Props14": b""})),
    ("dgn", ole({"Dgn~H": b"", "Dgn~S": b""})),
    ("dgn", b"\x08\x09\xfe\x02\0\0"),
    ("dgn", b"\xc8\x09\xfe\x02\0\0"),
    ("txt", "บันทึกหน้างาน\r\n".encode()),
    ("txt", "บันทึกหน้างาน".encode("cp874")),
    ("txt", "บันทึก\tหน้างาน".encode("utf-16")),
    ("txt", b"\xef\xbb\xbfcode,name\n1,pile\n"),
    ("rtf", b"{\\rtf1\\ansi pile}"),
    ("eml", b"From: a@example.org\r\nSubject: pile\r\n\r\ntext\x01"),
    ("eml", b"Received: by x\n\tfor y\nX-A: b\nDate: today\n\n"),
    ("tif", b"II*\0\x08\0\0\0"),
    ("tif", b"MM\0*\0\0\0\x08"),
    ("heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"),
    ("heic", b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"),
    ("mp4", b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2"),
    ("mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42"),
    ("webp", b"RIFF\x0a\0\0\0WEBPVP8 "),
    ("dxf", b"  0\r\nSECTION\r\n  2\r\nHEADER\r\n"),
    ("dxf", b"999\ncomment\n999\n0\n0\nSECTION\n"),
    ("dxf", b"AutoCAD Binary DXF\r\n\x1a\0"),
    ("dwf", b"(DWF V06.00)PK\x03\x04"),
    ("ifc", b"ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\nFILE_SCHEMA(('IFC4'));"),
]


class TestRecognise:
    @pytest.mark.parametrize(("extension", "content"), CONTENTS)
    def test_recognizes_the_content(self, extension: str, content: bytes) -> None:
        assert detect_kind(BytesIO(content)) is BY_EXTENSION[extension]

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
            office(typed("application/vnd.ms-powerpoint.presentation.macroEnabled.main+xml")),
            open_document("spreadsheet", "Basic/Standard/Module1.xml"),
            open_document("text", "Scripts/python/a.py"),
            ole({"WordDocument": b"", "Macros": b""}),
            ole({"Workbook": b"", "_VBA_PROJECT_CUR": b""}),
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
            (packed(word__document="<a/>"), DOCX),
            (packed(xl__workbook="<a/>"), XLSX),
            (packed(word__document2="<a/>"), DOCX),
            (packed(xl__book2="<a/>"), XLSX),
            (office(f'<Types><Default Extension="xml" ContentType="{DOCX.mime_type}.main+xml"/></Types>'), DOCX),
            (b"\xef\xbb\xbf" + END_OF_PDF, PDF),
            (b"\r\n" + END_OF_PDF, PDF),
            (b"\x1b%-12345X@PJL ENTER LANGUAGE=PDF\r\n" + END_OF_PDF, PDF),
            (b"\0" * 1023 + END_OF_PDF, PDF),
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
            b"\0" * 1024 + END_OF_PDF,
            b"MZ\x90\0" + END_OF_PDF,
            b"#!/bin/sh\n" + END_OF_PDF,
            b"\xff\xfea\0\0\0b\0",
            b"<?xml version='1.0'?><svg/>",
            b"plain text\x00",
            b"\0\0\0\x18ftypqt  \0\0\0\0qt  ",
            b"ISO-10303-21;\x01FILE_SCHEMA(('AP214'));",
            open_document("text")[:60],
            ole({"Stranger": b""}),
            ole({"WordDocument": b""}, entries=40_000),
            ole({"WordDocument": b""})[:700],
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            b"AC10xx\x00",
            b"PK\x03\x04 and then nothing of an archive",
            archive("[Content_Types].xml", "ppt/presentation.xml"),
            archive("[Content_Types].xml", "word/document.xml"),
            packed(word__document="<a/>", xl__workbook="<a/>"),
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


class TestKindList:
    @pytest.mark.parametrize(
        ("typed", "stored"),
        [
            ("PDF", "pdf"),
            ("PDF;DWG", "dwg, pdf"),
            (" .dwg,pdf , PDF", "dwg, pdf"),
            (list_extensions(KINDS), list_extensions(KINDS)),
            ("", ""),
        ],
    )
    def test_stores_each_extension_once(self, typed: str, stored: str) -> None:
        assert kind_list(typed) == ", ".join(sorted(stored.split(", ")))

    def test_is_null_without_an_extension(self) -> None:
        assert TypeAdapter(KindList).validate_python(" ") is None

    def test_names_what_is_unknown(self) -> None:
        with pytest.raises(PydanticCustomError, match="Unknown kinds: docm, exe"):
            kind_list("exe, pdf, docm")

    def test_takes_a_kind_by_any_of_its_extensions(self) -> None:
        assert [kind.code for kind in kinds_listed("jpeg, pdf")] == ["PDF", "JPEG"]
        assert kinds_listed("") == KINDS
