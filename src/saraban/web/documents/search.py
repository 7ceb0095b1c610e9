"""One box that finds documents, circulations and drawings, and what it has found."""

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
    """:param groups: by the title of a facet its values, each with what it is called and the address of the search it narrows"""

    groups: Sequence[tuple[Text, Sequence["FacetLink"]]]


@dataclass(frozen=True, slots=True)
class FacetLink:
    href: str
    label: str
    count: int


class SearchAddress(BaseModel):
    """What the address bar says, as it was typed: what cannot be used is left out."""

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
        """Return the address of the same search with something else in it."""
        said = {"q": self.q, "kind": self.kind, "sort": self.sort} | more
        return "/search?" + urlencode({name: value for name, value in said.items() if value})


Address = Annotated[SearchAddress, Query()]


@router.get("/suggestions")
async def suggest_below(
    page: CurrentPage, session: ReadSession, q: Annotated[str, Query(max_length=2_000)] = ""
) -> Response:
    """What stands below the box in the header while somebody types."""
    return page.show(SuggestionsFragment(found=await suggest(page.context, session, q)))


@router.get("")
async def find(page: CurrentPage, session: ReadSession, address: Address) -> Response:
    """What is found of everything that the reader may see, whichever project they have chosen."""
    found, error = _NOTHING, None
    if address.q.strip():
        try:
            found = await search(page.context, session, address.question(limit=ROWS))
        except Invalid as refused:
            error = refused
    model = SearchPage(
        asked={"q": address.q, "kind": address.kind, "sort": address.sort},
        names=NAMES,
        offered=tuple(SearchKind),
        found=found,
        counted=COUNTED,
        next_cursor=str(found.following) if found.following else None,
        faults=FormErrors(
            fields={"q": list(chain(*form_errors(error, page.language).fields.values()))} if error else {}
        ),
    )
    return page.show_list(model, address.cursor or None)


@router.get("/facets")
async def facets(page: CurrentPage, session: ReadSession, address: Address) -> Response:
    """What the first 10,000 matches are, as links that narrow the search; it comes after the first page, which is sooner without."""
    try:
        found = await search(page.context, session, address.question(limit=0, with_facets=True))
    except Invalid:  # the page says what is wrong
        found = _NOTHING
    groups = _groups(found.facets, address, page.language) if found.facets else []
    return page.show(FacetsPage(groups=groups))


def _groups(found: SearchFacets, address: SearchAddress, language: str) -> list[tuple[Text, list[FacetLink]]]:
    """Leave out what does not tell matches apart."""

    def link(name: str, one: FacetAnswer) -> FacetLink:
        if name == "kind":
            return FacetLink(address.with_(kind=one.value), NAMES[_KINDS[one.value]].say(language), one.count)
        label = one.value
        if name == "year" and language == "th":
            label = str(int(one.value) + BUDDHIST_OFFSET)
        elif one.name is not None and name != "party":
            label = (one.name_th if language == "th" else one.name) or one.value
        said = one.value if name == "year" else f'"{one.value}"'
        return FacetLink(address.with_(q=f"{address.q} {name}:{said}"), label, one.count)

    groups = [(title, [link(name, one) for one in getattr(found, name)]) for name, title in _FACETS.items()]
    total = sum(one.count for one in found.kind)
    return [(title, links) for title, links in groups if any(one.count < total for one in links)]
