"""The accepted kinds of files, their extensions and content."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, BinaryIO, Final

from olefile import OleFileIO
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from saraban.kit.schema import SingleLine

_HEAD_BYTES: Final = 64 * 1024  # that decide the kind
_MOST_DIRECTORY: Final = 4 * 1024 * 1024  # bytes of the directory of an OLE2 file, each entry 128
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."
_ODF_HEAD: Final = rb"(?s)PK\x03\x04.{22}\x08\0\0\0mimetypeapplication/vnd\.oasis\.opendocument\."
_BRANDS: Final = rb"(?s).{4}ftyp(?:.{4}){0,15}?"  # of an ISO media file: its own, its version, those it agrees with
_DXF_HEAD: Final = rb"AutoCAD Binary DXF|(?:\s*999[ \t\r]*\n[^\n]*\n)*\s*0[ \t\r]*\n[ \t]*SECTION\s"  # 999: a comment
_FIELDS: Final = rb"(?i)(?:>?From [^\n]*\n)?(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)*?"
_MAIL_HEAD: Final = _FIELDS + rb"(?:from|to|subject|date|received|message-id|mime-version|return-path):"
_CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff]")
_ACTIVE_TEXT: Final = re.compile(rb"(?i)\s*(?:#!|<(?:!doctype|html|head|body|svg|script|\?xml))")


@dataclass(frozen=True, slots=True)
class FileKind:
    """
    :param streams: lower-case root names of an OLE2 file
    :param shared: further extensions for the same content
    :param inline: safe to show in a browser
    """

    code: str
    mime_type: str
    extensions: tuple[str, ...]
    head: bytes = b"(?!)"
    streams: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    inline: bool = False
    has_text: bool = False


PDF: Final = FileKind("PDF", "application/pdf", ("pdf",), inline=True, has_text=True)
DOCX: Final = FileKind("DOCX", f"{_OFFICE}wordprocessingml.document", ("docx",), has_text=True)
XLSX: Final = FileKind("XLSX", f"{_OFFICE}spreadsheetml.sheet", ("xlsx",), has_text=True)
PPTX: Final = FileKind("PPTX", f"{_OFFICE}presentationml.presentation", ("pptx",), has_text=True)
DOC: Final = FileKind("DOC", "application/msword", ("doc",), streams=("worddocument",))
XLS: Final = FileKind("XLS", "application/vnd.ms-excel", ("xls",), streams=("workbook", "book"), has_text=True)
DWG: Final = FileKind("DWG", "image/vnd.dwg", ("dwg",), rb"AC10[0-9]{2}\x00")
TXT: Final = FileKind("TXT", "text/plain", ("txt",), shared=("csv",), has_text=True)
ZIP: Final = FileKind("ZIP", "application/zip", ("zip",))
MACROS: Final = FileKind("MACROS", "", ())  # an office file that runs code when it is opened
KINDS: Final = (
    *(PDF, DOCX, XLSX, PPTX, DOC, XLS, DWG, TXT, ZIP),
    FileKind("ODT", f"{_ODF}text", ("odt",), _ODF_HEAD + rb"text(?!-)", has_text=True),
    FileKind("ODS", f"{_ODF}spreadsheet", ("ods",), _ODF_HEAD + rb"spreadsheet(?!-)", has_text=True),
    FileKind("ODP", f"{_ODF}presentation", ("odp",), _ODF_HEAD + rb"presentation(?!-)", has_text=True),
    FileKind("CSV", "text/csv", ("csv",), has_text=True),
    FileKind("RTF", "application/rtf", ("rtf",), rb"\{\\rtf", has_text=True),
    FileKind("MSG", "application/vnd.ms-outlook", ("msg",), streams=("__properties_version1.0",), has_text=True),
    FileKind("EML", "message/rfc822", ("eml",), _MAIL_HEAD, shared=("txt", "csv"), has_text=True),
    FileKind("JPEG", "image/jpeg", ("jpg", "jpeg"), rb"\xff\xd8\xff", inline=True),
    FileKind("PNG", "image/png", ("png",), rb"\x89PNG\r\n\x1a\n", inline=True),
    FileKind("TIFF", "image/tiff", ("tif", "tiff"), rb"II[*+]\0|MM\0[*+]"),
    FileKind("HEIC", "image/heic", ("heic", "heif"), _BRANDS + rb"(?:hei[cxms]|hev[cxms])"),
    FileKind("WEBP", "image/webp", ("webp",), rb"(?s)RIFF.{4}WEBPVP8", inline=True),
    FileKind("MP4", "video/mp4", ("mp4", "m4v"), _BRANDS + rb"(?:iso[m2-9]|mp4[12]|avc1|M4V |MSNV|dash)"),
    FileKind("DXF", "image/vnd.dxf", ("dxf",), _DXF_HEAD),
    FileKind("DWF", "model/vnd.dwf", ("dwf",), rb"\(DWF V[0-9]{2}\.[0-9]{2}\)"),
    FileKind("DGN", "image/vnd.dgn", ("dgn",), rb"[\x08\xc8]\x09\xfe\x02", ("dgn~h", "dgn~s", "dgn~mf")),
    FileKind("IFC", "application/x-step", ("ifc",), rb"(?is)\s*ISO-10303-21\s*;.*?FILE_SCHEMA\s*\(\s*\(\s*'IFC"),
    FileKind("RVT", "application/vnd.autodesk.revit", ("rvt",), streams=("basicfileinfo",)),
    FileKind("MPP", "application/vnd.ms-project", ("mpp",), streams=("props", "props9", "props12", "props14")),
)
BY_EXTENSION: Final = {extension: kind for kind in KINDS for extension in kind.extensions}
BY_MIME_TYPE: Final = {kind.mime_type: kind for kind in KINDS}


def by_name(name: str) -> FileKind | None:
    stem, dot, extension = name.rpartition(".")
    return BY_EXTENSION.get(extension.lower()) if stem and dot else None


def kind_by_content(file: BinaryIO) -> FileKind | None:
    """Of archives, only OpenDocument is recognized."""
    file.seek(0)
    head = file.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _kind_of_compound(file)
    detected = next((kind for kind in KINDS if re.match(kind.head, head)), None)
    return detected or (TXT if _is_text(head) else None)


def _is_text(head: bytes) -> bool:
    is_wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = head.decode("utf-16" if is_wide else "latin-1", "ignore")
    return bool(text.strip()) and not _CONTROLS.search(text) and not _ACTIVE_TEXT.match(head)


class _BoundedOle(OleFileIO):  # type: ignore[misc]
    def loaddirectory(self, sect: int) -> None:
        if self._open(sect, force_FAT=True).size > _MOST_DIRECTORY:
            raise OSError("The directory is too large.")
        super().loaddirectory(sect)


def _kind_of_compound(file: BinaryIO) -> FileKind | None:
    try:
        with _BoundedOle(file) as compound:
            names = {entry.name.lower() for entry in compound.root.kids}
    except (OSError, ValueError, TypeError, LookupError, RecursionError, AttributeError):
        return None
    kind = next((kind for kind in KINDS if not names.isdisjoint(kind.streams)), None)
    return MACROS if kind in (DOC, XLS) and names & {"macros", "_vba_project_cur"} else kind


def kind_list(extensions: str) -> str:
    """Normalize a list of extensions for storage."""
    words = sorted({word.lower().removeprefix(".") for word in re.split(r"[,;\s]+", extensions)} - {""})
    if unknown := ", ".join(word for word in words if word not in BY_EXTENSION):
        th, en = "ไม่รู้จักชนิดไฟล์ {value} ใช้ได้: {kinds}", "Unknown kinds: {value}. Use: {kinds}."
        raise PydanticCustomError("unknown_kind", en, {"value": unknown, "kinds": list_extensions(KINDS), "th": th})
    return ", ".join(words)


KindList = Annotated[str, SingleLine(255, 0), AfterValidator(lambda extensions: kind_list(extensions) or None)]


@lru_cache(maxsize=64)
def kinds_listed(extensions: str) -> tuple[FileKind, ...]:
    """Return the kinds of a `KindList`; all for an empty one."""
    words = set(extensions.split(", "))
    return tuple(kind for kind in KINDS if not extensions or words & set(kind.extensions))


def list_extensions(kinds: Collection[FileKind]) -> str:
    return ", ".join(extension for kind in kinds for extension in kind.extensions)
