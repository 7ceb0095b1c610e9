"""
Text of a PDF by page, read by PDFium.

PDFium sorts pieces by their left edge, which misplaces Thai marks; a page with Thai is assembled in drawing order.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby, pairwise
from math import hypot
from operator import itemgetter
from statistics import median_low
from typing import BinaryIO, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from saraban.attachments.domain import TextProblem, UnreadableFile, has_thai

_SPACE, _LINE = 0.28, 0.5  # maximum distance in letter sizes within a word, and within a line
_FEW_LETTERS = 100  # a scanner or a fax may print so many beside the picture of a page

_GAP = "\0"  # made up by PDFium between two letters of a piece
_THAI_GAP = re.compile(f"(?<=[\u0e01-\u0e4e]){_GAP}(?=[\u0e01-\u0e4e])")
_NO_LETTERS = re.compile(f"[\\s{_GAP}\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+")  # gaps, and marks above or below a letter
# A line break in Thai, or in a number after a hyphen, is not a space.
_WRAPPED = re.compile("(?<=[\u0e01-\u0e4e])\r\n(?=[\u0e01-\u0e4e])|(?<=\\w-)\r\n(?=\\w)")
# PDFium's hyphen at the end of a line: part of a number, unless the word continues in lower case.
_HYPHEN = re.compile("[\x02\ufffe](?:\r\n)?(?=([0-9A-Z\u0e01-\u0e4e])?)")

# Fonts from before Unicode have Thai under windows-874 codes, which PDFium reads as Latin or private letters.
_OLD_THAI = {
    high + code: bytes([code]).decode("cp874")
    for high in (0, 0xF000)
    for code in (*range(0xA1, 0xDB), *range(0xDF, 0xFC))
}
_OLD_LETTER = f"[{''.join(map(chr, _OLD_THAI))}]"
_OLD_WORD = re.compile(f"{_OLD_LETTER}+(?:-+{_OLD_LETTER}+)*")
# PDFium reads the code of yo ying as a hyphen.
_YO_YING = re.compile("(?<=[\u0e01-\u0e4e])-++(?![0-9A-Za-z])|(?<!-)-++(?=[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e])")


def pdf_text(file: BinaryIO) -> Iterator[str]:
    """:raises UnreadableFile: also at the end, when most pages cannot be read"""
    try:
        document = pdfium.PdfDocument(file.read())
    except pdfium.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        raise UnreadableFile(TextProblem.PASSWORD if locked else TextProblem.DAMAGED) from error
    problems: Counter[TextProblem | None] = Counter()
    for number in range(len(document)):
        try:
            page = document[number]
            yield from _texts_of_annotations(page)
            if raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) == raw.FLATTEN_SUCCESS:  # include annotations
                page.close()
                page = document[number]
            text_page = page.get_textpage()
        except pdfium.PdfiumError:
            continue  # the other pages can be read
        text = text_page.get_text_range()
        problems[_page_problem(page, text_page, text)] += 1
        if has_thai(read_old_thai(text)):
            text = read_old_thai("\r\n".join(_lines(page, text_page)))
        yield _WRAPPED.sub("", _HYPHEN.sub(lambda match: "-" if match[1] else "", text)) + "\n"
        text_page.close()
        page.close()
    readable = problems.pop(None, 0)
    for problem, _ in problems.most_common(1):
        if problem and problems.total() > readable:
            raise UnreadableFile(problem)


def read_old_thai(text: str) -> str:
    """Convert Latin letters that are mostly windows-874 Thai."""
    words = _OLD_WORD.findall(text)
    # No language has so many accents in sequence.
    thai = [word for word in words if len(word) > 3 and len(set(word)) > 2]
    if 2 * sum(map(len, thai)) <= sum(map(len, words)):
        return text
    return _YO_YING.sub(lambda hyphens: "ญ" * len(hyphens[0]), text.translate(_OLD_THAI))


def _page_problem(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, text: str) -> TextProblem | None:
    letters = sum(map(len, text.split()))
    unknown = sum(raw.FPDFText_HasUnicodeMapError(text_page, index) == 1 for index in range(text_page.count_chars()))
    if 3 * unknown > letters:  # hardly a word could be searched
        return TextProblem.NO_UNICODE
    if letters >= _FEW_LETTERS:
        return None
    objects = raw.FPDFPage_CountObjects(page)
    pictures = sum(_picture_area(raw.FPDFPage_GetObject(page, index)) for index in range(objects))
    width, height = page.get_size()
    is_picture = pictures > width * height / 2
    return TextProblem.NO_TEXT if is_picture or (objects and not letters) else None


_LEFT, _BOTTOM, _RIGHT, _TOP = (ctypes.c_float() for _ in range(4))


def _picture_area(drawn: raw.FPDF_PAGEOBJECT) -> float:
    if raw.FPDFPageObj_GetType(drawn) != raw.FPDF_PAGEOBJ_IMAGE:
        return 0.0
    raw.FPDFPageObj_GetBounds(drawn, _LEFT, _BOTTOM, _RIGHT, _TOP)
    return (_RIGHT.value - _LEFT.value) * (_TOP.value - _BOTTOM.value)


def _texts_of_annotations(page: pdfium.PdfPage) -> Iterator[str]:
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, index)
        key = b"V" if raw.FPDFAnnot_GetSubtype(note) == raw.FPDF_ANNOT_WIDGET else b"Contents"
        if raw.FPDFAnnot_GetValueType(note, key) == raw.FPDF_OBJECT_STRING:  # a ticked box has a name instead
            yield _utf16(partial(raw.FPDFAnnot_GetStringValue, note, key)) + "\n"
        raw.FPDFPage_CloseAnnot(note)


def _utf16(get: Callable[[object, int], int]) -> str:
    size = get(None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    get(buffer, size)
    return bytes(buffer)[:size].decode("utf-16-le", "ignore").rstrip("\0")


class _Piece(NamedTuple):
    """:param span: marked content whose text replaces the text of its pieces"""

    text: str
    span: int | None
    course: tuple[float, float]
    left: float
    right: float
    base: float
    size: float


def _lines(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> Iterator[str]:
    texts = _texts_of_objects(text_page)
    line: list[_Piece] = []
    for drawn in _text_objects(page):
        piece = _piece(drawn, texts.pop(_address(drawn), "")) if drawn else None
        if piece and line and piece.span is not None and piece.span == line[-1].span:
            line[-1] = line[-1]._replace(right=max(line[-1].right, piece.right))
            continue
        if line and (piece is None or _starts_new_line(line[-1], piece)):
            yield _join_line(line)
            line = []
        if piece:
            line.append(piece)
    if line:
        yield _join_line(line)
    yield from (text.replace(_GAP, " ") for text in texts.values())


def _texts_of_objects(text_page: pdfium.PdfTextPage) -> dict[int, str]:
    text_of_object: dict[int, str] = {}
    for address, letters in groupby(_letters(text_page), key=itemgetter(0)):
        text = "".join(letter for _, letter in letters).rstrip(_GAP)
        text_of_object[address] = text_of_object.get(address, "") + text
    return text_of_object


def _letters(text_page: pdfium.PdfTextPage) -> Iterator[tuple[int, str]]:
    """Yield letters with their objects; spaces made up by PDFium are gaps."""
    address = 0
    for index in range(text_page.count_chars()):
        drawn = raw.FPDFText_GetTextObject(text_page, index)
        letter = chr(raw.FPDFText_GetUnicode(text_page, index))
        if not drawn or (letter == " " and raw.FPDFText_IsGenerated(text_page, index) == 1):
            letter = _GAP
        if drawn:
            address = _address(drawn)
        yield address, letter


def _text_objects(page: pdfium.PdfPage) -> Iterator[raw.FPDF_PAGEOBJECT | None]:
    """Yield None where a form begins or ends."""
    for index in range(raw.FPDFPage_CountObjects(page)):
        yield from _nested_text_objects(raw.FPDFPage_GetObject(page, index))


def _nested_text_objects(drawn: raw.FPDF_PAGEOBJECT) -> Iterator[raw.FPDF_PAGEOBJECT | None]:
    kind = raw.FPDFPageObj_GetType(drawn)
    if kind == raw.FPDF_PAGEOBJ_TEXT:
        yield drawn
    elif kind == raw.FPDF_PAGEOBJ_FORM:
        yield None
        for index in range(raw.FPDFFormObj_CountObjects(drawn)):
            yield from _nested_text_objects(raw.FPDFFormObj_GetObject(drawn, index))
        yield None


_MATRIX, _SIZE, _CORNERS, _LENGTH = raw.FS_MATRIX(), ctypes.c_float(), raw.FS_QUADPOINTSF(), ctypes.c_ulong()


def _piece(drawn: raw.FPDF_PAGEOBJECT, text: str) -> _Piece:
    raw.FPDFPageObj_GetMatrix(drawn, _MATRIX)
    raw.FPDFTextObj_GetFontSize(drawn, _SIZE)
    raw.FPDFPageObj_GetRotatedBounds(drawn, _CORNERS)
    scale = hypot(_MATRIX.a, _MATRIX.b) or 1.0
    x, y = _MATRIX.a / scale, _MATRIX.b / scale
    left, right = sorted((_CORNERS.x1 * x + _CORNERS.y1 * y, _CORNERS.x2 * x + _CORNERS.y2 * y))
    if not text and left == right:
        text = " "  # an invisible piece
    span = _span(drawn)
    return _Piece(
        text if span is None else _actual_text(span),
        None if span is None else _address(span),
        (round(x, 2), round(y, 2)),
        min(left, _MATRIX.e * x + _MATRIX.f * y),
        right,
        _MATRIX.f * x - _MATRIX.e * y,
        abs(_SIZE.value) * scale,
    )


def _span(drawn: raw.FPDF_PAGEOBJECT) -> raw.FPDF_PAGEOBJECTMARK | None:
    for index in range(raw.FPDFPageObj_CountMarks(drawn)):
        mark = raw.FPDFPageObj_GetMark(drawn, index)
        if raw.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") == raw.FPDF_OBJECT_STRING:
            return mark
    return None


def _actual_text(span: raw.FPDF_PAGEOBJECTMARK) -> str:
    raw.FPDFPageObjMark_GetParamBlobValue(span, b"ActualText", None, 0, _LENGTH)
    buffer = (ctypes.c_ubyte * _LENGTH.value)()
    raw.FPDFPageObjMark_GetParamBlobValue(span, b"ActualText", buffer, _LENGTH.value, _LENGTH)
    text = bytes(buffer)
    if text.startswith(b"\xef\xbb\xbf"):
        return text.decode(errors="ignore")
    return text.decode("utf-16", "ignore") if text.startswith((b"\xfe\xff", b"\xff\xfe")) else text.decode("latin-1")


def _starts_new_line(last: _Piece, piece: _Piece) -> bool:
    return (
        piece.course != last.course
        or abs(piece.base - last.base) > _LINE * max(last.size, piece.size)
        or piece.left < last.left - last.size
    )


def _join_line(line: list[_Piece]) -> str:
    """Join a line; if most letters have gaps, gaps are not spaces."""
    gaps, right = [0.0], line[0].right
    for last, piece in pairwise(line):
        right = max(right, last.right)
        gaps.append(piece.left - right)
    drawn = "".join(piece.text for piece in line)
    usual_gap, space = 0.0, " "
    if 2 * (len(line) + drawn.count(_GAP)) > len(_NO_LETTERS.sub("", drawn)):
        least_gap = _SPACE * line[0].size if _GAP in drawn else 0.0
        usual_gap, space = min(max(median_low(gaps), least_gap), line[0].size), ""
    parts = (
        f" {piece.text}" if gap > usual_gap + _SPACE * piece.size else piece.text
        for gap, piece in zip(gaps, line, strict=True)
    )
    return _THAI_GAP.sub("", "".join(parts)).replace(_GAP, space)


def _address(pointer: raw.FPDF_PAGEOBJECT | raw.FPDF_PAGEOBJECTMARK) -> int:
    return ctypes.addressof(pointer.contents)
