"""What was found, counted by kind, status, type, party and year."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.clock import local_date
from saraban.search.repository import matches, named
from saraban.search.repository.matches import Match
from saraban.search.repository.named import Named
from saraban.search.schemas import FacetAnswer, SearchFacets
from saraban.search_index.domain.kinds import SearchKind

MOST: Final = 20  # values of one facet, the most frequent first


async def facets_of(session: AsyncSession, found: Sequence[Match], zone: ZoneInfo) -> SearchFacets:
    statuses, types = await named.status_names(session), await named.type_names(session)
    shown = {place: Named(*names[:3]) for place, names in statuses.items()}
    parties = await _parties(session, found)
    organizations = await named.organization_names(session, parties.keys())
    return SearchFacets(
        kind=_uncoded(Counter(SearchKind(one.kind).path for one in found)),
        status=_coded(found, lambda one: shown.get((SearchKind(one.kind), one.status))),
        type=_coded(found, lambda one: types.get((SearchKind(one.kind), one.type_id))),
        party=_most({organizations[key]: count for key, count in parties.items() if key in organizations}.items()),
        year=sorted(
            _uncoded(Counter(str(local_date(one.created_at, zone).year) for one in found)),
            key=lambda one: one.value,
            reverse=True,
        ),
    )


async def _parties(session: AsyncSession, found: Sequence[Match]) -> Counter[int]:
    """Count organizations, each once for each match that it wrote or received."""
    documents = {one.head_id: one.originator_id for one in found if one.kind < SearchKind.CIRCULATION}
    parties = await matches.recipients(session, documents)
    parties |= {(head, organization) for head, organization in documents.items() if organization is not None}
    others = [one.originator_id for one in found if one.kind >= SearchKind.CIRCULATION]
    return Counter(organization for _, organization in parties) + Counter(one for one in others if one is not None)


def _coded(found: Iterable[Match], name: Callable[[Match], Named | None]) -> list[FacetAnswer]:
    """Types of contracts are of one code, whatever each contract calls them."""
    names: dict[str, Named] = {}
    counts: Counter[str] = Counter()
    for one in found:
        if (said := name(one)) is not None:
            names.setdefault(said.code, said)
            counts[said.code] += 1
    return _most((names[code], count) for code, count in counts.items())


def _most(counts: Iterable[tuple[Named, int]]) -> list[FacetAnswer]:
    first = sorted(counts, key=lambda one: (-one[1], one[0].code))[:MOST]
    return [
        FacetAnswer(value=names.code, count=count, name=names.en or names.th, name_th=names.th)
        for names, count in first
    ]


def _uncoded(counts: Counter[str]) -> list[FacetAnswer]:
    return [FacetAnswer(value=value, count=count) for value, count in counts.most_common()]
