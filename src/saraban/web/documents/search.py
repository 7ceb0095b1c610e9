"""Search of documents, circulations and drawings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from saraban.documents.drawing.domain import KINDS as DRAWINGS
from saraban.kit.dates import BUDDHIST_OFFSET
from saraban.kit.errors import Invalid, Text
from saraban.kit.http import ReadSession
from saraban.search.schemas import FacetAnswer, SearchFacets
from saraban.search.service.search import COUNTED, Found, SearchQuestion, search
from saraban.search.service.suggestions import Suggestions, suggest
from saraban.search_index.domain.kinds import SearchKind
from saraban.web.shell.document_kinds import KINDS
from saraban.web.shell.form_state import FormErrors, form_errors
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/search")

ROWS: Final = 20
NAMES: Final[Mapping[SearchKind, Text]] = {
    kind: DRAWINGS[kind.path.partition("/")[2]].plural if "/" in kind.path else KINDS[kind.path].plural
    for kind in SearchKind
}
_KINDS: Final = {kind.path: kind for kind in SearchKind}
_FACETS: Final[Mapping[str, Text]] = {
    "kind": Text("ทะเบียน", "Register"),
    "status": Text("สถานะ", "Status"),
    "type": Text("ประเภท", "Type"),
    "party": Text("องค์กร", "Organization"),
    "year": Text("ปี", "Year"),
}
_NOTHING: Final = Found((), 0)


class SearchPage(
    PageModel,
    template="documents/search.html",
    fragments=("documents/parts/search_rows.html", "documents/parts/search_found.html"),
):
    asked: Mapping[str, str]
    names: Mapping[SearchKind, Text]
    offered: Sequence[SearchKind]
    found: Found
    counted: int
    next_cursor: str | None


class SuggestionsFragment(PageModel, template="documents/parts/suggestions.html"):
    found: Suggestions


class FacetsPage(PageModel, template="documents/parts/search_facets.html"):
    """:param groups: values by facet title, with the address of the narrowed search"""

    groups: Sequence[tuple[Text, Sequence["FacetLink"]]]


@dataclass(frozen=True, slots=True)
class FacetLink:
    href: str
    label: str
    count: int


class SearchAddress(BaseModel):
    """The query of the address; invalid values are ignored."""

    q: str = Field("", max_length=2_000)
    kind: str = Field("", max_length=30)
    sort: Literal["newest", "best"] = "newest"
    cursor: str = Field("", pattern=r"^\d{0,4}$")

    def question(self, *, limit: int, with_facets: bool = False) -> SearchQuestion:
        return SearchQuestion(
            text=self.q,
            kinds=[_KINDS[self.kind]] if self.kind in _KINDS else tuple(SearchKind),
            best_first=self.sort == "best",
            skipped=int(self.cursor or 0),
            limit=limit,
            with_facets=with_facets,
        )

    def with_(self, **more: str) -> str:
        parameters = {"q": self.q, "kind": self.kind, "sort": self.sort} | more
        return "/search?" + urlencode({name: value for name, value in parameters.items() if value})


Address = Annotated[SearchAddress, Query()]


@router.get("/suggestions")
async def suggest_below(
    page: CurrentPage, session: ReadSession, q: Annotated[str, Query(max_length=2_000)] = ""
) -> Response:
    return page.show(SuggestionsFragment(found=await suggest(page.context, session, q)))


@router.get("")
async def find(page: CurrentPage, session: ReadSession, address: Address) -> Response:
    results, error = _NOTHING, None
    if address.q.strip():
        try:
            results = await search(page.context, session, address.question(limit=ROWS))
        except Invalid as invalid:
            error = invalid
    model = SearchPage(
        asked={"q": address.q, "kind": address.kind, "sort": address.sort},
        names=NAMES,
        offered=tuple(SearchKind),
        found=results,
        counted=COUNTED,
        next_cursor=str(results.following) if results.following else None,
        faults=FormErrors(
            fields={"q": list(chain(*form_errors(error, page.language).fields.values()))} if error else {}
        ),
    )
    return page.show_list(model, address.cursor or None)


@router.get("/facets")
async def facets(page: CurrentPage, session: ReadSession, address: Address) -> Response:
    """Counts of the first 10,000 matches as links, loaded after the first page for speed."""
    try:
        results = await search(page.context, session, address.question(limit=0, with_facets=True))
    except Invalid:  # the page shows the error
        results = _NOTHING
    groups = _groups(results.facets, address, page.language) if results.facets else []
    return page.show(FacetsPage(groups=groups))


def _groups(facets: SearchFacets, address: SearchAddress, language: str) -> list[tuple[Text, list[FacetLink]]]:
    """Omit facets whose values do not narrow the search."""

    def link(name: str, item: FacetAnswer) -> FacetLink:
        if name == "kind":
            return FacetLink(address.with_(kind=item.value), NAMES[_KINDS[item.value]].say(language), item.count)
        label = item.value
        if name == "year" and language == "th":
            label = str(int(item.value) + BUDDHIST_OFFSET)
        elif item.name is not None and name != "party":
            label = (item.name_th if language == "th" else item.name) or item.value
        term = item.value if name == "year" else f'"{item.value}"'
        return FacetLink(address.with_(q=f"{address.q} {name}:{term}"), label, item.count)

    groups = [(title, [link(name, item) for item in getattr(facets, name)]) for name, title in _FACETS.items()]
    total = sum(item.count for item in facets.kind)
    return [(title, links) for title, links in groups if any(item.count < total for item in links)]
