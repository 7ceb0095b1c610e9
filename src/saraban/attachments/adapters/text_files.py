"""Text of text files, mails and old workbooks."""

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_binary_file, policy
from html import unescape
from typing import BinaryIO, Final

from olefile import OleFileIO
from python_calamine import CalamineWorkbook
from striprtf.striprtf import rtf_to_text

from saraban.kit.text import UTF_16

_TAG: Final = re.compile(r"(?i)<(?:(style|script)\b[^<]*</\1|/?(b|i|u|a|font|span|strong|em)\b[^<>]*|[^<>]*)>")
# Sender, recipients, subject, body and names of attachments, as UTF-16 or in bytes.
_MSG_TEXT: Final = re.compile("__substg1\\.0_(?:0037|0C1A|0C1F|0E03|0E04|1000|1013|3707)(001F|001E|0102)")


def plain_text(file: BinaryIO) -> Iterator[str]:
    yield _decode(file.read())


def _decode(content: bytes) -> str:
    if content.startswith(UTF_16):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp874", "replace")


def rtf_text(file: BinaryIO) -> Iterator[str]:
    yield rtf_to_text(file.read().decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]


def mail_text(file: BinaryIO) -> Iterator[str]:
    mail = message_from_binary_file(file, policy=policy.default)
    yield "".join(f"{mail.get(name, '')}\n" for name in ("from", "to", "cc", "subject"))
    for part in mail.walk():
        if name := part.get_filename():
            yield f"{name}\n"
        elif part.get_content_maintype() == "text":
            with suppress(LookupError):  # an unknown encoding
                text = part.get_content()
                yield (_html_text(text) if part.get_content_subtype() == "html" else text) + "\n"


def _html_text(html: str) -> str:
    return unescape(_TAG.sub(lambda tag: "" if tag[2] else " ", html))


def msg_text(file: BinaryIO) -> Iterator[str]:
    with OleFileIO(file) as mail:
        for path in mail.listdir():
            if match := _MSG_TEXT.fullmatch(path[-1]):
                content = mail.openstream(path).read()
                text = content.decode("utf-16-le", "replace") if match[1] == "001F" else _decode(content)
                yield (_html_text(text) if match[1] == "0102" else text) + "\n"


def xls_text(file: BinaryIO) -> Iterator[str]:
    book = CalamineWorkbook.from_object(file)
    for name in book.sheet_names:
        for row in book.get_sheet_by_name(name).iter_rows():
            yield "".join(f"{cell} " for cell in row)
