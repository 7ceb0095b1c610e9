"""Text of Office files from XML; document types are refused, as entities could explode."""

import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import BinaryIO
from xml.etree import ElementTree as ET
from xml.parsers import expat

from saraban.attachments.domain import TextProblem, UnreadableFile

MOST_UNPACKED = 256 * 1024 * 1024  # bytes of XML; zipfile reads at most the size in the directory
_CHUNK = 256 * 1024
_TYPES, _OFFICE = "/[content_types].xml", "application/vnd.openxmlformats-officedocument."
_BESIDE = ("header", "footer", "footnotes", "endnotes", "comments")
_SIGNS = {"tab": " ", "br": " ", "cr": " ", "s": " ", "line-break": " ", "noBreakHyphen": "-"}


def docx_text(file: BinaryIO) -> Iterator[str]:
    """:raises UnreadableFile:"""
    with zipfile.ZipFile(file) as packed:
        parts = _parts(packed)
        beside = sorted(part for kind in _BESIDE for part in parts[f"wordprocessingml.{kind}"])
        main = parts["wordprocessingml.document.main"]
        if not main:
            raise UnreadableFile(TextProblem.DAMAGED)
        for part in _require_readable(packed, [*main, *beside]):
            yield from _pieces(packed, part, _Elements("p", end="\n"))


def xlsx_text(file: BinaryIO) -> Iterator[str]:
    """:raises UnreadableFile:"""
    with zipfile.ZipFile(file) as packed:
        parts = _parts(packed)
        sheets = sorted(parts["spreadsheetml.worksheet"], key=lambda name: (len(name), name))
        strings: list[str] = []
        for part in _require_readable(packed, [*parts["spreadsheetml.sharedStrings"], *sheets]):
            if part not in sheets:
                strings += _pieces(packed, part, _Elements("si"))
            else:
                yield from _pieces(packed, part, _Elements("c", end=" ", strings=strings))


def pptx_text(file: BinaryIO) -> Iterator[str]:
    with zipfile.ZipFile(file) as packed:
        parts = _parts(packed)
        slides = sorted(parts["presentationml.slide"], key=lambda name: (len(name), name))
        for part in _require_readable(packed, [*slides, *parts["presentationml.notesSlide"]]):
            yield from _pieces(packed, part, _Elements("p", end="\n"))


def open_document_text(file: BinaryIO) -> Iterator[str]:
    """:raises UnreadableFile:"""
    with zipfile.ZipFile(file) as packed:
        if b"encryption-data" in packed.read("META-INF/manifest.xml"):
            raise UnreadableFile(TextProblem.PASSWORD)
        for part in _require_readable(packed, ["content.xml", *({"styles.xml"} & set(packed.namelist()))]):
            yield from _pieces(packed, part, _Elements("p", end="\n", takes_all=True))


def _parts(packed: zipfile.ZipFile) -> dict[str, list[str]]:
    """Return names by the distinguishing part of the content type."""
    names = {f"/{name}".lower(): name for name in packed.namelist()}
    [listing] = _require_readable(packed, [names[_TYPES]])
    types = {
        (element.get("PartName") or element.get("Extension") or "").lower(): element.get("ContentType", "")
        for element in ET.fromstring(packed.read(listing))  # noqa: S314  expat is bounded
    }
    parts = defaultdict(list)
    for name, stored in names.items():
        content_type = types.get(name) or types.get(name.rpartition(".")[2], "")
        parts[content_type.removeprefix(_OFFICE).removesuffix("+xml")].append(stored)
    return parts


def _require_readable(packed: zipfile.ZipFile, names: Sequence[str]) -> Sequence[str]:
    parts = [packed.getinfo(name) for name in names]
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadableFile(TextProblem.PASSWORD)
    if sum(part.file_size for part in parts) > MOST_UNPACKED:
        raise UnreadableFile(TextProblem.TOO_LARGE)
    return names


class _Elements:
    """
    :param strings: texts that cells reference by number
    :param takes_all: also text outside of text elements (OpenDocument)
    """

    def __init__(self, piece: str, *, end: str = "", strings: Sequence[str] = (), takes_all: bool = False) -> None:
        self.pieces: list[str] = []
        self._piece, self._end, self._strings = piece, end, strings
        self._parts: list[str] = []
        self._is_text, self._names_string, self._fallbacks = takes_all, False, 0
        self._takes_all = takes_all

    def start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(" ")[2]
        self._fallbacks += name == "Fallback"  # a copy for old programs
        self._is_text = self._takes_all or (name in {"t", "v"} and not self._fallbacks)
        if name == "c":
            self._names_string = attributes.get("t") == "s"
        elif name in _SIGNS:
            self._parts.append(_SIGNS[name])

    def text(self, text: str) -> None:
        if self._is_text:
            self._parts.append(text)

    def end(self, name: str) -> None:
        name = name.rpartition(" ")[2]
        self._is_text = self._takes_all
        self._fallbacks -= name == "Fallback"
        if name == "v" and self._names_string:
            self._parts = [self._strings[int("".join(self._parts))]]
        elif name in {self._piece, "h"}:  # h: a heading of OpenDocument
            self.pieces.append("".join(self._parts) + self._end)
            self._parts = []


def _pieces(packed: zipfile.ZipFile, part: str, elements: _Elements) -> Iterator[str]:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse_doctype
    parser.StartElementHandler, parser.EndElementHandler = elements.start, elements.end
    parser.CharacterDataHandler = elements.text
    with packed.open(part) as stream:
        while chunk := stream.read(_CHUNK):
            parser.Parse(chunk)
            yield from elements.pieces
            elements.pieces.clear()
    parser.Parse(b"", True)  # noqa: FBT003  end of the document
    yield from elements.pieces


def _refuse_doctype(*_: object) -> None:
    raise UnreadableFile(TextProblem.DAMAGED)
