"""
Finding: the index finds entries by words, conditions and the keys of their reader, and each that is shown is checked against
the database.
"""

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
COUNTED: Final = 200  # matches are counted up to here, and one more says that there are others
BEHIND: Final = 10_000  # so many can be paged through, and are counted by what they are
_FOLDED: Final = 20_000  # characters of a file that are folded at a time
_EARLIEST: Final = datetime(1, 1, 2, tzinfo=UTC)
_YEARS: Final = range(1900, 2101)  # of entry, that are counted


@dataclass(frozen=True, slots=True)
class Found:
    """
    :param count: up to `COUNTED` and one; `is_whole` is false while the index is built
    :param following: what is to be skipped for the next page, None behind the last one
    :param facets: of the first `BEHIND`, where they were asked for
    """

    items: Sequence["FoundItem"]
    count: int
    is_whole: bool = True
    following: int | None = None
    facets: SearchFacets | None = None


@dataclass(frozen=True, slots=True)
class FoundItem:
    """
    :param snippet: the piece of it in which what was looked for stands, where the subject says nothing of it
    :param day: on which it was entered
    """

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
    :param text: as it was typed
    :param skipped: matches of earlier pages
    :param status: and `party`: a part of the code or name
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


async def search(ctx: RequestContext, session: AsyncSession, asked: SearchQuestion) -> Found:
    """
    Return the newest that the caller may see of what is looked for.

    :raises Invalid: for a query by which nothing can be found, naming `query:q`
    """
    query = parse(asked.text, today=local_date(ctx.now, ctx.zone))
    reader = await _reader(ctx, session, asked.project)
    wanted = replace(await _filter(ctx, session, asked, query), reach=reader.reach)
    found = index.index_of(session)
    if found is None:
        return Found((), 0, is_whole=False)
    behind = min(asked.skipped + asked.limit, BEHIND)
    matched = await asyncio.to_thread(_matches, found, wanted, asked, _years(ctx.zone) if asked.with_facets else {})
    return Found(
        await _shown(ctx, session, reader, matched.hits, query.words),
        min(matched.total, COUNTED + 1),
        found.is_complete,
        behind if behind < min(matched.total, BEHIND) else None,
        await facets_of(session, matched.facets) if asked.with_facets else None,
    )


def _matches(found: SearchIndex, wanted: IndexQuery, asked: "SearchQuestion", years: Mapping[int, int]) -> NewestHits:
    needed = max(COUNTED, asked.skipped + asked.limit) + 1
    limit = max(0, min(asked.limit, BEHIND - asked.skipped))
    facets = BEHIND if asked.with_facets else 0
    if not asked.best_first or not wanted.words:
        return found.newest(wanted, skip=asked.skipped, limit=limit, needed=needed, facets=facets, years=years)
    start = asked.skipped - asked.skipped % COUNTED
    end = -(-(asked.skipped + limit) // COUNTED) * COUNTED
    matched = found.newest(wanted, skip=start, limit=end - start, needed=needed, facets=facets, years=years)
    ordered = _best_first(found, wanted, matched.hits, end)
    return matched._replace(hits=ordered[asked.skipped - start :][:limit])


def _best_first(found: SearchIndex, wanted: IndexQuery, hits: Sequence[Hit], end: int) -> list[Hit]:
    """
    Sort each block of `COUNTED` matches: first numbers that are a word, then numbers that contain each word, then the others.

    Pages that follow each other repeat no match and lose none, because a block has the same matches on every page.

    :param hits: whole blocks, the newest first, up to the match `end`
    """
    numbers = [*([f"{END}{word}{END}"] for word in wanted.words), wanted.words]
    *whole, part = (
        found.newest(replace(wanted, numbers=asked), skip=0, limit=end, needed=end).hits for asked in numbers
    )
    ranks = dict.fromkeys(part, 1) | dict.fromkeys(chain(*whole), 2)
    blocks = (hits[start : start + COUNTED] for start in range(0, len(hits), COUNTED))
    return [hit for block in blocks for hit in sorted(block, key=lambda hit: -ranks.get(hit, 0))]


@lru_cache(maxsize=8)
def _years(zone: ZoneInfo) -> dict[int, int]:
    return {year: micros(datetime(year, 1, 1, tzinfo=zone)) for year in _YEARS}


async def _reader(ctx: RequestContext, session: AsyncSession, project: UUID | None) -> SearchReader:
    seen = reach_of(ctx.caller)
    places = await core.find_places(session, seen, project)
    readers = await drawings.readers_of(ctx, session, places.projects)
    return SearchReader(
        documents=keys_of(seen, places),
        circulations=circulations.keys_of(circulations.reach(ctx.caller), places),
        home=core.home_of(seen),
        drawings={key: one.audiences for key, one in readers.items()},
    )


async def _filter(ctx: RequestContext, session: AsyncSession, asked: SearchQuestion, query: SearchQuery) -> IndexQuery:
    said = {name: list(words) for name, words in query.conditions.items()}
    for name, one in (("status", asked.status), ("party", asked.party)):
        if one:
            said.setdefault(name, []).append(Term(fold(one), is_quoted=True))
    first, last = asked.since, asked.until
    if query.year is not None:
        first = max(first or date.min, date(query.year, 1, 1))
        last = min(last or date.max, date(query.year, 12, 31))

    def start(day: date | None, *, after: bool = False) -> datetime | None:
        if day is None or not date.min < day < date.max:  # what is not there in every zone is no bound
            return None
        return datetime.combine(day + timedelta(days=1) if after else day, time(), ctx.zone)

    due = query.due or DueRange()
    values: dict[str, Collection[int]] = {}
    for name, column in (("party", "party"), ("from", "originator"), ("to", "receiver")):
        if name in said:
            values[column] = await named.organizations(session, said[name])
    for name, read in (("status", named.statuses), ("type", named.types)):
        if name in said:
            keys = await read(session, said[name])
            values[name] = [index.head_of(int(kind), key) for kind, of_kind in keys.items() for key in of_kind]
    starts = {"created": start(first), "due": start(due.first)}
    ends = {"created": start(last, after=True), "due": start(due.last, after=True)}
    if query.due is not None:
        starts["due"] = starts["due"] or _EARLIEST  # which leaves out what is due on no day
    return IndexQuery(
        words=query.words,
        excluded=query.excluded,
        numbers=[one.text for one in said.get("number", ())],
        kinds=[int(kind) for kind in asked.kinds],
        values=values,
        since={name: micros(moment) for name, moment in starts.items() if moment is not None},
        until={name: micros(moment) for name, moment in ends.items() if moment is not None},
    )


async def _shown(
    ctx: RequestContext, session: AsyncSession, reader: SearchReader, hits: Sequence[Hit], words: Sequence[str]
) -> list[FoundItem]:
    allowed = await reach.shown(session, reader, [(SearchKind(hit.kind), *hit[1:3]) for hit in hits])
    hits = [hit for hit in hits if hit[:3] in allowed]
    sources = await _sources(session, hits, words)
    places = await named.projects(session, {source.project_id for source in sources.values()})
    return [
        FoundItem(
            kind=SearchKind(hit.kind),
            public_id=source.public_id,
            number=source.numbers[0],
            subject=snippet(source.subject, words, around=len(source.subject))
            or [Piece(source.subject, is_marked=False)],
            snippet=_snippet(source, words) or _in_files(source.in_files, words),
            project_public_id=places[source.project_id][0],
            project_code=places[source.project_id][1],
            day=local_date(moment_of(hit.created), ctx.zone),
        )
        for hit, source in sources.items()
    ]


async def _sources(session: AsyncSession, hits: Sequence[Hit], words: Sequence[str]) -> dict[Hit, SearchSource]:
    """
    Read what is shown of matches, in their order; names, earlier numbers and what is written in files only where the rest lacks
    one of the words.
    """
    grouped: dict[SearchKind, list[Hit]] = defaultdict(list)
    for hit in hits:
        grouped[SearchKind(hit.kind)].append(hit)
    read: dict[Hit, SearchSource] = {}
    for kind, of_kind in grouped.items():
        own = await texts.own_texts(session, kind, {hit.head_id for hit in of_kind})
        by_key = {(source.head_id, source.revision_id): source for source in own}
        read |= {hit: by_key[hit[1:3]] for hit in of_kind if hit[1:3] in by_key}
        lacking = [read[hit] for hit in of_kind if hit in read and not _is_said(read[hit], words)]
        if lacking:
            await texts.complete(session, kind, lacking)
        nowhere = [source for source in lacking if not _is_said(source, words)]
        written = await extraction.texts(session, {file for source in nowhere for file in source.files})
        for source in nowhere:
            source.in_files = [written[file] for file in sorted(source.files) if file in written]
    return {hit: read[hit] for hit in hits if hit in read}


def _is_said(source: SearchSource, words: Sequence[str]) -> bool:
    numbers = [fold(number) for number in source.numbers]
    others = (source.subject, *source.texts, *source.names, *source.files.values())
    said = END.join([*numbers, *map(joined, numbers), *map(fold, others)])
    return all(word in said for word in words)


def _in_files(written: Sequence[str], words: Sequence[str]) -> list[Piece]:
    """Return the piece of a long text, folded, that contains a word; each text is folded until a word is there."""
    for text in written:
        for start in range(0, len(text), _FOLDED):
            folded = fold(text[start : start + _FOLDED + AROUND])
            at = next((place for word in words if (place := folded.find(word)) >= 0), -1)
            if at >= 0:
                piece = folded[max(0, at - AROUND) : at + 2 * AROUND].replace("\n", " ").strip()
                return snippet(piece, words)
    return []


def _snippet(source: SearchSource, words: Sequence[str]) -> list[Piece]:
    said = (*source.texts, *source.files.values(), *source.names, *source.numbers[1:])
    others = (text for text in said if text != source.subject)  # which is shown beside
    return next((found for text in others if (found := snippet(text, words))), [])


async def facets_of(session: AsyncSession, counts: Mapping[str, Counts]) -> SearchFacets:
    """:param counts: by field of the index, how many matches have each value; empty where there is no index"""
    statuses = {key: Named(*names[:3]) for key, names in (await named.status_names(session)).items()}
    parties = counts.get("party", {})
    organizations = await named.organization_names(session, parties.keys())
    return SearchFacets(
        kind=_uncoded(Counter({SearchKind(kind).path: count for kind, count in counts.get("kind", {}).items()})),
        status=_coded(counts.get("status", {}), statuses),
        type=_coded(counts.get("type", {}), await named.type_names(session)),
        party=_most((organizations[key], count) for key, count in parties.items() if key in organizations),
        year=[
            FacetAnswer(value=str(year), count=count)
            for year, count in sorted(counts.get("year", {}).items(), reverse=True)
        ],
    )


def _coded(values: Counts, names: Mapping[tuple[SearchKind, int], Named]) -> list[FacetAnswer]:
    """Types of contracts are of one code, whatever each contract calls them."""
    named_codes: dict[str, Named] = {}
    counts: Counter[str] = Counter()
    for value, count in values.items():
        kind, key = index.key_of(value)
        if (name := names.get((SearchKind(kind), key))) is not None:
            named_codes.setdefault(name.code, name)
            counts[name.code] += count
    return _most((named_codes[code], count) for code, count in counts.items())


def _most(counts: Iterable[tuple[Named, int]]) -> list[FacetAnswer]:
    first = sorted(counts, key=lambda one: (-one[1], one[0].code))[:MOST_VALUES]
    return [
        FacetAnswer(value=names.code, count=count, name=names.en or names.th, name_th=names.th)
        for names, count in first
    ]


def _uncoded(counts: Counter[str]) -> list[FacetAnswer]:
    return [FacetAnswer(value=value, count=count) for value, count in counts.most_common()]
