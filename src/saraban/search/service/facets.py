"""The facets of a search: the index's counts with names."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.search.repository import named
from saraban.search.repository.named import Named
from saraban.search.schemas import FacetAnswer, SearchFacets
from saraban.search_index.domain.kinds import SearchKind
from saraban.search_index.service import key_of

MOST: Final = 20  # values of one facet, the most frequent first
Counts = Mapping[int, int]


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
        kind, key = key_of(value)
        if (name := names.get((SearchKind(kind), key))) is not None:
            named_codes.setdefault(name.code, name)
            counts[name.code] += count
    return _most((named_codes[code], count) for code, count in counts.items())


def _most(counts: Iterable[tuple[Named, int]]) -> list[FacetAnswer]:
    first = sorted(counts, key=lambda one: (-one[1], one[0].code))[:MOST]
    return [
        FacetAnswer(value=names.code, count=count, name=names.en or names.th, name_th=names.th)
        for names, count in first
    ]


def _uncoded(counts: Counter[str]) -> list[FacetAnswer]:
    return [FacetAnswer(value=value, count=count) for value, count in counts.most_common()]
