"""The registers as pages show them: search, filters, rows that go on; the address always says what is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.documents.circulation import service as circulations
from saraban.documents.core import service as core
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa import service as rfas
from saraban.documents.transmittal import service as transmittals
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound
from saraban.kit.http import ReadSession
from saraban.kit.pagination import Page
from saraban.kit.text import control_character
from saraban.web.documents.register_filters import (
    VIEW,
    FilterChoices,
    RegisterFilters,
    SetFilter,
    filter_choices,
    needs_choices,
    register_query,
    set_filters,
)
from saraban.web.shell.document_kinds import KINDS, WebKind
from saraban.web.shell.page import CurrentPage, PageModel, id_of
from saraban.web.shell.session import PageRoute
from saraban.workflow.language.definition import CANCELLED

router = APIRouter(include_in_schema=False, route_class=PageRoute)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage(PageModel):
    template: ClassVar[str] = "documents/register.html"
    fragments: ClassVar[tuple[str, ...]] = ("documents/parts/register_rows.html", "documents/parts/register_list.html")

    kind: WebKind
    lines: Sequence[DocumentSummaryRow]
    next_cursor: str | None
    asked: RegisterFilters
    chips: Sequence[SetFilter]
    choices: FilterChoices | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreFiltersFragment(PageModel):
    template: ClassVar[str] = "documents/parts/more_filters.html"

    kind: WebKind
    asked: RegisterFilters
    choices: FilterChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDocumentsFragment(PageModel):
    template: ClassVar[str] = "documents/parts/found.html"

    found: Sequence[DocumentSummaryRow]
    text: str


RegisterPlace = Annotated[str | None, Query(max_length=1_200)]
CurrentFilters = Annotated[RegisterFilters, Query()]


async def show(
    page: CurrentPage,
    session: ReadSession,
    asked: CurrentFilters,
    cursor: RegisterPlace = None,
    more: Annotated[str, Query(max_length=5)] = "",
) -> Response:
    """The register that the address names."""
    register = register_at(page.request.url.path.strip("/"))
    web = register.web
    page.caller.require_somewhere(VIEW)
    if (project := id_of(asked.project)) is not None:
        page.within(project)
    asked = asked.model_copy(update={"project": ""})
    choices = await filter_choices(page, session, web) if more or needs_choices(web, asked) else None
    search, faults = register_query(page, web, asked, choices, cursor)
    found = await rows(page.context, session, register, search)
    shown = RegisterPage(
        kind=web,
        lines=found.items,
        next_cursor=found.next_cursor,
        asked=asked,
        chips=() if cursor else set_filters(page, web, asked, choices, faults),
        choices=choices,
        faults=faults,
    )
    response = page.show_list(shown, cursor)
    if page.is_fragment and not cursor:
        response.headers["HX-Push-Url"] = web.url + (f"?{asked.query}" if asked.query else "")
    return response


async def show_more_filters(page: CurrentPage, session: ReadSession, asked: CurrentFilters) -> Response:
    """The filters that are rarely used, when somebody opens them: what they offer is not read before."""
    web = register_at(page.request.url.path.split("/")[1]).web
    page.caller.require_somewhere(VIEW)
    return page.show(MoreFiltersFragment(kind=web, asked=asked, choices=await filter_choices(page, session, web)))


for _path in DOCUMENT_REGISTERS:
    router.add_api_route(f"/{_path}", show, methods=["GET"], name=f"register-{_path}")
    router.add_api_route(f"/{_path}/filters", show_more_filters, methods=["GET"], name=f"filters-{_path}")


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
    ctx: RequestContext, session: AsyncSession, *, text: str, project: UUID | None, limit: int = 8
) -> list[DocumentSummaryRow]:
    """Return documents of a project, of the general registers, whose number or subject contains `text`, for a picker."""
    found: list[DocumentSummaryRow] = []
    for register in DOCUMENT_REGISTERS.values():
        if not register.web.is_sheet:
            page = await rows(ctx, session, register, core.RegisterQuery(text=text, project=project, limit=limit))
            found.extend(page.items)
    return found[: limit * 2]


@router.get("/find")
async def find(
    page: CurrentPage,
    session: ReadSession,
    find: Annotated[str, Query(max_length=200)] = "",
    project: Annotated[str, Query(alias="projectPublicId", max_length=40)] = "",
) -> Response:
    """Documents to choose from while a form is filled in, of the project of the form."""
    here = id_of(project) or page.project
    text = "" if control_character(find) is not None else find.strip()
    found = await documents_to_pick(page.context, session, text=text, project=here) if text else []
    return page.show(FoundDocumentsFragment(found=found, text=text))
