"""
Finding: the index names entries, the newest first, and each is compared and asked for whether its reader may see it.

Whoever may see few documents needs no index: all of theirs are compared.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain as circulations
from saraban.documents.core import service as core
from saraban.documents.core.domain import reach
from saraban.documents.core.domain.registers import keys_of
from saraban.documents.drawing import service as drawings
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date, stopwatch
from saraban.search.domain import AROUND, Piece, snippet
from saraban.search.repository import matches, named, texts
from saraban.search.repository.matches import Match, SearchFilter, SearchReader
from saraban.search.repository.texts import SearchSource
from saraban.search.schemas import SearchFacets
from saraban.search.service.facets import facets_of
from saraban.search_index import service as index
from saraban.search_index.domain.folding import fold, joined
from saraban.search_index.domain.kinds import DRAWINGS, SearchKind
from saraban.search_index.domain.postings import END
from saraban.search_index.domain.query import SHORTEST, DueRange, SearchQuery, Term, parse

COUNTED: Final = 200  # matches are counted up to here, and one more says that there are others
BEHIND: Final = 10_000  # so many can be paged through, and are counted by what they are
FEW: Final = 5_000  # so many are compared without an index
NEWEST: Final = 2_000  # so many are looked at by conditions alone, before all that a reader may see is read along them
PATIENCE: Final = 3.0  # seconds, after which what was found so far is shown


@dataclass(frozen=True, slots=True)
class Found:
    """
    What was found.

    :param count: up to `COUNTED` and one; `is_whole` is false where patience ended before the search did
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
    Something that was found, as it was written.

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
    wanted = await _filter(ctx, session, asked, query)
    behind = asked.skipped + asked.limit
    most = BEHIND if asked.with_facets else min(max(COUNTED, behind), BEHIND)
    found, is_whole = await _matches(session, reader, wanted, most=most)
    shown = _in_order(found, query.words if asked.best_first else ())[asked.skipped : behind]
    return Found(
        await _shown(ctx, session, shown, query.words),
        min(len(found), COUNTED + 1),
        is_whole,
        behind if behind < min(len(found), BEHIND) else None,
        await facets_of(session, found[:BEHIND], ctx.zone) if asked.with_facets else None,
    )


def _in_order(found: Sequence[Match], words: Sequence[str]) -> list[Match]:
    """
    Put matches in order, as many at a time as are counted: whoever pages on finds the earlier ones where they were.

    :param words: by which the best come first; the newest do where there are none
    """
    ordered: list[Match] = []
    for start in range(0, len(found), COUNTED):
        some = sorted(found[start : start + COUNTED], key=lambda one: one.created_at, reverse=True)
        ordered += sorted(some, key=partial(_rank, words)) if words else some
    return ordered


def _rank(words: Sequence[str], one: Match) -> int:
    """Put a number that is what was typed first, then those that have it; what is alike stays the newest first."""
    numbers = one.number.split(END)
    return -2 * any(word in numbers for word in words) - all(word in one.number for word in words)


async def _reader(ctx: RequestContext, session: AsyncSession, project: UUID | None) -> SearchReader:
    seen = reach(ctx.caller)
    places = await core.places_of(session, seen, project=project)
    readers = await drawings.readers_of(ctx, session, places.projects)
    return SearchReader(
        documents=tuple(keys_of(seen, places)),
        circulations=tuple(circulations.keys_of(circulations.reach(ctx.caller), places)),
        home=core.home_of(seen),
        drawings={key: one.audiences for key, one in readers.items()},
    )


async def _filter(
    ctx: RequestContext, session: AsyncSession, asked: SearchQuestion, query: SearchQuery
) -> SearchFilter:
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
    return SearchFilter(
        words=query.words,
        excluded=query.excluded,
        numbers=[one.text for one in said.get("number", ())],
        kinds=frozenset(asked.kinds),
        parties=await named.organizations(session, said["party"]) if "party" in said else None,
        originators=await named.organizations(session, said["from"]) if "from" in said else None,
        receivers=await named.organizations(session, said["to"]) if "to" in said else None,
        statuses=await named.statuses(session, said["status"]) if "status" in said else None,
        types=await named.types(session, said["type"]) if "type" in said else None,
        since=start(first),
        until=start(last, after=True),
        due_from=start(due.first),
        due_until=start(due.last, after=True),
    )


async def _matches(
    session: AsyncSession, reader: SearchReader, wanted: SearchFilter, *, most: int
) -> tuple[list[Match], bool]:
    """Return the newest matches, `most` and one where there are more, and whether that is all that was to be looked at."""
    seen = await matches.seen(session, reader, most=FEW)
    wanted = replace(wanted, kinds=frozenset(one for one in wanted.kinds if one not in DRAWINGS or seen.get(one)))
    looked_up = [*wanted.words, *wanted.numbers]
    if sum(seen.values()) <= FEW:
        every = await matches.matches(session, reader, wanted, among=None, most=most + 1)
        return every[: most + 1], True
    found: list[Match] = []
    looked, no_word_leads = 0, max(map(len, looked_up), default=0) < SHORTEST
    until = stopwatch() + PATIENCE
    async for some in index.candidates(session, looked_up):
        found += await matches.matches(session, reader, wanted, among=some, most=most + 1)
        if len(found) > most:
            break
        looked += len(some)
        if no_word_leads and looked >= NEWEST:
            found = await matches.matches(session, reader, wanted, among=None, most=most + 1)
            break
        if stopwatch() > until:
            return found, False
    return found[: most + 1], True


async def _shown(
    ctx: RequestContext, session: AsyncSession, found: Sequence[Match], words: Sequence[str]
) -> list[FoundItem]:
    sources = await _sources(session, found, words)
    places = await named.projects(session, {one.project_id for _, one in sources})
    return [
        FoundItem(
            kind=SearchKind(match.kind),
            public_id=one.public_id,
            number=one.numbers[0],
            subject=snippet(one.subject, words, around=len(one.subject)) or [Piece(one.subject, is_marked=False)],
            snippet=_snippet(one, words) or _in_text(one.in_files, words),
            project_public_id=places[one.project_id][0],
            project_code=places[one.project_id][1],
            day=local_date(match.created_at, ctx.zone),
        )
        for match, one in sources
    ]


async def _sources(
    session: AsyncSession, found: Sequence[Match], words: Sequence[str]
) -> list[tuple[Match, SearchSource]]:
    """
    Read what is shown of matches; what is written in files, names and earlier numbers only where what they say themselves lacks
    one of the words.
    """
    grouped: dict[SearchKind, list[Match]] = defaultdict(list)
    for one in found:
        grouped[max(SearchKind(one.kind), SearchKind.TRANSMITTAL)].append(
            one
        )  # documents of all kinds are read together
    read: dict[int, SearchSource] = {}
    for kind, those in grouped.items():
        own = await texts.own_texts(session, kind, {one.head_id for one in those})
        by_key = {(one.head_id, one.revision_id): one for one in own}
        pairs = {one.entry_id: by_key.get((one.head_id, one.revision_id)) for one in those}
        read |= {key: source for key, source in pairs.items() if source is not None}
    lacking = {key: one for key, one in read.items() if not _is_said(one, words)}
    if lacking:
        for key, text in (await matches.files_of(session, lacking)).items():
            read[key].in_files = text
        for kind in grouped:
            if nowhere := [one for one in lacking.values() if one.kind == kind and not _is_said(one, words)]:
                await texts.complete(session, kind, nowhere)
    return [(one, read[one.entry_id]) for one in found if one.entry_id in read]


def _is_said(source: SearchSource, words: Sequence[str]) -> bool:
    numbers = [fold(one) for one in source.numbers]
    said = END.join([*numbers, *map(joined, numbers), *map(fold, (source.subject, *source.texts)), source.in_files])
    return all(word in said for word in words)


def _in_text(text: str, words: Sequence[str]) -> list[Piece]:
    """Return the piece of a long text, folded, in which the first of the words stands that it has."""
    at = next((place for word in words if (place := text.find(word)) >= 0), -1)
    piece = text[max(0, at - AROUND) : at + 2 * AROUND].replace(END, " ").strip()
    return snippet(piece, words) if at >= 0 else []


def _snippet(source: SearchSource, words: Sequence[str]) -> list[Piece]:
    said = (*source.texts, *source.files.values(), *source.names, *source.numbers[1:])
    others = (text for text in said if text != source.subject)  # which is shown beside
    return next((found for text in others if (found := snippet(text, words))), [])
