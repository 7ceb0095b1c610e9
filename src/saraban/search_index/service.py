"""
Looking something up: the index names entries that may have words, the newest first. Whoever asks compares their texts, and asks
whether they may be seen.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Final

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
    mark_posted,
    not_led_to,
    pending,
    post,
    postings_of,
    queue,
    queue_renamed,
    queue_selected,
    renamed,
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
    "mark_posted",
    "not_led_to",
    "pending",
    "post",
    "postings_of",
    "queue",
    "queue_renamed",
    "queue_selected",
    "renamed",
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
    words = _leading(said)
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
    waits: list[int] = []
    async for chunk, places in _by_chunk(session, words):
        for place in newest_first(places):  # there may be thousands, and the first of them enough
            if (key := chunk * CHUNK + place) not in given:
                waits.append(key)
            if len(waits) == SLICE:
                yield waits
                waits = []
    if waits:
        yield waits


def _leading(words: Sequence[str]) -> list[str]:
    return [word for word in words if len(word) >= SHORTEST]


async def heads_with(
    session: AsyncSession, kind: SearchKind, words: Sequence[str], *, most: int, looked_at: int
) -> list[int] | None:
    """
    Return keys of what may have words, None where there may be more than `most`.

    :param words: folded
    :param looked_at: so many entries of all kinds are looked at
    """
    leading = _leading(words)
    if not leading:
        return None
    keys = await repository.unposted_keys(session, limit=looked_at + 1)
    async for chunk, places in _by_chunk(session, leading):
        if len(keys) + places.bit_count() > looked_at:
            return None
        keys += [chunk * CHUNK + place for place in newest_first(places)]
    found: set[int] = set()
    for start in range(0, len(keys), SLICE):
        found.update(await repository.heads_of(session, kind, keys[start : start + SLICE]))
    return list(found) if len(found) <= most else None


async def _by_chunk(session: AsyncSession, words: Sequence[str]) -> AsyncIterator[tuple[int, int]]:
    """Give the places, as bits, of entries that may have words, chunk by chunk from the newest."""
    sizes = await repository.sizes(session, {gram for word in words for gram in grams_of_word(word)})
    short = {word: await repository.beginning(session, word) for word in words if len(word) == SHORTEST}
    for chunk in sorted({*sizes, *(one for found in short.values() for one in found)}, reverse=True):
        yield chunk, await _in_chunk(session, chunk, words, sizes.get(chunk, {}), short)


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
