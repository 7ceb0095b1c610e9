"""
The text of a PDF, page by page, as PDFium finds it; runs in the child process of `text_reader`.

PDFium sorts the pieces of a line by where they begin. Programs that draw each Thai vowel and tone mark as a piece of its own
(browsers, Typst) put it behind the next letter that way, so a page with Thai is put together again in the order it is written in.
"""

import ctypes
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pypdfium2 as pdfium
from pypdfium2 import raw

from saraban.attachments.domain import TextProblem, UnreadableFile, holds_thai

_SPACE, _LINE = 0.3, 0.5  # of the size of the letters: how far pieces of one word, and of one line, are apart at most

# Where a line ends Thai has no space, and a number that goes on has none.
_WRAPPED = re.compile("(?<=[\u0e01-\u0e4e])\r\n(?=[\u0e01-\u0e4e])|(?<=\\w-)\r\n(?=\\w)")
# So PDFium calls a hyphen at the end of a line: one of a number, unless the word goes on in small letters.
_HYPHEN = re.compile("[\x02\ufffe](?:\r\n)?(?=([0-9A-Z\u0e01-\u0e4e])?)")


def pdf_text(file: BinaryIO) -> Iterator[str]:
    """
    :raises UnreadableFile: when it needs a password or is none
    """
    try:
        document = pdfium.PdfDocument(file.read())
    except pdfium.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        raise UnreadableFile(TextProblem.PASSWORD if locked else TextProblem.DAMAGED) from error
    for number in range(len(document)):
        try:
            page = document[number]
            text_page = page.get_textpage()
        except pdfium.PdfiumError:
            continue  # one damaged page: the others can be read
        text = text_page.get_text_range()
        if holds_thai(text):
            text = _in_writing_order(page, text_page) or text
        yield _WRAPPED.sub("", _HYPHEN.sub(lambda found: "-" if found[1] else "", text)) + "\n"
        text_page.close()
        page.close()


class _Piece(NamedTuple):
    """
    What is drawn at once, from left to right.

    :param span: of the marked content whose text replaces that of its pieces, None outside one
    :param size: of its letters
    """

    span: int | None
    left: float
    right: float
    base: float
    size: float


def _in_writing_order(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage) -> str:
    """Return nothing where some of the text is turned, or drawn elsewhere than on the page itself."""
    texts = _texts_of_pieces(text_page)
    found: list[str] = []
    last = None
    for index in range(raw.FPDFPage_CountObjects(page)):
        drawn = raw.FPDFPage_GetObject(page, index)
        if raw.FPDFPageObj_GetType(drawn) != raw.FPDF_PAGEOBJ_TEXT:
            continue
        text, piece = texts.pop(_address(drawn), ""), _piece(drawn)
        if piece is None:
            return ""
        if last and piece.span is not None and piece.span == last.span:
            last = last._replace(right=max(last.right, piece.right))
            continue
        if last:
            found.append(_between(last, piece))
        found.append(text or " ")  # a space is drawn without ink, and has no text then
        last = piece
    return "" if texts else "".join(found)


def _texts_of_pieces(text_page: pdfium.PdfTextPage) -> dict[int, str]:
    found: dict[int, str] = {}
    last, gap = 0, ""
    for index in range(text_page.count_chars()):
        drawn = raw.FPDFText_GetTextObject(text_page, index)
        letter = chr(raw.FPDFText_GetUnicode(text_page, index))
        if not drawn:  # a space or an end of line that PDFium made up
            gap = letter
            continue
        address = _address(drawn)
        found[address] = found.get(address, "") + (gap if address == last else "") + letter
        last, gap = address, ""
    return found


_MATRIX, _SIZE = raw.FS_MATRIX(), ctypes.c_float()
_LEFT, _BOTTOM, _RIGHT, _TOP = (ctypes.c_float() for _ in range(4))


def _piece(drawn: raw.FPDF_PAGEOBJECT) -> _Piece | None:
    raw.FPDFPageObj_GetMatrix(drawn, _MATRIX)
    if _MATRIX.b or _MATRIX.a < 0:
        return None
    raw.FPDFTextObj_GetFontSize(drawn, _SIZE)
    raw.FPDFPageObj_GetBounds(drawn, _LEFT, _BOTTOM, _RIGHT, _TOP)
    return _Piece(_span(drawn), _LEFT.value, _RIGHT.value, _MATRIX.f, _SIZE.value * _MATRIX.a)


def _span(drawn: raw.FPDF_PAGEOBJECT) -> int | None:
    for index in range(raw.FPDFPageObj_CountMarks(drawn)):
        mark = raw.FPDFPageObj_GetMark(drawn, index)
        if raw.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") == raw.FPDF_OBJECT_STRING:
            return _address(mark)
    return None


def _between(last: _Piece, piece: _Piece) -> str:
    if abs(piece.base - last.base) > _LINE * last.size or piece.left < last.left - last.size:
        return "\r\n"
    return " " if piece.left - last.right > _SPACE * last.size else ""


def _address(pointer: raw.FPDF_PAGEOBJECT | raw.FPDF_PAGEOBJECTMARK) -> int:
    return ctypes.addressof(pointer.contents)
