"""The export: JSON Lines that an outsider can check alone, written block by block in constant memory."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from saraban.audit import repository
from saraban.audit.domain.blocks import FORM, START, to_export, unpack
from saraban.audit.domain.journals import JOURNALS, Journal, utc_text
from saraban.kit.db import Database
from saraban.kit.json import Json


@dataclass(frozen=True, slots=True)
class Unsealed:
    """Rows of a journal that no block holds yet."""

    journal: str
    count: int
    since: datetime | None


async def unsealed(db: Database) -> list[Unsealed]:
    """Count the rows of each journal that are not sealed yet."""
    found = []
    async with db.reading() as session:
        for journal in JOURNALS:
            last = await repository.last_block(session, journal)
            count, since = await repository.tail(session, journal, after=last.last_id if last else None)
            found.append(Unsealed(journal.name, count, since))
    return found


async def export(db: Database, *, now: datetime) -> AsyncIterator[tuple[bytes, int]]:
    """
    Return piece after piece of the file, each with the rows it adds: a header line, then the block's rows.

    Rows are given as they stand in the database now, changed or not: it is their block that proves them.
    """
    yield _line({"type": "export", "form": FORM, "exportedAt": utc_text(now)}), 0
    end: dict[str, Json] = {}
    for journal in JOURNALS:
        number, head, key = 0, START, None
        while (piece := await _block(db, journal, above=number, after=key)) is not None:
            number, head, key = piece.number, piece.head, piece.last_key
            yield piece.text, piece.rows
        async with db.reading() as session:
            count, since = await repository.tail(session, journal, after=key)
        end[journal.name] = {
            "blocks": number,
            "head": head,
            "unsealed": count,
            "unsealedFrom": utc_text(since) if since else None,
        }
    yield _line({"type": "end", "journals": end}), 0


@dataclass(frozen=True, slots=True)
class _Piece:
    text: bytes
    rows: int
    number: int
    head: str
    last_key: int


async def _block(db: Database, journal: Journal, *, above: int, after: int | None) -> _Piece | None:
    async with db.reading() as session:
        found = await repository.blocks(session, journal.name, above=above, limit=1, with_list=True)
        if not found:
            return None
        block = found[0]
        limit = 2 * block.row_count + 1000
        rows = await repository.rows(session, journal, after, upto=block.last_id, limit=limit)
    header, content = repository.header_of(block), block.row_list
    lines = [
        _line(to_export(header, None if content is None else unpack(content))),
        *(row.line + b"\n" for row in rows),
    ]
    return _Piece(b"".join(lines), len(rows), header.number, header.head, block.last_id)


def _line(value: dict[str, Json]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
