"""The registers as pages show them: search, filters, rows that go on; the address always says what is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import urlencode
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import local_date
from saraban.kit.errors import NotFound
from saraban.kit.http import ReadSession, async_dependency
from saraban.kit.pagination import Page
from saraban.kit.text import control_character
from saraban.web.shell.document_kinds import KINDS, WebKind
from saraban.web.shell.forms import id_of
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute
from saraban.workflow.language.definition import CANCELLED

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
SOON = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class DocumentRegister:
    """A register with what pages say of it, and the kind of its documents, which the verbs of `documents.core` take."""

    web: WebKind
    kind: core.AnyKind


DOCUMENT_REGISTERS: Final = {
    path: DocumentRegister(KINDS[path], kind)
    for path, kind in (
        ("correspondences", CORRESPONDENCE),
        ("rfas", rfas.RFA),
        ("transmittals", transmittals.TRANSMITTAL),
        ("circulations", circulations.CIRCULATION),
    )
}


def register_at(path: str) -> DocumentRegister:
    """
    :raises NotFound: when there is no such register
    """
    found = DOCUMENT_REGISTERS.get(path)
    if found is None:
        raise NotFound(f"There is no register {path}.")
    return found


@dataclass(frozen=True, slots=True)
class DocumentSummaryRow:
    """A document as a row of a register."""

    public_id: UUID
    url: str
    number: str
    subject: str
    sender: str
    receivers: tuple[str, ...]
    state: str
    state_label: Any
    priority: str
    due_date: date | None
    is_overdue: bool
    created_at: datetime
    type_code: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterFilters:
    """What the address bar says; unknown values count as not given, because links live longer than lists."""

    q: str = ""
    state: str = ""
    type: str = ""
    project: UUID | None = None
    mine: bool = False
    due: str = ""

    def search(
        self, ctx: RequestContext, web: WebKind, project: UUID | None, *, cursor: str | None
    ) -> core.RegisterQuery:
        today = local_date(ctx.now, ctx.zone)
        soon = self.due == "soon"
        return core.RegisterQuery(
            text=self.q or None,
            status=self.state if self.state in web.states else None,
            type=self.type if self.type in web.types else None,
            project=self.project or project,
            mine=self.mine,
            overdue=self.due == "overdue",
            due_from=today if soon else None,
            due_until=today + SOON if soon else None,
            cursor=cursor,
            limit=ROWS,
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


RegisterPlace = Annotated[str | None, Query(max_length=1_100)]
CurrentFilters = Annotated[RegisterFilters, Depends(async_dependency(filters))]


async def show(
    page: CurrentPage, session: ReadSession, asked: CurrentFilters, cursor: RegisterPlace = None
) -> Response:
    """The register that the address names."""
    register = register_at(page.request.url.path.strip("/"))
    web = register.web
    page.caller.require_somewhere("document.view")
    search = asked.search(page.context, web, page.project, cursor=cursor)
    found = await rows(page.context, session, register, search)
    response = page.show_list(
        RegisterPage(kind=web, lines=found.items, next_cursor=found.next_cursor, asked=asked), cursor
    )
    if page.is_fragment and not cursor:
        response.headers["HX-Push-Url"] = web.url + (f"?{asked.query}" if asked.query else "")
    return response


for _path in DOCUMENT_REGISTERS:
    router.add_api_route(f"/{_path}", show, methods=["GET"], name=f"register-{_path}")


async def rows(
    ctx: RequestContext, session: AsyncSession, register: DocumentRegister, search: core.RegisterQuery
) -> Page[DocumentSummaryRow]:
    page = await core.listing(ctx, session, register.kind, search=search)
    return Page([_row(register.web, item) for item in page.items], page.next_cursor)


def _row(web: WebKind, found: Any) -> DocumentSummaryRow:
    item, state = found.data, state_of(found)
    recipients = getattr(item, "recipients", ())
    return DocumentSummaryRow(
        public_id=item.public_id,
        url=f"{web.url}/{item.public_id}",
        number=item.document_number,
        subject=item.subject,
        sender=item.originator.organization_code,
        receivers=tuple(one.organization_code for one in recipients if one.recipient_type == "TO"),
        state=state,
        state_label=None if state == CANCELLED.name else found.workflow.state_label,
        priority=item.priority,
        due_date=item.due_date,
        is_overdue=item.is_overdue,
        created_at=item.created_at,
        type_code=item.document_type,
        outcome=found.workflow.outcome if found.workflow else None,
    )


def state_of(found: Any) -> str:
    """Say the code of the state that a page shows: a cancelled document has no other one."""
    if found.data.cancelled_at is not None or found.workflow is None:
        return CANCELLED.name
    return str(found.workflow.current_state)


async def documents_to_pick(
    ctx: RequestContext, session: AsyncSession, *, text: str, limit: int = 8
) -> list[DocumentSummaryRow]:
    """Return documents of the general registers whose number or subject contains `text`, for a picker."""
    found: list[DocumentSummaryRow] = []
    for register in DOCUMENT_REGISTERS.values():
        if not register.web.is_sheet:
            page = await rows(ctx, session, register, core.RegisterQuery(text=text, limit=limit))
            found.extend(page.items)
    return found[: limit * 2]


@router.get("/find")
async def find(page: CurrentPage, session: ReadSession, find: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Documents to choose from while a form is filled in."""
    text = "" if control_character(find) is not None else find.strip()
    found = await documents_to_pick(page.context, session, text=text) if text else []
    return page.show(FoundDocumentsFragment(found=found, text=text))
