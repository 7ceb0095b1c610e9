"""
Keeping the index of search: the process that holds the lock of the node's index reads what was noted, and writes its entries.

Whoever writes a document notes it in their own transaction.
"""

import asyncio
import gc
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import extraction
from saraban.kit.clock import micros, stopwatch
from saraban.kit.db import Database
from saraban.search.repository import reach, texts
from saraban.search.repository.reach import EntryFacts
from saraban.search.repository.texts import SearchSource, holders
from saraban.search_index import service as index
from saraban.search_index.domain.folding import fold, fold_cached, joined
from saraban.search_index.domain.grams import grams, grams_cached, short_grams
from saraban.search_index.domain.kinds import NameOf, SearchKind
from saraban.search_index.service import SearchWriter, head_of, waiting

__all__ = [
    "IndexDifference",
    "compare",
    "holders",
    "index_next",
    "is_built",
    "queue_files",
    "rebuild",
    "waiting",
]

BATCH: Final = 500  # values of an IN list: MariaDB makes a table of a thousand, and reads everything
ROUND: Final = 2_000  # changes of one commit
BUILT: Final = 50_000  # entries of one commit while an index is built
MOST_IN_FILES: Final = 3_000_000  # characters of all files of an entry
Progress = Callable[[int, int], None]
Document = Mapping[str, Any]
_KINDS: Final = tuple(SearchKind)
_NAMES: Final = {int(name) for name in NameOf}


async def index_next(db: Database) -> bool:
    """Index what was changed, and return whether there was anything; without the lock of the index nothing is done."""
    writer = index.writer_of(db)
    if writer is None:
        return False
    async with writer.turn:
        return await writer.acquire(db) and await _next(db, writer)


async def _next(db: Database, writer: SearchWriter) -> bool:
    if writer.state.build is not None:
        await _build(db, writer)
        return True
    begun = stopwatch()
    changes = await writer.read(db, limit=ROUND)
    if changes:
        async with db.reading() as session:
            heads = await _changed_heads(session, [(change.kind, change.head_uuid) for change in changes])
        for kind, keys in heads.items():
            await _replace(db, writer, kind, sorted(keys))
        await writer.publish()
    writer.follower.settle(changes, until=begun)
    await writer.record(db)
    return bool(changes)


async def _changed_heads(session: AsyncSession, changes: Sequence[tuple[int, UUID]]) -> dict[SearchKind, set[int]]:
    named: dict[int, set[UUID]] = defaultdict(set)
    for kind, public_id in changes:
        named[kind].add(public_id)
    renamed = {NameOf(kind): public_ids for kind, public_ids in named.items() if kind in _NAMES}
    found = await texts.bearers(session, renamed) if renamed else defaultdict(set)
    for kind in named.keys() - _NAMES:
        found[SearchKind(kind)].update(await texts.keys(session, SearchKind(kind), named[kind]))
    return found


async def _replace(db: Database, writer: SearchWriter, kind: SearchKind, heads: Sequence[int]) -> None:
    for start in range(0, len(heads), BATCH):
        some = heads[start : start + BATCH]
        async with db.reading() as session:
            entries = await _entries(session, kind, some)
        await writer.write(
            await asyncio.to_thread(_documents, entries), replaced=[head_of(int(kind), head) for head in some]
        )


async def _build(db: Database, writer: SearchWriter) -> None:
    """Add the next entries of an index that is built, as many as one commit makes visible."""
    assert writer.state.build is not None
    place, after = writer.state.build
    added = 0
    while place < len(_KINDS) and added < BUILT:
        kind = _KINDS[place]
        async with db.reading() as session:
            heads = await texts.slice_of(session, kind, after=after, limit=BATCH)
            entries = await _entries(session, kind, heads)
        replaced = [head_of(int(kind), head) for head in heads] if writer.may_repeat else ()
        await writer.write(await asyncio.to_thread(_documents, entries), replaced=replaced)
        added += len(heads)
        place, after = (place, heads[-1]) if len(heads) == BATCH else (place + 1, 0)
    await writer.publish(build=(place, after) if place < len(_KINDS) else None)
    await writer.record(db)


@dataclass(frozen=True, slots=True)
class Entry:
    source: SearchSource
    facts: EntryFacts
    in_files: Sequence[str]


async def _entries(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[Entry]:
    """Return the entries of heads: of what nobody may see there is none."""
    sources = await texts.sources(session, kind, heads) if heads else []
    facts = await reach.facts(session, kind, heads) if sources else {}
    written = await extraction.texts(session, {file for source in sources for file in source.files})
    return [
        Entry(
            source,
            facts[source.head_id, source.revision_id],
            [written[file] for file in sorted(source.files) if file in written],
        )
        for source in sources
        if (source.head_id, source.revision_id) in facts
    ]


def _documents(entries: Sequence[Entry]) -> list[Document]:
    return list(map(document_of, entries))


def document_of(entry: Entry) -> Document:
    """Return what the index stores of an entry, by its fields."""
    source, facts = entry.source, entry.facts
    kind = int(source.kind)
    numbers = [fold(number) for number in source.numbers]
    said = [fold(text) for text in (source.subject, *source.texts, *source.files.values())]
    left = MOST_IN_FILES
    for text in entry.in_files:
        said.append(fold(text)[:left])
        left -= len(said[-1])
    names = dict.fromkeys(map(fold_cached, source.names))
    receivers = source.parties[1:] if source.kind < SearchKind.CIRCULATION else []
    originators = [facts.originator_id] if facts.originator_id is not None else []
    document = {
        "number": " ".join(map(grams, dict.fromkeys([*numbers, *map(joined, numbers)]))),
        "text": " ".join([*map(grams, dict.fromkeys(said)), *map(grams_cached, names)]),
        "reach": sorted(set(facts.reach)),
        "home": facts.home,
        "head": head_of(kind, source.head_id),
        "revision": source.revision_id,
        "kind": kind,
        "created": micros(facts.created_at),
        "due": [micros(facts.due)] if facts.due is not None else [],
        "status": [head_of(kind, facts.status)] if facts.status is not None else [],
        "type": [head_of(kind, facts.type_id)] if facts.type_id is not None else [],
        "originator": originators,
        "receiver": sorted(set(receivers)),
        "party": sorted({*originators, *receivers}),
    }
    digest = blake2b(orjson.dumps(document), digest_size=7).digest()
    short = {f"{name}_short": short_grams(str(document[name])) for name in ("number", "text")}
    return {**document, **short, "digest": int.from_bytes(digest, "big")}


async def queue_files(session: AsyncSession, attachment_ids: Collection[int]) -> None:
    """Have each node index what these files belong to: their text is there now."""
    for kind, public_ids in (await holders(session, attachment_ids)).items():
        await index.note_changes(session, kind, public_ids)


async def rebuild(db: Database, *, progress: Progress = lambda _done, _total: None) -> bool:
    """
    Build the index of this node anew, and return whether it was built here; else the process that writes it was asked to.

    Meanwhile less is found. A build that is stopped is continued by the worker.
    """
    writer, found = index.writer_of(db), index.attached_index(db)
    if writer is None or found is None:
        return False
    found.request_rebuild()
    async with db.reading() as session:
        total, done = await texts.count_heads(session), 0
    gc.disable()  # a batch is a million small objects without cycles
    try:
        async with writer.turn:
            while await writer.acquire(db) and writer.state.build is not None:
                await _build(db, writer)
                done = min(total, done + BUILT)
                progress(done, total)
    finally:
        gc.enable()
    while await index_next(db):
        pass
    return found.is_complete and not found.rebuild_request.exists()


def is_built(db: Database) -> bool:
    found = index.attached_index(db)
    return found is not None and found.is_complete


@dataclass(frozen=True, slots=True)
class IndexDifference:
    kind: SearchKind
    number: str


async def compare(db: Database) -> AsyncIterator[IndexDifference]:
    """Return what the index of this node lacks or has as it is not; a change that waits is no difference."""
    for kind in SearchKind:
        after: int | None = 0
        while after is not None:
            async with db.reading() as session:
                heads = await texts.slice_of(session, kind, after=after, limit=BATCH)
                wrong = await _differing(session, kind, heads)
            for difference in wrong:
                yield difference
            after = heads[-1] if len(heads) == BATCH else None


async def _differing(session: AsyncSession, kind: SearchKind, heads: Sequence[int]) -> list[IndexDifference]:
    entries = await _entries(session, kind, heads)
    wanted = {
        (document["head"], document["revision"]): ([document["digest"]], entry.source.numbers[0])
        for entry, document in zip(entries, await asyncio.to_thread(_documents, entries), strict=True)
    }
    found = index.index_of(session)
    keys = [head_of(int(kind), head) for head in heads]
    there = await asyncio.to_thread(found.digests, keys) if found is not None else {}
    wrong = {key for key in wanted.keys() | there.keys() if wanted.get(key, (None,))[0] != there.get(key)}
    if not wrong:
        return []
    waits = await _changed_heads(
        session, [(change.kind, change.head_uuid) for change in await index.unsettled(session)]
    )
    return [
        IndexDifference(kind, wanted[key][1] if key in wanted else str(index.key_of(key[0])[1]))
        for key in sorted(wrong)
        if index.key_of(key[0])[1] not in waits.get(kind, ())
    ]
