"""A draft changed in the browser, unless somebody else changed it since the form was opened."""

from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.service import OrganizationMember
from saraban.kit.errors import DomainError
from saraban.kit.http import Db, ReadSession
from saraban.projects import service as projects
from saraban.web.documents.document_forms import people_of
from saraban.web.documents.document_page import SHOWN_ON_FORM
from saraban.web.documents.document_pages import DocumentPages, pages_at
from saraban.web.documents.payloads import changes_of, form_of
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.forms import FormValues, form_errors, read_form, text, validated
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session_renewal import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@dataclass(frozen=True, slots=True)
class DraftChoices:
    """Whom a draft may be sent to besides the main recipient, or who may be asked by a sheet."""

    others: list[Any]
    people: tuple[OrganizationMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditPage(PageModel):
    template: ClassVar[str] = "documents/edit.html"

    kind: WebKind
    document: Any
    choices: DraftChoices
    etag: str
    form: FormValues
    today: None = None  # a draft has its dates; none is proposed


async def _choices(session: AsyncSession, page: PageRequest, shelf: DocumentPages, document: Any) -> DraftChoices:
    project = document.project
    if shelf.web.is_sheet:
        place = await projects.find_project(session, public_id=project.public_id, pointer="/projectPublicId")
        return DraftChoices([], await people_of(session, place, str(document.originator.public_id)))
    detail = await projects.read_project(page.context, session, public_id=project.public_id)
    main = next(one.public_id for one in document.recipients if one.recipient_type == "TO")
    known = {one.public_id: one for one in (*detail.organizations, *document.recipients)}
    return DraftChoices([one for key, one in known.items() if key not in {main, document.originator.public_id}])


async def _show(
    page: PageRequest,
    session: AsyncSession,
    shelf: DocumentPages,
    found: Any,
    *,
    error: DomainError | None = None,
    form: FormValues | None = None,
) -> Response:
    return page.show(
        EditPage(
            kind=shelf.web,
            document=found.data,
            choices=await _choices(session, page, shelf, found.data),
            etag=shelf.etag(found) if form is None else text(form, "version") or "",
            form=form_of(shelf.web, found.data) if form is None else form,
            faults=form_errors(error, page.language),
        )
    )


@router.get("/{path}/{public_id}/edit")
async def edit_form(path: str, public_id: UUID, page: CurrentPage, session: ReadSession) -> Response:
    shelf = pages_at(path)
    found = await shelf.read(page.context, session, public_id=public_id)
    return await _show(page, session, shelf, found)


@router.post("/{path}/{public_id}/edit")
async def edit(path: str, public_id: UUID, page: CurrentPage, db: Db, request: Request) -> Response:
    """Changes a draft, unless somebody else did since the form was opened."""
    shelf = pages_at(path)
    form = await read_form(request)
    try:
        changes = validated(request, shelf.changes, changes_of(shelf.web, form))
        await shelf.edit(page.context, db, public_id=public_id, changes=changes, if_match=text(form, "version"))
    except DomainError as error:
        if error.kind not in SHOWN_ON_FORM:
            raise
        async with db.reading() as session:
            found = await shelf.read(page.context, session, public_id=public_id)
            return await _show(page, session, shelf, found, error=error, form=form)
    return RedirectResponse(f"{shelf.web.url}/{public_id}", status_code=303)
