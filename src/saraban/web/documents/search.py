"""One box that finds documents, circulations and drawings, and what it has found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, ClassVar, Final, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from saraban.documents.drawing.domain import KINDS as DRAWINGS
from saraban.kit.errors import Invalid, Text
from saraban.kit.http import ReadSession
from saraban.search.service.search import COUNTED, Found, SearchQuestion, search
from saraban.search_index.domain.kinds import SearchKind
from saraban.web.shell.document_kinds import KINDS
from saraban.web.shell.forms import form_errors
from saraban.web.shell.page import CurrentPage, FormErrors, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/search")

ROWS: Final = 20
NAMES: Final[Mapping[SearchKind, Text]] = {
    kind: DRAWINGS[kind.path.partition("/")[2]].plural if "/" in kind.path else KINDS[kind.path].plural
    for kind in SearchKind
}
_KINDS: Final = {kind.path: kind for kind in SearchKind}
_NOTHING: Final = Found((), 0, is_whole=True, kinds={})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage(PageModel):
    template: ClassVar[str] = "documents/search.html"
    fragments: ClassVar[tuple[str, ...]] = ("documents/parts/search_rows.html", "documents/parts/search_found.html")

    asked: Mapping[str, str]
    names: Mapping[SearchKind, Text]
    offered: Sequence[SearchKind]
    found: Found
    counted: int
    next_cursor: str | None


@router.get("")
async def find(
    page: CurrentPage,
    session: ReadSession,
    q: Annotated[str, Query(max_length=2_000)] = "",
    kind: Annotated[str, Query(max_length=30)] = "",
    sort: Literal["newest", "best"] = "newest",
    cursor: Annotated[str, Query(pattern=r"^\d{0,3}$")] = "",
) -> Response:
    """What is found of everything that the reader may see, whichever project they have chosen."""
    skipped = int(cursor or 0)
    found, error = _NOTHING, None
    if q.strip():
        asked = SearchQuestion(
            text=q,
            kinds=[_KINDS[kind]] if kind in _KINDS else tuple(SearchKind),
            best_first=sort == "best",
            skipped=skipped,
            limit=ROWS,
        )
        try:
            found = await search(page.context, session, asked)
        except Invalid as refused:
            error = refused
    behind = skipped + ROWS
    model = SearchPage(
        asked={"q": q, "kind": kind, "sort": sort},
        names=NAMES,
        offered=tuple(SearchKind),
        found=found,
        counted=COUNTED,
        next_cursor=str(behind) if behind < min(found.count, COUNTED) else None,
        faults=FormErrors(
            fields={"q": list(chain(*form_errors(error, page.language).fields.values()))} if error else {}
        ),
    )
    return page.show_list(model, cursor or None)
