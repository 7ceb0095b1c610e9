"""Rows of the index: what waits for it, the entries with their texts, and the postings that lead to those."""

import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import table_of
from saraban.search_index.domain import postings
from saraban.search_index.domain.kinds import NameOf, SearchKind
from saraban.search_index.models import SearchEntry, SearchFileText, SearchIndex, SearchPending, SearchPosting

T = TypeVar("T")
_AT_ONCE: Final = 500  # values of an IN list: MariaDB makes a table of a thousand, and reads everything
_POSTED: Final = 5_000  # postings of one transaction: a third of a second, in which SQLite lets nobody else write
_entries, _in_files, _pending = table_of(SearchEntry), table_of(SearchFileText), table_of(SearchPending)
_NAMES: Final = [int(one) for one in NameOf]
# Both databases know it; SQLAlchemy has no word for it.
_REPLACE: Final = sa.text(
    "REPLACE INTO search_postings (gram, chunk, entries, places) VALUES (:gram, :chunk, :entries, :places)"
)

WAITS: Final = sa.or_(
    sa.select(_pending.c.id).limit(1).scalar_subquery().is_not(None),
    sa.select(_entries.c.id).where(_entries.c.is_posted == sa.false()).limit(1).scalar_subquery().is_not(None),
)


class EntryText(NamedTuple):
    """
    What is compared of an entry, folded.

    :param in_files: what is written in its files
    """

    head_id: int
    revision_id: int
    number: str
    text: str
    in_files: str = ""

    @property
    def whole(self) -> str:
        return self.number + self.text + self.in_files


async def hold(session: AsyncSession) -> None:
    """Let nobody else write to the index until the transaction ends."""
    await session.execute(sa.select(SearchIndex.id).with_for_update())


class Waiting(NamedTuple):
    """
    Rows of the queue, and what they name.

    :param renamed: organizations and people that have other names
    """

    keys: list[int]
    heads: dict[SearchKind, set[UUID]]
    renamed: dict[NameOf, set[UUID]]


async def pending(session: AsyncSession, *, most: int) -> Waiting:
    found = Waiting([], defaultdict(set), defaultdict(set))
    for key, kind, public_id in await session.execute(sa.select(_pending).order_by(_pending.c.id).limit(most)):
        found.keys.append(key)
        if kind in _NAMES:
            found.renamed[NameOf(kind)].add(public_id)
        else:
            found.heads[SearchKind(kind)].add(public_id)
    return found


async def settle(session: AsyncSession, keys: Sequence[int]) -> None:
    for some in _slices(keys):
        await session.execute(sa.delete(_pending).where(_pending.c.id.in_(some)))


async def write(session: AsyncSession, kind: SearchKind, heads: Collection[int], texts: Sequence[EntryText]) -> None:
    """Make the entries of these heads say this, and take away those that are not among it."""
    there = {(row.said.head_id, row.said.revision_id): row for row in await entries_of(session, kind, heads)}
    wanted = {(one.head_id, one.revision_id): one for one in texts}
    new = [one for key, one in wanted.items() if key not in there]
    if new:
        rows = [{"kind": int(kind), "is_posted": False, **_columns(one)} for one in new]
        await session.execute(sa.insert(_entries), rows)
    changed = {}
    for key, row in there.items():
        one = wanted.get(key)
        if one is None:
            await session.execute(sa.delete(_entries).where(_entries.c.id == row.id))
            await session.execute(sa.delete(_in_files).where(_in_files.c.entry_id == row.id))
        elif one != row.said:
            changed[key] = one
            values = {**_columns(one), "is_posted": False}
            await session.execute(sa.update(_entries).where(_entries.c.id == row.id).values(values))
    await _write_files(session, kind, {(one.head_id, one.revision_id): one for one in new if one.in_files} | changed)


def _columns(one: EntryText) -> dict[str, Any]:
    said = {name: value for name, value in one._asdict().items() if name != "in_files"}
    return {**said, "has_file_text": bool(one.in_files)}


async def _write_files(session: AsyncSession, kind: SearchKind, texts: Mapping[tuple[int, int], EntryText]) -> None:
    if not texts:
        return
    rows = await entries_of(session, kind, {head for head, _ in texts})
    written = [
        (row.id, texts[key].in_files) for row in rows if (key := (row.said.head_id, row.said.revision_id)) in texts
    ]
    await session.execute(sa.delete(_in_files).where(_in_files.c.entry_id.in_([key for key, _ in written])))
    if some := [{"entry_id": key, "text": text} for key, text in written if text]:
        await session.execute(sa.insert(_in_files), some)


class EntryRow(NamedTuple):
    id: int
    is_posted: bool
    said: EntryText


_SAID: Final = (_entries.c.head_id, _entries.c.revision_id, _entries.c.number, _entries.c.text)
_IN_FILES: Final = sa.case((_entries.c.has_file_text == sa.true(), sa.func.coalesce(_in_files.c.text, "")), else_="")


async def entries_of(session: AsyncSession, kind: SearchKind, heads: Collection[int]) -> list[EntryRow]:
    """Return entries with their texts; also those that should not be there any more."""
    found: list[EntryRow] = []
    for some in _slices(sorted(heads)):
        statement = sa.select(_entries.c.id, _entries.c.is_posted, *_SAID, _IN_FILES).outerjoin(
            _in_files, _in_files.c.entry_id == _entries.c.id
        )
        statement = statement.where(_entries.c.kind == int(kind), _entries.c.head_id.in_(some))
        found += [EntryRow(row[0], row[1], EntryText(*row[2:])) for row in await session.execute(statement)]
    return found


async def unposted(session: AsyncSession, *, most: int, among: Collection[int] = ()) -> dict[int, str]:
    """Return what the index does not lead to yet, by key, with all that is said of it."""
    statement = (
        sa.select(_entries.c.id, _entries.c.number, _entries.c.text, _IN_FILES)
        .outerjoin(_in_files, _in_files.c.entry_id == _entries.c.id)
        .where(_entries.c.is_posted == sa.false(), _entries.c.id.in_(among) if among else sa.true())
        .order_by(_entries.c.id)
        .limit(most)
    )
    return {key: "".join(said) for key, *said in await session.execute(statement)}


async def postings_of(texts: Mapping[int, str]) -> AsyncIterator[tuple[int, dict[str, postings.Places]]]:
    """Give what leads to these entries, by chunk, in parts of which each takes a short transaction."""
    by_chunk: dict[int, dict[int, str]] = defaultdict(dict)
    for key, text in texts.items():
        by_chunk[key // postings.CHUNK][key % postings.CHUNK] = text
    for chunk, places in by_chunk.items():
        found = await postings.by_gram(places)
        for some in _slices(found, _POSTED):
            yield chunk, {gram: postings.joined(found[gram]) for gram in sorted(some)}


async def post(session: AsyncSession, chunk: int, places: Mapping[str, postings.Places]) -> None:
    table = table_of(SearchPosting).c
    await hold(session)
    for grams in _slices(places):
        there = sa.select(table.gram, table.places).where(table.chunk == chunk, table.gram.in_(grams))
        held = {gram: bytes(found) for gram, found in await session.execute(there)}
        rows = []
        for gram in grams:
            found = postings.merged(held[gram], places[gram]) if gram in held else postings.packed(places[gram])
            rows.append({"gram": gram, "chunk": chunk, "entries": postings.size(len(found)), "places": found})
        await session.execute(_REPLACE, rows)


async def mark_posted(session: AsyncSession, texts: Mapping[int, str]) -> None:
    """Have entries count as posted that still say what was posted of them."""
    await hold(session)
    for some in _slices(texts):
        now = await unposted(session, most=len(some), among=some)
        same = [key for key, text in now.items() if text == texts[key]]
        await session.execute(sa.update(_entries).where(_entries.c.id.in_(same)).values(is_posted=True))


async def begin_anew(session: AsyncSession, everything: sa.Select[int, UUID]) -> None:
    """
    Empty the index, and queue all that can be found.

    :param everything: selects kind and public id
    """
    for table in (_pending, _entries, _in_files, table_of(SearchPosting)):
        await session.execute(sa.delete(table))
    await queue_selected(session, everything)


async def queue_selected(session: AsyncSession, those: sa.Select[int, UUID]) -> None:
    """
    Have these read anew.

    :param those: selects kind and public id
    """
    await session.execute(sa.insert(_pending).from_select(["kind", "head_uuid"], those))


async def queue_renamed(
    session: AsyncSession, *, organizations: Collection[UUID] = (), people: Collection[UUID] = ()
) -> None:
    """Have what bears the names of these be read anew: they get other ones in this transaction."""
    await _queue(session, [(NameOf.ORGANIZATION, organizations), (NameOf.PERSON, people)])


async def queue(session: AsyncSession, named: Mapping[SearchKind, Collection[UUID]]) -> None:
    await _queue(session, named.items())


async def _queue(session: AsyncSession, named: Iterable[tuple[int, Collection[UUID]]]) -> None:
    rows = [{"kind": int(kind), "head_uuid": one} for kind, those in named for one in those]
    if rows:
        await session.execute(sa.insert(_pending), rows)


async def renamed(session: AsyncSession) -> dict[NameOf, set[UUID]]:
    """Return the organizations and people with other names for whose documents nothing was done yet."""
    statement = sa.select(_pending.c.kind, _pending.c.head_uuid).where(_pending.c.kind.in_(_NAMES))
    found: dict[NameOf, set[UUID]] = defaultdict(set)
    for kind, public_id in await session.execute(statement):
        found[NameOf(kind)].add(public_id)
    return found


async def waiting(session: AsyncSession) -> int:
    """Return how much the index does not lead to yet."""
    counts = [sa.select(sa.func.count()).select_from(_pending)]
    counts.append(sa.select(sa.func.count()).select_from(_entries).where(_entries.c.is_posted == sa.false()))
    return sum([await session.scalar(one) or 0 for one in counts])


async def waiting_heads(
    session: AsyncSession, kind: SearchKind, table: sa.Table, *, among: Collection[int] | None = None, most: int
) -> set[int]:
    """
    Return keys of what waits for the index to read it, so many at most.

    :param table: of what this kind is of
    """
    heads = table.c
    waits = sa.select(heads.id).join(
        _pending, sa.and_(_pending.c.head_uuid == heads.uuid, _pending.c.kind == int(kind))
    )
    if among is not None:
        waits = waits.where(heads.id.in_(among))
    return set(await session.scalars(waits.limit(most)))


async def heads_of(session: AsyncSession, kind: SearchKind, keys: Collection[int]) -> list[int]:
    """Return the keys of what entries are of, where that is of this kind."""
    statement = sa.select(_entries.c.head_id).where(_entries.c.id.in_(keys), _entries.c.kind == int(kind))
    return list(await session.scalars(statement))


async def newest(session: AsyncSession, *, before: int | None, limit: int) -> list[int]:
    """Return the keys of entries, whatever they are of, the newest first."""
    statement = sa.select(_entries.c.id).order_by(_entries.c.id.desc()).limit(limit)
    return list(await session.scalars(statement if before is None else statement.where(_entries.c.id < before)))


async def unposted_keys(session: AsyncSession, *, limit: int) -> list[int]:
    """Return the keys of entries that the postings do not lead to yet, the newest first."""
    statement = sa.select(_entries.c.id).where(_entries.c.is_posted == sa.false()).order_by(_entries.c.id.desc())
    return list(await session.scalars(statement.limit(limit)))


async def not_led_to(session: AsyncSession, texts: Mapping[int, str]) -> set[int]:
    """Return which entries the postings leave out somewhere."""
    by_chunk: dict[int, dict[int, str]] = defaultdict(dict)
    for key, text in texts.items():
        by_chunk[key // postings.CHUNK][key % postings.CHUNK] = text
    lost = set()
    for chunk, places in by_chunk.items():
        wanted = await postings.by_gram(places)
        found = await read(session, chunk, wanted)
        for gram, those in wanted.items():
            held = postings.bits(found[gram]) if gram in found else 0
            lost |= {chunk * postings.CHUNK + place for place in postings.joined(those) if not held >> place & 1}
    return lost


async def sizes(session: AsyncSession, grams: Collection[str]) -> dict[int, dict[str, int]]:
    """Return how many entries have these characters, by chunk."""
    table = table_of(SearchPosting).c
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for some in _slices(sorted(grams)):
        statement = sa.select(table.chunk, table.gram, table.entries).where(table.gram.in_(some))
        for chunk, gram, entries in await session.execute(statement):
            found[chunk][gram] = entries
    return found


async def beginning(session: AsyncSession, start: str) -> dict[int, list[str]]:
    """Return what begins with two characters, by chunk."""
    table = table_of(SearchPosting).c
    found: dict[int, list[str]] = defaultdict(list)
    statement = sa.select(table.chunk, table.gram).where(table.gram.between(start, start + chr(sys.maxunicode)))
    for chunk, gram in await session.execute(statement):
        found[chunk].append(gram)
    return found


async def read(session: AsyncSession, chunk: int, grams: Collection[str]) -> dict[str, bytes]:
    table = table_of(SearchPosting).c
    found: dict[str, bytes] = {}
    for some in _slices(sorted(grams)):
        statement = sa.select(table.gram, table.places).where(table.chunk == chunk, table.gram.in_(some))
        found |= {gram: bytes(places) for gram, places in await session.execute(statement)}
    return found


def _slices(values: Iterable[T], size: int = _AT_ONCE) -> Iterator[list[T]]:
    left = iter(values)
    while some := list(islice(left, size)):
        yield some
