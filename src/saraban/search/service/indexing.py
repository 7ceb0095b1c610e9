"""
Keeping the index of search: what was written is read and folded in one transaction, then the index is made to lead to it in
short ones. An entry that a killed worker has read is found without the index until another worker has posted it.

Whoever writes a document queues it in their own transaction.
"""

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import extraction
from saraban.kit.db import Database, table_of
from saraban.search.repository import texts
from saraban.search.repository.texts import SearchSource, holders
from saraban.search_index import service as index
from saraban.search_index.domain.folding import fold, fold_cached, joined
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.postings import END
from saraban.search_index.service import WAITS, EntryText, waiting

BATCH: Final = 1_000
MOST_IN_FILES: Final = (
    3_000_000  # characters of all files of an entry: in Thai nine of the 16 MB that MariaDB takes at once
)
Progress = Callable[[int], None]

__all__ = ["WAITS", "IndexDifference", "compare", "holders", "index_next", "queue_files", "rebuild", "waiting"]


async def index_next(db: Database, *, most: int = BATCH) -> bool:
    """Index what waits longest, and say whether there was anything."""
    read = await db.transact(partial(_read_waiting, most))
    async with db.reading() as session:
        unposted = await index.unposted(session, most=max(most, read))
    async for chunk, places in index.postings_of(unposted):
        await db.transact(partial(index.post, chunk=chunk, places=places))
    if unposted:
        await db.transact(partial(index.mark_posted, texts=unposted))
    return bool(read or unposted)


async def _read_waiting(most: int, session: AsyncSession) -> int:
    await index.hold(session)
    waits = await index.pending(session, most=most)
    if waits.renamed:
        await index.queue_selected(session, texts.bearers(waits.renamed))
    for kind, public_ids in waits.heads.items():
        await _read(session, kind, public_ids)
    await index.settle(session, waits.keys)
    return len(waits.keys)


async def _read(session: AsyncSession, kind: SearchKind, public_ids: set[UUID]) -> None:
    heads = await texts.keys(session, kind, public_ids)
    await index.write(session, kind, heads, await _entries(session, kind, heads))


async def _entries(session: AsyncSession, kind: SearchKind, heads: Sequence[int]) -> list[EntryText]:
    found = await texts.sources(session, kind, heads)
    written = await extraction.texts(session, {file for one in found for file in one.files})
    return [entry_of(one, [written[file] for file in sorted(one.files) if file in written]) for one in found]


async def queue_files(session: AsyncSession, attachment_ids: Collection[int]) -> None:
    """Have what these files hang on be read anew: their text is there now."""
    await index.queue(session, await holders(session, attachment_ids))


def entry_of(source: SearchSource, in_files: Sequence[str]) -> EntryText:
    numbers = [fold(one) for one in source.numbers]
    number = "".join(one + END for one in dict.fromkeys([*numbers, *map(joined, numbers)]))
    said = [fold(one) for one in (source.subject, *source.texts, *source.files.values())]
    text = "".join(one + END for one in dict.fromkeys([*said, *map(fold_cached, source.names)]))
    written = "".join(fold(one) + END for one in in_files)[:MOST_IN_FILES]
    return EntryText(source.head_id, source.revision_id, number, text, written)


async def rebuild(db: Database, *, most: int = 20_000, progress: Progress = lambda _left: None) -> None:
    """Make the index anew. Meanwhile less is found; whoever is stopped leaves the rest to the worker."""
    await db.transact(partial(index.begin_anew, everything=texts.everything()))
    while await _uncollected(index_next(db, most=most)):
        async with db.reading() as session:
            progress(await index.waiting(session))


async def _uncollected(work: Awaitable[bool]) -> bool:
    """A batch is a million small objects without cycles: looking through them again and again takes a fifth of the time."""
    gc.disable()
    try:
        return await work
    finally:
        gc.enable()


@dataclass(frozen=True, slots=True)
class IndexDifference:
    kind: SearchKind
    number: str


async def compare(db: Database, *, size: int = 500) -> AsyncIterator[IndexDifference]:
    """Give what the index does not have, or has as it is not; what waits for the index is no difference."""
    for kind in SearchKind:
        after: int | None = 0
        while after is not None:
            async with db.reading() as session:
                heads = await texts.slice_of(session, kind, after=after, limit=size)
                wrong = await _differing(session, kind, heads)
            for one in wrong:
                yield one
            after = heads[-1] if len(heads) == size else None


async def _differing(session: AsyncSession, kind: SearchKind, heads: Sequence[int]) -> list[IndexDifference]:
    wanted = {(one.head_id, one.revision_id): one for one in await _entries(session, kind, heads)}
    there = {(row.said.head_id, row.said.revision_id): row for row in await index.entries_of(session, kind, heads)}
    lost = await index.not_led_to(session, {row.id: row.said.whole for row in there.values() if row.is_posted})
    wrong = {key for key, row in there.items() if key not in wanted or row.id in lost}
    wrong |= {key for key, entry in wanted.items() if key not in there or there[key].said != entry}
    if not wrong:
        return []
    # In this order: the names of organizations and people give way to what bears them.
    waits = await texts.bearing(session, kind, heads, await index.renamed(session))
    waits |= await index.waiting_heads(session, kind, table_of(texts.heads_of(kind)), among=heads, most=len(heads))
    return [
        IndexDifference(kind, (wanted[key] if key in wanted else there[key].said).number.partition(END)[0])
        for key in sorted(wrong)
        if key[0] not in waits
    ]
