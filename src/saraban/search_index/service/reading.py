"""
The index directory of a node: one folder per schema version, with its state in `state.json`.

One process writes, see `writing`; the others reopen the index with a new state, and reload it after a commit.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID
from weakref import WeakKeyDictionary

import orjson
import structlog
from sqlalchemy.ext.asyncio import AsyncSession
from tantivy import (
    DocAddress,
    FieldType,
    Index,
    Occur,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    SearchResult,
    TextAnalyzerBuilder,
    Tokenizer,
)

from saraban.kit.db import Database, database_of
from saraban.search_index.domain.grams import GRAM, marked, phrase_of
from saraban.search_index.domain.reach import SearchReach

log = structlog.get_logger(__name__)
VERSION: Final = 2  # of the schema; another version is rebuilt
_WINDOWS: Final = (20_000, 100_000, 400_000)  # numbers of newest entries to search before searching all
_FEW: Final = 50_000  # possible matches below which no windows are used
_DRIFT: Final = 0.1  # share of new entries after which windows are measured again
_HEAD_BITS: Final = 40
_END_OF_TIME: Final = 1 << 53  # microseconds


def _schema() -> Schema:
    builder = SchemaBuilder()
    for name in ("number", "text"):
        builder.add_text_field(name, tokenizer_name="grams")
        builder.add_text_field(f"{name}_short", tokenizer_name="grams", index_option="basic")
    for name in ("reach", "home"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    for name in ("head", "kind", "status", "type", "originator", "receiver", "party"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    for name in ("created", "due", "revision", "digest"):
        builder.add_integer_field(name, fast=True)
    builder.add_json_field("own", tokenizer_name="raw", index_option="basic", fast=True)
    return builder.build()


SCHEMA: Final = _schema()


# Limits of aggregations, a lock held by an ending process, and lack of memory (12), permission (13), open files (23, 24)
# or space (28, 122).
_TEMPORARY_FAULTS: Final = re.compile(r"Aborting aggregation|LockBusy|(?:os error |code: )(?:12|13|23|24|28|122)\b")


class IndexFault(Exception):
    """The library refused to read or write the index."""


class IndexDamaged(IndexFault):
    """The files of the index are damaged; it must be rebuilt."""


@contextmanager
def faults_sorted() -> Iterator[None]:
    """
    :raises IndexFault: for a temporary limit
    :raises IndexDamaged: for all other errors, including panics, whose class cannot be imported
    """
    try:
        yield
    except BaseException as fault:
        if not isinstance(fault, OSError | ValueError) and type(fault).__name__ != "PanicException":
            raise
        raise (IndexFault if _TEMPORARY_FAULTS.search(str(fault)) else IndexDamaged)(str(fault)) from fault


def open_folder(folder: Path) -> Index:
    index = Index(SCHEMA, str(folder))
    index.register_tokenizer("grams", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
    index.config_reader("manual")
    return index


def head_of(kind: int, key: int) -> int:
    """`status` and `type` combine kind and key in the same way."""
    return kind << _HEAD_BITS | key


def key_of(value: int) -> tuple[int, int]:
    return value >> _HEAD_BITS, value & (1 << _HEAD_BITS) - 1


@dataclass(frozen=True, slots=True)
class IndexState:
    """
    :param position: every change up to this `id` is included; `earlier` is the previously saved position
    :param newest: the greatest included `id`; smaller ones may become visible later
    :param build: place and key after which a build continues
    """

    node: UUID
    generation: str
    position: int
    earlier: int
    newest: int = 0
    build: tuple[int, int] | None = None

    @property
    def is_complete(self) -> bool:
        return self.build is None


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """
    :param words: folded; all match numbers or text; `excluded` match neither; `numbers` match numbers
    :param reach: None for unrestricted
    :param since: inclusive; `until` is exclusive
    """

    words: Sequence[str] = ()
    excluded: Sequence[str] = ()
    numbers: Sequence[str] = ()
    reach: SearchReach | None = None
    kinds: Collection[int] | None = None
    values: Mapping[str, Collection[int]] = field(default_factory=dict)
    since: Mapping[str, int] = field(default_factory=dict)
    until: Mapping[str, int] = field(default_factory=dict)

    def build(self) -> Query:
        parts = [(Occur.Must, _word_query_any(word)) for word in self.words]
        parts += [(Occur.Must, _word_query("number", word)) for word in self.numbers]
        parts += [(Occur.MustNot, _word_query_any(word)) for word in self.excluded]
        if self.kinds is not None:
            parts.append((Occur.Must, one_of("kind", self.kinds)))
        parts += [(Occur.Must, one_of(name, values)) for name, values in self.values.items()]
        for name in {*self.since, *self.until}:
            until = self.until.get(name)
            parts.append((Occur.Must, _range_query(name, self.since.get(name), None if until is None else until - 1)))
        if self.reach is not None:
            parts.append((Occur.Must, one_of("reach", self.reach.keys)))
            if self.reach.hidden:
                parts.append((Occur.MustNot, one_of("home", self.reach.hidden)))
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, Query.all_query()))
        return Query.boolean_query(parts)

    def bound(self, searcher: Searcher) -> int:
        """Upper bound of the number of matches."""
        bounds = [searcher.num_docs]
        if self.reach is not None:
            bounds.append(sum(searcher.doc_freq("reach", key) for key in self.reach.keys))
        for word in map(marked, self.words):
            trigrams = [gram for _, gram in phrase_of(word)] if len(word) >= GRAM else []
            bounds += [searcher.doc_freq("text", gram) + searcher.doc_freq("number", gram) for gram in trigrams]
        return min(bounds)


def _word_query_any(word: str) -> Query:
    return Query.boolean_query([(Occur.Should, _word_query(name, word)) for name in ("number", "text")])


def _word_query(name: str, word: str) -> Query:
    text = marked(word)
    if len(text) < GRAM:
        return Query.term_query(SCHEMA, f"{name}_short", text, "basic")
    if len(text) == GRAM:
        return Query.term_query(SCHEMA, name, text, "basic")
    return Query.phrase_query(SCHEMA, name, list(phrase_of(text)))


def one_of(name: str, values: Collection[Any]) -> Query:
    return Query.term_set_query(SCHEMA, name, list(values)) if values else Query.empty_query()


def _range_query(name: str, first: int | None, last: int | None) -> Query:
    return Query.range_query(SCHEMA, name, FieldType.Integer, lower_bound=first, upper_bound=last)


def _conjunction(*queries: Query) -> Query:
    return Query.boolean_query([(Occur.Must, query) for query in queries])


class Hit(NamedTuple):
    """:param created: microseconds since 1970"""

    kind: int
    head_id: int
    revision_id: int
    created: int


class NewestHits(NamedTuple):
    """:param total: number of matches, exact below the requested count"""

    hits: list[Hit]
    total: int
    facets: Mapping[str, Mapping[int, int]]


class SearchIndex:
    """:param folder: of the node; several processes may use it"""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / f"v{VERSION}"
        self._index: Index | None = None
        self._generation, self._commit = "", (0, 0)
        self._windows: tuple[int, list[tuple[int, int]]] = (0, [])

    def state(self) -> IndexState | None:
        """None without an index of this version."""
        try:
            raw = orjson.loads((self.folder / "state.json").read_bytes())
            build = tuple(raw["build"]) if raw["build"] else None
            return IndexState(
                UUID(raw["node"]), raw["generation"], raw["position"], raw["earlier"], raw["newest"], build
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    @property
    def is_complete(self) -> bool:
        state = self.state()
        is_usable = state is not None and state.is_complete and self._searcher() is not None
        return is_usable and not self.rebuild_request.exists()

    def _searcher(self) -> Searcher | None:
        state = self.state()
        if state is None:
            return None
        path, searcher = self.folder / state.generation, None
        with self._report_faults():
            meta = (path / "meta.json").stat()
            if self._index is None or state.generation != self._generation:
                self._index, self._generation = open_folder(path), state.generation
                self._commit = (0, 0)
            if (meta.st_mtime_ns, meta.st_ino) != self._commit:
                self._index.reload()
                self._commit = (meta.st_mtime_ns, meta.st_ino)
            searcher = self._index.searcher()
        return searcher  # noqa: RET504  the block may end early

    @contextmanager
    def _report_faults(self) -> Iterator[None]:
        """End the block at a fault; request a rebuild of a damaged index."""
        try:
            with faults_sorted():
                yield
        except IndexFault as fault:
            is_damaged = isinstance(fault, IndexDamaged)
            log.warning("search_index_damaged" if is_damaged else "search_index_refused", reason=str(fault))
            if is_damaged:
                self.request_rebuild()

    @property
    def rebuild_request(self) -> Path:
        return self.folder / "rebuild"

    def request_rebuild(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rebuild_request.touch()

    def newest(
        self, query: IndexQuery, *, skip: int, limit: int, needed: int, facets: int = 0, years: Mapping[int, int] = {}
    ) -> NewestHits:
        """
        :param needed: the count is exact up to this number
        :param facets: number of newest matches to count by value
        :param years: start of each year in microseconds
        """
        searcher = self._searcher()
        if searcher is None:
            return NewestHits([], 0, {})
        hits, total, facet_counts = list[Hit](), 0, dict[str, dict[int, int]]()
        with self._report_faults():
            most = max(facets, skip + limit, 1)
            executed_query, result = self._newest(searcher, query, most, max(needed, most + 1))
            hits, total = (
                _read_hits(searcher, [address for _, address in result.hits[skip : skip + limit]]),
                _total(result),
            )
            facet_counts = _facets(searcher, executed_query, result.hits, facets, years) if facets else {}
        return NewestHits(hits, total, facet_counts)

    def _newest(
        self, searcher: Searcher, index_query: IndexQuery, most: int, needed: int
    ) -> tuple[Query, SearchResult]:
        """Also return the query that finds at least `needed` matches, if they exist."""
        query = index_query.build()
        windows = self._window_starts(searcher) if index_query.bound(searcher) > _FEW else []
        share = 1.0  # estimated share of matching entries
        for size, first in windows:
            if size * share < 2 * needed:
                continue
            part = _conjunction(query, _range_query("created", first, None))
            result = _search_newest(searcher, part, most)
            if _total(result) >= needed:
                return part, result
            share = min(share, 2 * _total(result) / size)
        return query, _search_newest(searcher, query, most)

    def _window_starts(self, searcher: Searcher) -> list[tuple[int, int]]:
        total, windows = self._windows
        if abs(searcher.num_docs - total) > total * _DRIFT:
            sizes = [size for size in _WINDOWS if size * 2 < searcher.num_docs]
            everything = Query.all_query()
            windows = [(size, _search_newest(searcher, everything, 1, skip=size).hits[0][0]) for size in sizes]
            self._windows = (searcher.num_docs, windows)
        return windows

    def count(self, query: IndexQuery, needed: int) -> int:
        """Exact below `needed`."""
        return self.newest(query, skip=0, limit=0, needed=needed).total

    def pairs(self, query: IndexQuery, *, most: int) -> set[tuple[int, int]] | None:
        """Heads and revisions; None for more than `most`."""
        searcher = self._searcher()
        if searcher is None:
            return set()
        pairs = set[tuple[int, int]]()
        with self._report_faults():
            if "head" in query.values:
                result = _search_newest(searcher, query.build(), most + 1)
            else:
                _, result = self._newest(searcher, query, most + 1, most + 1)
            if _total(result) > most:
                return None
            hits = _read_hits(searcher, [address for _, address in result.hits])
            pairs.update((hit.head_id, hit.revision_id) for hit in hits)
        return pairs

    def digests(self, heads: Collection[int]) -> dict[tuple[int, int], list[int]]:
        """By `head` and `revision`; more than one means that the index is wrong."""
        searcher = self._searcher()
        if searcher is None or not heads:
            return {}
        digests: dict[tuple[int, int], list[int]] = defaultdict(list)
        with self._report_faults():
            hits = searcher.search(one_of("head", heads), limit=len(heads) * 8, count=False).hits
            addresses = [address for _, address in hits]
            columns = (searcher.fast_field_values(name, addresses) for name in ("head", "revision", "digest"))
            for head, revision, digest in zip(*columns, strict=True):
                digests[int(head or 0), int(revision or 0)].append(int(digest or 0))
        return digests


def _total(result: SearchResult) -> int:
    return int(result.count)  # type: ignore[attr-defined]


def _search_newest(searcher: Searcher, query: Query, limit: int, *, skip: int = 0) -> SearchResult:
    return searcher.search(query, limit=limit, offset=skip, count=True, order_by_field="created")


def _read_hits(searcher: Searcher, addresses: list[DocAddress]) -> list[Hit]:
    columns = [searcher.fast_field_values(name, addresses) for name in ("head", "revision", "created")]
    return [
        Hit(*key_of(int(head or 0)), int(revision or 0), int(created or 0))
        for head, revision, created in zip(*columns, strict=True)
    ]


# Most values per field; together below 65,000, the library's limit for an aggregation.
_MOST_VALUES: Final = {"kind": 100, "status": 10_000, "type": 10_000, "party": 40_000}


def _facets(
    searcher: Searcher, query: Query, hits: Sequence[tuple[Any, DocAddress]], most: int, years: Mapping[int, int]
) -> dict[str, dict[int, int]]:
    """:param hits: the newest matches, at least `most` if there are so many"""
    if not hits:
        return {}
    newest, oldest = hits[0][0], hits[:most][-1][0]
    aggregations: dict[str, Any] = {
        name: {"terms": {"field": name, "size": most_values, "segment_size": most_values}}
        for name, most_values in _MOST_VALUES.items()
    }
    ranges = [
        {"key": str(year), "from": first, "to": years.get(year + 1, _END_OF_TIME)}
        for year, first in years.items()
        if first <= newest and years.get(year + 1, _END_OF_TIME) > oldest
    ]
    if ranges:
        aggregations["year"] = {"range": {"field": "created", "ranges": ranges}}
    is_all = len(hits) < most
    result = searcher.aggregate(
        query if is_all else _conjunction(query, _range_query("created", oldest, None)), aggregations
    )
    return {
        name: {int(bucket["key"]): bucket["doc_count"] for bucket in result[name]["buckets"] if bucket["doc_count"]}
        for name in result
    }


_indexes: WeakKeyDictionary[Database, SearchIndex] = WeakKeyDictionary()


def attach_index(db: Database, folder: Path) -> SearchIndex:
    return _indexes.setdefault(db, SearchIndex(folder))


def attached_index(db: Database) -> SearchIndex | None:
    return _indexes.get(db)


def index_of(session: AsyncSession) -> SearchIndex | None:
    return _indexes.get(database_of(session))
