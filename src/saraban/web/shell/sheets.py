"""Spreadsheets sent to a page: the page keeps their rows until they are saved."""

import base64
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Final, TypeVar

from pydantic import TypeAdapter

from saraban.attachments.dependencies import SentFile
from saraban.kit.child_processes import CHILDREN
from saraban.kit.errors import FieldProblem, invalid
from saraban.kit.sheet_columns import CellReader, SheetColumn, SheetRow
from saraban.kit.spreadsheets import MOST_ROWS, SUFFIXES, unreadable
from saraban.web.shell.page import PageRequest

Read = TypeVar("Read")
MOST_BYTES: Final = 5 * 1024 * 1024
_ROWS: Final = TypeAdapter(list[SheetRow])


async def read_sent_file(page: PageRequest, sent: SentFile, read: Callable[[Path], Read]) -> Read:
    """:raises Invalid: at `/file`, when it is larger than 5 MB or has another suffix"""
    suffix = next((suffix for suffix in SUFFIXES if sent.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise unreadable()
    with NamedTemporaryFile(prefix="saraban-", suffix=suffix) as file:
        async for chunk in sent.chunks():
            if file.tell() + len(chunk) > MOST_BYTES:
                raise invalid("/file", "too_large", "ไฟล์ใหญ่เกิน 5 MB", "The file is larger than 5 MB.")
            file.write(chunk)
        file.flush()
        return await CHILDREN.run(page.caller.public_id, partial(read, Path(file.name)))


def pack_rows(rows: Sequence[SheetRow]) -> str:
    return base64.urlsafe_b64encode(zlib.compress(_ROWS.dump_json(list(rows)))).decode()


def unpack_rows(
    packed: str, columns: Sequence[SheetColumn], typed: Mapping[str, object] = MappingProxyType({})
) -> list[SheetRow]:
    """
    Return the rows of a form, validated again: the browser may have changed them.
    :param typed: form values; `fix3.code` replaces the cell of a row and its faults
    :raises Invalid: for a text that `pack_rows` did not write
    """
    try:
        rows = _ROWS.validate_json(zlib.decompressobj().decompress(base64.urlsafe_b64decode(packed), 4 * MOST_BYTES))
        if not all(0 < row.number <= MOST_ROWS for row in rows):
            raise ValueError(packed[:50])  # noqa: TRY301  one way out for a text that was changed
    except (ValueError, zlib.error) as fault:
        words = "กรุณาอัปโหลดไฟล์หรือวางแถวอีกครั้ง", "Upload the file or paste the rows again."
        raise invalid("/file", "malformed", *words) from fault
    reader = CellReader(columns, range(len(columns)))
    titles = {f"/{column.key}": column.title for column in columns}
    unpacked = []
    for row in rows:
        cells = {column.key: row.cells.get(column.key, "") for column in columns}
        fixed = {key: str(typed.get(f"fix{row.number}.{key}", text)) for key, text in cells.items()}
        old_faults = {
            fault.pointer: fault for fault in row.faults if fixed.get(fault.pointer[1:]) == cells.get(fault.pointer[1:])
        }
        row_again = reader.read(row.number, fixed.values())
        new_faults = {  # the column's letter in the file is unknown here
            fault.pointer: FieldProblem(
                fault.pointer, fault.code, fault.text, {**fault.values, "cell": titles[fault.pointer]}
            )
            for fault in row_again.faults
        }
        unpacked.append(SheetRow(row.number, row_again.cells, tuple({**new_faults, **old_faults}.values())))
    return unpacked
