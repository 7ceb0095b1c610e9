"""What was found, counted by kind, status, type, party and year."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.clock import local_date
from saraban.search.repository import matches, named
from saraban.search.repository.matches import Match
from saraban.search.repository.named import Named
from saraban.search_index.domain.kinds import SearchKind

MOST: Final = 20  # values of one facet, the most frequent first


@dataclass(frozen=True, slots=True)
class FacetValue:
    """
    How many matches have a value.

    :param value: what a search is narrowed by
    :param names: of what `value` is the code of, None where it says itself what it is
    """

    value: str
    count: int
    names: Named | None = None


@dataclass(frozen=True, slots=True)
class Facets:
    """:param party: who wrote or received it; `year` in which it was entered, where the reader is"""

    kind: Sequence[FacetValue]
    status: Sequence[FacetValue]
    type: Sequence[FacetValue]
    party: Sequence[FacetValue]
    year: Sequence[FacetValue]


async def facets_of(session: AsyncSession, found: Sequence[Match], zone: ZoneInfo) -> Facets:
    statuses, types = await named.status_names(session), await named.type_names(session)
    shown = {place: Named(*names[:3]) for place, names in statuses.items()}
    parties = await _parties(session, found)
    organizations = await named.organization_names(session, parties.keys())
    return Facets(
        kind=_plain(Counter(SearchKind(one.kind).path for one in found)),
        status=_coded(found, lambda one: shown.get((SearchKind(one.kind), one.status))),
        type=_coded(found, lambda one: types.get((SearchKind(one.kind), one.type_id))),
        party=_most({organizations[key]: count for key, count in parties.items() if key in organizations}.items()),
        year=sorted(
            _plain(Counter(str(local_date(one.created_at, zone).year) for one in found)),
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


def _coded(found: Iterable[Match], name: Callable[[Match], Named | None]) -> list[FacetValue]:
    """Types of contracts are of one code, whatever each contract calls them."""
    names: dict[str, Named] = {}
    counts: Counter[str] = Counter()
    for one in found:
        if (said := name(one)) is not None:
            names.setdefault(said.code, said)
            counts[said.code] += 1
    return _most((names[code], count) for code, count in counts.items())


def _most(counts: Iterable[tuple[Named, int]]) -> list[FacetValue]:
    first = sorted(counts, key=lambda one: (-one[1], one[0].code))[:MOST]
    return [FacetValue(names.code, count, names) for names, count in first]


def _plain(counts: Counter[str]) -> list[FacetValue]:
    return [FacetValue(value, count) for value, count in counts.most_common()]
