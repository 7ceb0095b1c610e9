"""The kinds of files that are taken: their names, and how their content shows them. A row of data each."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO, Final

from olefile import OleFileIO

HEAD_BYTES: Final = 64 * 1024  # that decide the kind
_MOST_DIRECTORY: Final = 4 * 1024 * 1024  # bytes of the directory of an OLE2 file, each entry 128
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
_ODF: Final = "application/vnd.oasis.opendocument."
_ODF_HEAD: Final = rb"(?s)PK\x03\x04.{22}\x08\0\0\0mimetypeapplication/vnd\.oasis\.opendocument\."
_BRANDS: Final = rb"(?s).{4}ftyp(?:.{4}){0,15}?(?:"  # of an ISO media file: its own, its version, those it agrees with
_FIELD: Final = rb"(?:[!-9;-~]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)*?"
OLE2: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@dataclass(frozen=True, slots=True)
class FileKind:
    """
    :param head: pattern of its first bytes
    :param streams: names at the root of an OLE2 file that show the kind, in lower case
    :param shared: extensions of other kinds that the same content may have
    :param inline: a browser may show it without running anything of the file's in our name
    :param has_text: its text can be searched
    """

    code: str
    mime_type: str
    extensions: tuple[str, ...]
    head: bytes = b"(?!)"
    streams: frozenset[str] = frozenset()
    shared: tuple[str, ...] = ()
    inline: bool = False
    has_text: bool = False

    @property
    def is_image(self) -> bool:
        return self.mime_type.startswith("image/") and not self.mime_type.startswith("image/vnd.")


def _ole(code: str, mime_type: str, *streams: str, head: bytes = b"(?!)", has_text: bool = False) -> FileKind:
    return FileKind(code, mime_type, (code.lower(),), head, frozenset(streams), has_text=has_text)


def _open_document(code: str, name: str) -> FileKind:
    return FileKind(code, _ODF + name, (code.lower(),), _ODF_HEAD + name.encode() + rb"(?!-)", has_text=True)


PDF: Final = FileKind("PDF", "application/pdf", ("pdf",), inline=True, has_text=True)
DOCX: Final = FileKind("DOCX", f"{_OFFICE}wordprocessingml.document", ("docx",), has_text=True)
XLSX: Final = FileKind("XLSX", f"{_OFFICE}spreadsheetml.sheet", ("xlsx",), has_text=True)
PPTX: Final = FileKind("PPTX", f"{_OFFICE}presentationml.presentation", ("pptx",), has_text=True)
DOC: Final = _ole("DOC", "application/msword", "worddocument", has_text=True)
XLS: Final = _ole("XLS", "application/vnd.ms-excel", "workbook", "book", has_text=True)
ODT: Final = _open_document("ODT", "text")
ODS: Final = _open_document("ODS", "spreadsheet")
ODP: Final = _open_document("ODP", "presentation")
DWG: Final = FileKind("DWG", "image/vnd.dwg", ("dwg",), rb"AC10[0-9]{2}\x00")
DXF: Final = FileKind(
    *("DXF", "image/vnd.dxf", ("dxf",)),
    rb"AutoCAD Binary DXF\r\n\x1a\0|(?:\xef\xbb\xbf)?(?:\s*999[ \t]*\r?\n[^\r\n]*\r?\n)*\s*0[ \t]*\r?\n[ \t]*SECTION\s",
    has_text=True,
)
DWF: Final = FileKind("DWF", "model/vnd.dwf", ("dwf",), rb"\(DWF V[0-9]{2}\.[0-9]{2}\)")
DGN: Final = _ole("DGN", "image/vnd.dgn", "dgn~h", "dgn~s", "dgn~mf", head=rb"[\x08\xc8]\x09\xfe\x02")
IFC: Final = FileKind(
    *("IFC", "application/x-step", ("ifc",)),
    rb"(?is)(?:\xef\xbb\xbf)?\s*ISO-10303-21\s*;.*?FILE_SCHEMA\s*\(\s*\(\s*'IFC",
)
RVT: Final = _ole("RVT", "application/vnd.autodesk.revit", "basicfileinfo")
MPP: Final = _ole(
    "MPP", "application/vnd.ms-project", "props", "props9", "props12", "props14", "   19", "   112", "   114"
)
TXT: Final = FileKind("TXT", "text/plain", ("txt",), shared=("csv",), has_text=True)
CSV: Final = FileKind("CSV", "text/csv", ("csv",), has_text=True)
RTF: Final = FileKind("RTF", "application/rtf", ("rtf",), rb"\{\\rtf", has_text=True)
MSG: Final = _ole("MSG", "application/vnd.ms-outlook", "__properties_version1.0", has_text=True)
EML: Final = FileKind(
    *("EML", "message/rfc822", ("eml",)),
    rb"(?i)(?:\xef\xbb\xbf)?(?:>?From [^\r\n]*\r?\n)?"
    + _FIELD
    + rb"(?:from|to|subject|date|received|message-id|mime-version|return-path):",
    shared=("txt", "csv"),
    has_text=True,
)
ZIP: Final = FileKind("ZIP", "application/zip", ("zip",))
JPEG: Final = FileKind("JPEG", "image/jpeg", ("jpg", "jpeg"), rb"\xff\xd8\xff", inline=True)
PNG: Final = FileKind("PNG", "image/png", ("png",), rb"\x89PNG\r\n\x1a\n", inline=True)
TIFF: Final = FileKind("TIFF", "image/tiff", ("tif", "tiff"), rb"II[*+]\0|MM\0[*+]")
HEIC: Final = FileKind("HEIC", "image/heic", ("heic", "heif"), _BRANDS + rb"hei[cxms]|hev[cxms])")
WEBP: Final = FileKind("WEBP", "image/webp", ("webp",), rb"(?s)RIFF.{4}WEBPVP8", inline=True)
MP4: Final = FileKind("MP4", "video/mp4", ("mp4", "m4v"), _BRANDS + rb"iso[m2-9]|mp4[12]|avc1|M4V |MSNV|dash)")
MACROS: Final = FileKind("MACROS", "", ())  # an office file that runs code when it is opened

KINDS: Final = (
    *(PDF, DOCX, XLSX, PPTX, DOC, XLS, ODT, ODS, ODP, DWG, DXF, DWF, DGN, IFC, RVT, MPP),
    *(TXT, CSV, RTF, MSG, EML, ZIP, JPEG, PNG, TIFF, HEIC, WEBP, MP4),
)
BY_EXTENSION: Final = {extension: kind for kind in KINDS for extension in kind.extensions}
BY_MIME_TYPE: Final = {kind.mime_type: kind for kind in KINDS}
_CONTROLS: Final = re.compile(b"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_WIDE_CONTROLS: Final = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_ACTIVE_TEXT: Final = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*(?:#!|<(?:!doctype|html|head|body|svg|script|\?xml))")


def kind_of_head(head: bytes) -> FileKind | None:
    """Return the kind that the first `HEAD_BYTES` show, None where they show none, or an archive or a PDF."""
    if head.startswith(OLE2):
        return None
    found = next((kind for kind in KINDS if re.match(kind.head, head)), None)
    return found or (TXT if _is_text(head) else None)


def _is_text(head: bytes) -> bool:
    """Whether it is UTF-8, UTF-16 with its mark, or a text of one byte for each letter, and no page or script."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return not _WIDE_CONTROLS.search(head[: len(head) // 2 * 2].decode("utf-16", "surrogatepass"))
    return bool(head.strip()) and not _CONTROLS.search(head) and not _ACTIVE_TEXT.match(head)


class _BoundedOle(OleFileIO):
    """An OLE2 file whose directory does not fill the memory."""

    def _open(self, start: int, size: int = 0x7FFFFFFF, force_FAT: bool = False) -> BytesIO:  # noqa: N803
        stream: BytesIO = super()._open(start, size, force_FAT)
        if force_FAT and size == 0x7FFFFFFF and stream.getbuffer().nbytes > _MOST_DIRECTORY:
            raise OSError("The directory is too large.")
        return stream


def kind_of_compound(file: BinaryIO) -> FileKind | None:
    """Return the kind of an OLE2 file, by the names at its root."""
    try:
        with _BoundedOle(file) as compound:
            names = {entry.name.lower() for entry in compound.root.kids}
    except (OSError, ValueError, TypeError, LookupError, RecursionError, AttributeError):
        return None
    kind = next((kind for kind in KINDS if kind.streams & names), None)
    return MACROS if kind in (DOC, XLS) and names & {"macros", "_vba_project_cur"} else kind


def extensions_of(kinds: Iterable[FileKind]) -> list[str]:
    return sorted(extension for kind in kinds for extension in kind.extensions)


def kinds_listed(extensions: str, of: Collection[FileKind] = KINDS) -> tuple[FileKind, ...]:
    """
    Return the kinds that a list of extensions names, commas between; all of them for an empty list.

    :raises ValueError: with the first that is unknown
    """
    words = {word.strip().lower().removeprefix(".") for word in extensions.split(",")} - {""}
    for word in sorted(words - BY_EXTENSION.keys()):
        raise ValueError(word)
    return tuple(kind for kind in of if not words or words & set(kind.extensions))
