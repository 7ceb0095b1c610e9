"""
Upkeep of the index by the process that holds its lock.

Writers of documents queue changes in their own transaction.
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

BATCH: Final = 500  # values of an IN list; from a thousand MariaDB uses a temporary table and reads everything
ROUND: Final = 2_000  # changes per commit
BUILT: Final = 50_000  # entries per commit during a build
MOST_IN_FILES: Final = 3_000_000  # characters of all files of an entry
Progress = Callable[[int, int], None]
Document = Mapping[str, Any]
_KINDS: Final = tuple(SearchKind)
_NAMES: Final = {int(name) for name in NameOf}


async def index_next(db: Database) -> bool:
    """Return whether there were changes; do nothing without the lock of the index."""
    writer = index.writer_of(db)
    if writer is None:
        return False
    async with writer.turn:
        return await writer.acquire(db) and await _index_round(db, writer)


async def _index_round(db: Database, writer: SearchWriter) -> bool:
    if writer.state.build is not None:
        await _build_slice(db, writer)
        return True
    started = stopwatch()
    changes = await writer.read(db, limit=ROUND)
    if changes:
        async with db.reading() as session:
            heads = await _changed_heads(session, [(change.kind, change.head_uuid) for change in changes])
        for kind, keys in heads.items():
            await _replace_entries(db, writer, kind, sorted(keys))
        await writer.publish()
    writer.follower.settle(changes, until=started)
    await writer.record(db)
    return bool(changes)


async def _changed_heads(session: AsyncSession, changes: Sequence[tuple[int, UUID]]) -> dict[SearchKind, set[int]]:
    public_ids_by_kind: dict[int, set[UUID]] = defaultdict(set)
    for kind, public_id in changes:
        public_ids_by_kind[kind].add(public_id)
    renamed = {NameOf(kind): public_ids for kind, public_ids in public_ids_by_kind.items() if kind in _NAMES}
    heads = await texts.bearers(session, renamed) if renamed else defaultdict(set)
    for kind in public_ids_by_kind.keys() - _NAMES:
        heads[SearchKind(kind)].update(await texts.keys(session, SearchKind(kind), public_ids_by_kind[kind]))
    return heads


async def _replace_entries(db: Database, writer: SearchWriter, kind: SearchKind, heads: Sequence[int]) -> None:
    for start in range(0, len(heads), BATCH):
        batch = heads[start : start + BATCH]
        async with db.reading() as session:
            entries = await _read_entries(session, kind, batch)
        await writer.write(
            await asyncio.to_thread(_documents, entries), replaced=[head_of(int(kind), head) for head in batch]
        )


async def _build_slice(db: Database, writer: SearchWriter) -> None:
    assert writer.state.build is not None
    place, after = writer.state.build
    added = 0
    while place < len(_KINDS) and added < BUILT:
        kind = _KINDS[place]
        async with db.reading() as session:
            heads = await texts.slice_of(session, kind, after=after, limit=BATCH)
            entries = await _read_entries(session, kind, heads)
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


async def _read_entries(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[Entry]:
    """Leave out entries that nobody may see."""
    sources = await texts.sources(session, kind, heads) if heads else []
    facts = await reach.facts(session, kind, heads) if sources else {}
    file_texts = await extraction.texts(session, {file for source in sources for file in source.files})
    return [
        Entry(
            source,
            facts[source.head_id, source.revision_id],
            [file_texts[file] for file in sorted(source.files) if file in file_texts],
        )
        for source in sources
        if (source.head_id, source.revision_id) in facts
    ]


def _documents(entries: Sequence[Entry]) -> list[Document]:
    return list(map(document_of, entries))


def document_of(entry: Entry) -> Document:
    source, facts = entry.source, entry.facts
    kind = int(source.kind)
    numbers = [fold(number) for number in source.numbers]
    folded_texts = [fold(text) for text in (source.subject, *source.texts, *source.files.values())]
    left = MOST_IN_FILES
    for text in entry.in_files:
        folded_texts.append(fold(text)[:left])
        left -= len(folded_texts[-1])
    names = dict.fromkeys(map(fold_cached, source.names))
    receivers = source.parties[1:] if source.kind < SearchKind.CIRCULATION else []
    originators = [facts.originator_id] if facts.originator_id is not None else []
    document = {
        "number": " ".join(map(grams, dict.fromkeys([*numbers, *map(joined, numbers)]))),
        "text": " ".join([*map(grams, dict.fromkeys(folded_texts)), *map(grams_cached, names)]),
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
    """Call it once the text of the files is available."""
    for kind, public_ids in (await holders(session, attachment_ids)).items():
        await index.note_changes(session, kind, public_ids)


async def rebuild(db: Database, *, progress: Progress = lambda _done, _total: None) -> bool:
    """
    Rebuild the index, or ask the writing process to; return whether it is complete.

    Searches find fewer entries meanwhile. The worker continues an interrupted build.
    """
    writer, search_index = index.writer_of(db), index.attached_index(db)
    if writer is None or search_index is None:
        return False
    search_index.request_rebuild()
    async with db.reading() as session:
        total, done = await texts.count_heads(session), 0
    gc.disable()  # a batch is a million small objects without cycles
    try:
        async with writer.turn:
            while await writer.acquire(db) and writer.state.build is not None:
                await _build_slice(db, writer)
                done = min(total, done + BUILT)
                progress(done, total)
    finally:
        gc.enable()
    while await index_next(db):
        pass
    return search_index.is_complete and not search_index.rebuild_request.exists()


def is_built(db: Database) -> bool:
    search_index = index.attached_index(db)
    return search_index is not None and search_index.is_complete


@dataclass(frozen=True, slots=True)
class IndexDifference:
    kind: SearchKind
    number: str


async def compare(db: Database) -> AsyncIterator[IndexDifference]:
    """Yield missing and wrong entries, except those with a queued change."""
    for kind in SearchKind:
        after: int | None = 0
        while after is not None:
            async with db.reading() as session:
                heads = await texts.slice_of(session, kind, after=after, limit=BATCH)
                differences = await _find_differences(session, kind, heads)
            for difference in differences:
                yield difference
            after = heads[-1] if len(heads) == BATCH else None


async def _find_differences(session: AsyncSession, kind: SearchKind, heads: Sequence[int]) -> list[IndexDifference]:
    entries = await _read_entries(session, kind, heads)
    expected = {
        (document["head"], document["revision"]): ([document["digest"]], entry.source.numbers[0])
        for entry, document in zip(entries, await asyncio.to_thread(_documents, entries), strict=True)
    }
    search_index = index.index_of(session)
    keys = [head_of(int(kind), head) for head in heads]
    stored = await asyncio.to_thread(search_index.digests, keys) if search_index is not None else {}
    differing = {key for key in expected.keys() | stored.keys() if expected.get(key, (None,))[0] != stored.get(key)}
    if not differing:
        return []
    queued = await _changed_heads(
        session, [(change.kind, change.head_uuid) for change in await index.unsettled(session)]
    )
    return [
        IndexDifference(kind, expected[key][1] if key in expected else str(index.key_of(key[0])[1]))
        for key in sorted(differing)
        if index.key_of(key[0])[1] not in queued.get(kind, ())
    ]
