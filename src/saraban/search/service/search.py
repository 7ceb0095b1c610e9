"""The index finds entries; the database confirms each shown entry."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import chain
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.service import extraction
from saraban.documents.circulation import domain as circulations
from saraban.documents.core import service as core
from saraban.documents.core.domain import reach as reach_of
from saraban.documents.core.domain.registers import keys_of
from saraban.documents.drawing import service as drawings
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date, micros, moment_of
from saraban.search.domain import AROUND, Piece, snippet
from saraban.search.repository import named, reach, texts
from saraban.search.repository.named import Named
from saraban.search.repository.reach import SearchReader
from saraban.search.repository.texts import SearchSource
from saraban.search.schemas import FacetAnswer, SearchFacets
from saraban.search_index import service as index
from saraban.search_index.domain.folding import fold, joined
from saraban.search_index.domain.grams import END
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.domain.query import DueRange, SearchQuery, Term, parse
from saraban.search_index.service import Hit, IndexQuery, NewestHits, SearchIndex

MOST_VALUES: Final = 20  # values of one facet, the most frequent first
Counts = Mapping[int, int]
COUNTED: Final = 200  # matches to count exactly; one more means that there are others
BEHIND: Final = 10_000  # limit of paging and of facets
_FOLDED: Final = 20_000  # characters of a file to fold at a time
_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_YEARS: Final = range(1900, 2101)  # years of entry in facets


@dataclass(frozen=True, slots=True)
class Found:
    """
    :param count: at most `COUNTED` + 1
    :param is_whole: False during a build of the index
    :param following: matches to skip for the next page
    """

    items: Sequence["FoundItem"]
    count: int
    is_whole: bool = True
    following: int | None = None
    facets: SearchFacets | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """:param day: of entry"""

    kind: SearchKind
    public_id: UUID
    number: str
    subject: Sequence[Piece]
    snippet: Sequence[Piece]
    project_public_id: UUID
    project_code: str
    day: date


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """
    :param skipped: matches of earlier pages
    :param status: part of the code or name, as `party`
    """

    text: str
    kinds: Sequence[SearchKind] = tuple(SearchKind)
    project: UUID | None = None
    since: date | None = None
    until: date | None = None
    status: str | None = None
    party: str | None = None
    best_first: bool = False
    skipped: int = 0
    limit: int = 20
    with_facets: bool = False


async def search(ctx: RequestContext, session: AsyncSession, question: SearchQuestion) -> Found:
    """
    Return the newest visible matches.

    :raises Invalid: at `query:q`, for a query that the parser refuses
    """
    query = parse(question.text, today=local_date(ctx.now, ctx.zone))
    reader = await _find_reader(ctx, session, question.project)
    index_query = replace(await _build_query(ctx, session, question, query), reach=reader.reach)
    search_index = index.index_of(session)
    if search_index is None:
        return Found((), 0, is_whole=False)
    next_skip = min(question.skipped + question.limit, BEHIND)
    matches = await asyncio.to_thread(
        _matches, search_index, index_query, question, _years(ctx.zone) if question.with_facets else {}
    )
    return Found(
        await _visible_items(ctx, session, reader, matches.hits, query.words),
        min(matches.total, COUNTED + 1),
        search_index.is_complete,
        next_skip if next_skip < min(matches.total, BEHIND) else None,
        await facets_of(session, matches.facets) if question.with_facets else None,
    )


def _matches(
    search_index: SearchIndex, index_query: IndexQuery, question: "SearchQuestion", years: Mapping[int, int]
) -> NewestHits:
    needed = max(COUNTED, question.skipped + question.limit) + 1
    limit = max(0, min(question.limit, BEHIND - question.skipped))
    facets = BEHIND if question.with_facets else 0
    if not question.best_first or not index_query.words:
        return search_index.newest(
            index_query, skip=question.skipped, limit=limit, needed=needed, facets=facets, years=years
        )
    start = question.skipped - question.skipped % COUNTED
    end = -(-(question.skipped + limit) // COUNTED) * COUNTED
    matches = search_index.newest(index_query, skip=start, limit=end - start, needed=needed, facets=facets, years=years)
    ordered = _best_first(search_index, index_query, matches.hits, end)
    return matches._replace(hits=ordered[question.skipped - start :][:limit])


def _best_first(search_index: SearchIndex, index_query: IndexQuery, hits: Sequence[Hit], end: int) -> list[Hit]:
    """
    Sort each block of `COUNTED` matches: exact numbers, then numbers with every word, then others.

    Blocks are the same on every page, so pages neither repeat nor lose a match.

    :param hits: whole blocks, newest first, up to match `end`
    """
    numbers = [*([f"{END}{word}{END}"] for word in index_query.words), index_query.words]
    *exact, partial = (
        search_index.newest(replace(index_query, numbers=words), skip=0, limit=end, needed=end).hits
        for words in numbers
    )
    ranks = dict.fromkeys(partial, 1) | dict.fromkeys(chain(*exact), 2)
    blocks = (hits[start : start + COUNTED] for start in range(0, len(hits), COUNTED))
    return [hit for block in blocks for hit in sorted(block, key=lambda hit: -ranks.get(hit, 0))]


@lru_cache(maxsize=8)
def _years(zone: ZoneInfo) -> dict[int, int]:
    return {year: micros(datetime(year, 1, 1, tzinfo=zone)) for year in _YEARS}


async def _find_reader(ctx: RequestContext, session: AsyncSession, project: UUID | None) -> SearchReader:
    caller_reach = reach_of(ctx.caller)
    places = await core.find_places(session, caller_reach, project)
    readers = await drawings.readers_of(ctx, session, places.projects)
    return SearchReader(
        documents=keys_of(caller_reach, places),
        circulations=circulations.keys_of(circulations.reach(ctx.caller), places),
        home=core.home_of(caller_reach),
        drawings={key: drawing_reader.audiences for key, drawing_reader in readers.items()},
    )


async def _build_query(
    ctx: RequestContext, session: AsyncSession, question: SearchQuestion, query: SearchQuery
) -> IndexQuery:
    terms = {name: list(words) for name, words in query.conditions.items()}
    for name, typed in (("status", question.status), ("party", question.party)):
        if typed:
            terms.setdefault(name, []).append(Term(fold(typed), is_quoted=True))
    first, last = question.since, question.until
    if query.year is not None:
        first = max(first or date.min, date(query.year, 1, 1))
        last = min(last or date.max, date(query.year, 12, 31))

    def start(day: date | None, *, after: bool = False) -> datetime | None:
        if day is None or not date.min < day < date.max:  # the extreme days do not exist in every zone
            return None
        return datetime.combine(day + timedelta(days=1) if after else day, time(), ctx.zone)

    due = query.due or DueRange()
    values: dict[str, Collection[int]] = {}
    for name, column in (("party", "party"), ("from", "originator"), ("to", "receiver")):
        if name in terms:
            values[column] = await named.organizations(session, terms[name])
    for name, read in (("status", named.statuses), ("type", named.types)):
        if name in terms:
            keys = await read(session, terms[name])
            values[name] = [index.head_of(int(kind), key) for kind, of_kind in keys.items() for key in of_kind]
    starts = {"created": start(first), "due": start(due.first)}
    ends = {"created": start(last, after=True), "due": start(due.last, after=True)}
    if query.due is not None:
        starts["due"] = starts["due"] or _EARLIEST  # excludes entries without a due date
    return IndexQuery(
        words=query.words,
        excluded=query.excluded,
        numbers=[typed.text for typed in terms.get("number", ())],
        kinds=[int(kind) for kind in question.kinds],
        values=values,
        since={name: micros(moment) for name, moment in starts.items() if moment is not None},
        until={name: micros(moment) for name, moment in ends.items() if moment is not None},
    )


async def _visible_items(
    ctx: RequestContext, session: AsyncSession, reader: SearchReader, hits: Sequence[Hit], words: Sequence[str]
) -> list[FoundItem]:
    allowed = await reach.shown(session, reader, [(SearchKind(hit.kind), *hit[1:3]) for hit in hits])
    hits = [hit for hit in hits if hit[:3] in allowed]
    sources = await _read_sources(session, hits, words)
    places = await named.projects(session, {source.project_id for source in sources.values()})
    return [
        FoundItem(
            kind=SearchKind(hit.kind),
            public_id=source.public_id,
            number=source.numbers[0],
            subject=snippet(source.subject, words, around=len(source.subject))
            or [Piece(source.subject, is_marked=False)],
            snippet=_snippet(source, words) or _file_snippet(source.in_files, words),
            project_public_id=places[source.project_id][0],
            project_code=places[source.project_id][1],
            day=local_date(moment_of(hit.created), ctx.zone),
        )
        for hit, source in sources.items()
    ]


async def _read_sources(session: AsyncSession, hits: Sequence[Hit], words: Sequence[str]) -> dict[Hit, SearchSource]:
    """Names, earlier numbers and files are read only where the rest lacks a word."""
    grouped: dict[SearchKind, list[Hit]] = defaultdict(list)
    for hit in hits:
        grouped[SearchKind(hit.kind)].append(hit)
    sources: dict[Hit, SearchSource] = {}
    for kind, of_kind in grouped.items():
        kind_sources = await texts.own_texts(session, kind, {hit.head_id for hit in of_kind})
        by_key = {(source.head_id, source.revision_id): source for source in kind_sources}
        sources |= {hit: by_key[hit[1:3]] for hit in of_kind if hit[1:3] in by_key}
        incomplete = [sources[hit] for hit in of_kind if hit in sources and not _has_words(sources[hit], words)]
        if incomplete:
            await texts.complete(session, kind, incomplete)
        still_incomplete = [source for source in incomplete if not _has_words(source, words)]
        file_texts = await extraction.texts(session, {file for source in still_incomplete for file in source.files})
        for source in still_incomplete:
            source.in_files = [file_texts[file] for file in sorted(source.files) if file in file_texts]
    return {hit: sources[hit] for hit in hits if hit in sources}


def _has_words(source: SearchSource, words: Sequence[str]) -> bool:
    numbers = [fold(number) for number in source.numbers]
    others = (source.subject, *source.texts, *source.names, *source.files.values())
    text = END.join([*numbers, *map(joined, numbers), *map(fold, others)])
    return all(word in text for word in words)


def _file_snippet(file_texts: Sequence[str], words: Sequence[str]) -> list[Piece]:
    """Fold a long text only up to the match."""
    for text in file_texts:
        for start in range(0, len(text), _FOLDED):
            folded = fold(text[start : start + _FOLDED + AROUND])
            position = next((place for word in words if (place := folded.find(word)) >= 0), -1)
            if position >= 0:
                piece = folded[max(0, position - AROUND) : position + 2 * AROUND].replace("\n", " ").strip()
                return snippet(piece, words)
    return []


def _snippet(source: SearchSource, words: Sequence[str]) -> list[Piece]:
    candidates = (*source.texts, *source.files.values(), *source.names, *source.numbers[1:])
    others = (text for text in candidates if text != source.subject)  # the subject is shown anyway
    return next((pieces for text in others if (pieces := snippet(text, words))), [])


async def facets_of(session: AsyncSession, counts: Mapping[str, Counts]) -> SearchFacets:
    """:param counts: matches by field and value"""
    statuses = {key: Named(*names[:3]) for key, names in (await named.status_names(session)).items()}
    parties = counts.get("party", {})
    organizations = await named.organization_names(session, parties.keys())
    return SearchFacets(
        kind=_facet_by_value(Counter({SearchKind(kind).path: count for kind, count in counts.get("kind", {}).items()})),
        status=_facet_by_code(counts.get("status", {}), statuses),
        type=_facet_by_code(counts.get("type", {}), await named.type_names(session)),
        party=_most_frequent((organizations[key], count) for key, count in parties.items() if key in organizations),
        year=[
            FacetAnswer(value=str(year), count=count)
            for year, count in sorted(counts.get("year", {}).items(), reverse=True)
        ],
    )


def _facet_by_code(values: Counts, names: Mapping[tuple[SearchKind, int], Named]) -> list[FacetAnswer]:
    """Merge values of one code: every contract has its own types."""
    named_codes: dict[str, Named] = {}
    counts: Counter[str] = Counter()
    for value, count in values.items():
        kind, key = index.key_of(value)
        if (name := names.get((SearchKind(kind), key))) is not None:
            named_codes.setdefault(name.code, name)
            counts[name.code] += count
    return _most_frequent((named_codes[code], count) for code, count in counts.items())


def _most_frequent(counts: Iterable[tuple[Named, int]]) -> list[FacetAnswer]:
    first = sorted(counts, key=lambda item: (-item[1], item[0].code))[:MOST_VALUES]
    return [
        FacetAnswer(value=names.code, count=count, name=names.en or names.th, name_th=names.th)
        for names, count in first
    ]


def _facet_by_value(counts: Counter[str]) -> list[FacetAnswer]:
    return [FacetAnswer(value=value, count=count) for value, count in counts.most_common()]
