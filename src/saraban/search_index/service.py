"""
Looking something up: the index names entries that may have words, the newest first. Whoever asks compares their texts, and asks
whether they may be seen.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.search_index import repository
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.postings import CHUNK, grams_of_word, in_all, in_any, newest_first
from saraban.search_index.domain.query import SHORTEST
from saraban.search_index.repository import (
    WAITS,
    EntryText,
    begin_anew,
    entries_of,
    hold,
    not_led_to,
    pending,
    post,
    queue,
    settle,
    unposted,
    waiting,
    waiting_heads,
    write,
)

__all__ = [
    "WAITS",
    "EntryText",
    "begin_anew",
    "candidates",
    "entries_of",
    "heads_with",
    "hold",
    "not_led_to",
    "pending",
    "post",
    "queue",
    "settle",
    "unposted",
    "waiting",
    "waiting_heads",
    "write",
]
SLICE: Final = 400  # entries of one comparison
RAREST: Final = 3  # of the characters of a word that are looked up


async def candidates(session: AsyncSession, said: Sequence[str]) -> AsyncIterator[list[int]]:
    """
    Give keys of entries that may have words, the newest first: those that the index does not lead to yet, then those it names.

    :param said: folded; of single characters alone, or of nothing, all entries are given
    """
    words = [word for word in said if len(word) >= SHORTEST]
    if not words:
        before: int | None = None
        while some := await repository.newest(session, before=before, limit=SLICE):
            yield some
            before = some[-1]
        return
    late = await repository.unposted_keys(session, limit=SLICE)
    if late:
        yield late
    given = set(late)
    sizes = await repository.sizes(session, {gram for word in words for gram in grams_of_word(word)})
    short = {word: await repository.beginning(session, word) for word in words if len(word) == SHORTEST}
    waits: list[int] = []
    for chunk in sorted({*sizes, *(one for found in short.values() for one in found)}, reverse=True):
        places = await _in_chunk(session, chunk, words, sizes.get(chunk, {}), short)
        for place in newest_first(places):  # there may be thousands, and the first of them enough
            if (key := chunk * CHUNK + place) not in given:
                waits.append(key)
            if len(waits) == SLICE:
                yield waits
                waits = []
    if waits:
        yield waits


async def _in_chunk(
    session: AsyncSession,
    chunk: int,
    words: Sequence[str],
    sizes: Mapping[str, int],
    short: Mapping[str, Mapping[int, Sequence[str]]],
) -> int:
    """Return the places of a chunk, as bits, whose entries have what the words are made of."""
    wanted: set[str] = set()
    for word in words:
        if word in short:
            wanted.update(short[word].get(chunk, ()))
            continue
        own = grams_of_word(word)
        if not own <= sizes.keys():
            return 0
        wanted.update(sorted(own, key=sizes.__getitem__)[:RAREST])
    held = await repository.read(session, chunk, wanted)
    parts = [
        in_any([held[gram] for gram in short[word].get(chunk, ()) if gram in held])
        if word in short
        else in_all([held[gram] for gram in grams_of_word(word) if gram in held])
        for word in words
    ]
    return reduce(and_, parts)


async def heads_with(
    session: AsyncSession, kinds: Collection[SearchKind], table: sa.Table, words: Sequence[str], *, most: int
) -> list[int] | None:
    """
    Return keys of what may have words and of what waits for the index to read it, None where there may be more than `most`.

    :param table: of the heads of these kinds
    :param words: folded
    """
    found: set[int] = set()
    for kind in kinds:
        found.update(await repository.waiting_heads(session, kind, table, most=most + 1))
    looked_at = 0
    async for some in candidates(session, words):
        found.update(await repository.heads_of(session, kinds, some))
        looked_at += len(some)
        if max(len(found), looked_at // 2) > most:  # what is of other kinds costs too
            return None
    return list(found)
