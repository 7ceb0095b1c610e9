"""Pages of the document registers; the address always contains the filters."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final
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
    """A register's texts for pages, and its kind for `documents.core`."""

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
    """:raises NotFound:"""
    register = DOCUMENT_REGISTERS.get(path)
    if register is None:
        raise NotFound(f"There is no register {path}.")
    return register


class RegisterPage(
    PageModel,
    template="documents/register.html",
    fragments=("documents/parts/register_rows.html", "documents/parts/register_list.html"),
):
    kind: WebKind
    lines: Sequence[Any]
    next_cursor: str | None
    asked: RegisterFilters
    chips: Sequence[SetFilter]
    choices: FilterChoices | None


class MoreFiltersFragment(PageModel, template="documents/parts/more_filters.html"):
    kind: WebKind
    asked: RegisterFilters
    choices: FilterChoices


class FoundDocumentsFragment(PageModel, template="documents/parts/found.html"):
    found: Sequence[Any]
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
    register = register_at(page.request.url.path.strip("/"))
    web = register.web
    page.caller.require_somewhere(VIEW)
    if (project := id_of(asked.project)) is not None:
        page.set_project(project)
    asked = asked.model_copy(update={"project": ""})
    choices = await filter_choices(page, session, web) if more or needs_choices(web, asked) else None
    search, faults = register_query(page, web, asked, choices, cursor)
    documents = await core.listing(page.context, session, register.kind, search=search)
    model = RegisterPage(
        kind=web,
        lines=documents.items,
        next_cursor=documents.next_cursor,
        asked=asked,
        chips=() if cursor else set_filters(page, web, asked, choices, faults),
        choices=choices,
        faults=faults,
    )
    return page.show_list(model, cursor, address=web.url + (f"?{asked.query}" if asked.query else ""))


async def show_more_filters(page: CurrentPage, session: ReadSession, asked: CurrentFilters) -> Response:
    """Rarely used filters, whose options are loaded only when they are opened."""
    web = register_at(page.request.url.path.split("/")[1]).web
    page.caller.require_somewhere(VIEW)
    return page.show(MoreFiltersFragment(kind=web, asked=asked, choices=await filter_choices(page, session, web)))


for _path in DOCUMENT_REGISTERS:
    router.add_api_route(f"/{_path}", show, methods=["GET"], name=f"register-{_path}")
    router.add_api_route(f"/{_path}/filters", show_more_filters, methods=["GET"], name=f"filters-{_path}")


def state_of(envelope: Any) -> str:
    """A cancelled document has no other state."""
    if envelope.data.cancelled_at is not None or envelope.workflow is None:
        return CANCELLED.name
    return str(envelope.workflow.current_state)


async def documents_to_pick(
    ctx: RequestContext, session: AsyncSession, *, text: str, project: UUID | None, limit: int = 8
) -> list[Any]:
    documents: list[Any] = []
    for register in DOCUMENT_REGISTERS.values():
        if not register.web.is_sheet:
            search = core.RegisterQuery(text=text, project=project, limit=limit)
            documents.extend((await core.listing(ctx, session, register.kind, search=search)).items)
    return documents[: limit * 2]


@router.get("/find")
async def find(
    page: CurrentPage,
    session: ReadSession,
    find: Annotated[str, Query(max_length=200)] = "",
    project: Annotated[str, Query(alias="projectPublicId", max_length=40)] = "",
) -> Response:
    project_id = id_of(project) or page.project
    text = "" if control_character(find) is not None else find.strip()
    documents = await documents_to_pick(page.context, session, text=text, project=project_id) if text else []
    return page.show(FoundDocumentsFragment(found=documents, text=text))
