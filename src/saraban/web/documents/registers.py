"""The registers: search, filters, rows that go on; the address always says what is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.http import PageCursor, ReadSession, async_dependency
from saraban.kit.text import control_character
from saraban.web.documents.document_pages import (
    PAGES_BY_PATH,
    DocumentPages,
    DocumentSummaryRow,
    RegisterQuery,
    pages_at,
)
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.forms import id_of
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
SOON = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class RegisterFilters:
    """What the address bar says; unknown values count as not given, because links live longer than lists."""

    q: str = ""
    state: str = ""
    type: str = ""
    project: UUID | None = None
    mine: bool = False
    due: str = ""

    def wanted(self, ctx: RequestContext, shelf: DocumentPages, project: UUID | None) -> RegisterQuery:
        today = local_date(ctx.now, ctx.zone)
        limits = {"overdue": today, "soon": today + SOON + timedelta(days=1)}
        return RegisterQuery(
            text=self.q or None,
            state=self.state if self.state in shelf.web.states else None,
            type_code=self.type if self.type in shelf.web.types else None,
            project=self.project or project,
            mine=self.mine,
            due_before=limits.get(self.due),
        )

    @property
    def query(self) -> str:
        """The filters as an address, without what was left open."""
        given = {
            "q": self.q,
            "state": self.state,
            "type": self.type,
            "project": str(self.project or ""),
            "mine": "1" if self.mine else "",
            "due": self.due,
        }
        return urlencode({name: value for name, value in given.items() if value})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage(PageModel):
    template: ClassVar[str] = "documents/register.html"
    fragments: ClassVar[tuple[str, ...]] = ("documents/parts/register_rows.html", "documents/parts/register_list.html")

    kind: WebKind
    lines: Sequence[DocumentSummaryRow]
    next_cursor: str | None
    asked: RegisterFilters


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocumentsFragment(PageModel):
    template: ClassVar[str] = "documents/parts/found.html"

    found: Sequence[DocumentSummaryRow]
    text: str


def filters(
    q: Annotated[str, Query(max_length=200)] = "",
    state: Annotated[str, Query(max_length=50)] = "",
    type: Annotated[str, Query(max_length=50)] = "",
    project: Annotated[str, Query(max_length=40)] = "",
    mine: Annotated[str, Query(max_length=5)] = "",
    due: Annotated[str, Query(max_length=10)] = "",
) -> RegisterFilters:
    text = "" if control_character(q) is not None else q.strip()
    return RegisterFilters(text, state, type, id_of(project), mine == "1", due)


CurrentFilters = Annotated[RegisterFilters, Depends(async_dependency(filters))]


async def _register(
    path: str, page: CurrentPage, session: ReadSession, asked: CurrentFilters, cursor: PageCursor = None
) -> Response:
    shelf = pages_at(path)
    page.caller.require_somewhere("document.view")
    found = await shelf.lines(
        page.context,
        session,
        wanted=asked.wanted(page.context, shelf, page.project),
        cursor=cursor,
        limit=ROWS,
    )
    template = "documents/register.html"
    if page.is_fragment:
        template = "documents/parts/register_rows.html" if cursor else "documents/parts/register_list.html"
    response = page.show(
        RegisterPage(kind=shelf.web, lines=found.items, next_cursor=found.next_cursor, asked=asked), template
    )
    if page.is_fragment and not cursor:
        response.headers["HX-Push-Url"] = shelf.web.url + (f"?{asked.query}" if asked.query else "")
    return response


def _route(path: str) -> None:
    async def register(
        page: CurrentPage, session: ReadSession, asked: CurrentFilters, cursor: PageCursor = None
    ) -> Response:
        return await _register(path, page, session, asked, cursor)

    router.add_api_route(f"/{path}", register, methods=["GET"], name=f"register-{path}")


for _path in PAGES_BY_PATH:
    _route(_path)


async def documents_to_pick(
    ctx: RequestContext, session: ReadSession, *, text: str, limit: int = 8
) -> list[DocumentSummaryRow]:
    """Return documents of the general registers whose number or subject contains `text`, for a picker."""
    found: list[DocumentSummaryRow] = []
    for path in ("correspondences", "rfas", "transmittals"):
        page = await PAGES_BY_PATH[path].lines(ctx, session, wanted=RegisterQuery(text=text), cursor=None, limit=limit)
        found.extend(page.items)
    return found[: limit * 2]


@router.get("/find")
async def find(page: CurrentPage, session: ReadSession, find: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Documents to choose from while a form is filled in."""
    text = "" if control_character(find) is not None else find.strip()
    found = await documents_to_pick(page.context, session, text=text) if text else []
    return page.show(FoundDocumentsFragment(found=found, text=text))
