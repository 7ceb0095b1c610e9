"""The forms of a document: a new one with its choices and the number it would get, and a draft changed unless somebody else did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import ImmutableMultiDict
from starlette.responses import RedirectResponse, Response

from saraban.documents.core.dependencies import Documents
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import OrganizationMember
from saraban.kit.clock import local_date
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.kit.http import ReadSession
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import limit_issuing, limit_reading
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, ContractSummary, PartySummary, SubTypeSummary
from saraban.projects.service import ProjectRef
from saraban.web.documents.document_page import SHOWN_ON_FORM
from saraban.web.documents.document_pages import DocumentPages, pages_at
from saraban.web.documents.payloads import changes_of, form_of, payload_of, reply_form, replying_organization
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.forms import (
    FormValues,
    await_first_answer,
    form_errors,
    id_of,
    read_form,
    text,
    texts,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

Form = FormValues


@dataclass(frozen=True, slots=True)
class FormChoices:
    """What the selects of a form offer, given what has been chosen so far."""

    projects: tuple[ProjectRef, ...]
    project: ProjectRef | None
    contracts: list[ContractSummary]
    contract: str
    own: list[PartySummary]
    originator: str
    others: list[PartySummary]
    to: str
    disciplines: list[CodeSummary]
    rfa_types: list[CodeSummary]
    sub_types: list[SubTypeSummary]
    types: list[Any]
    people: tuple[OrganizationMember, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoicesFragment(PageModel):
    template: ClassVar[str] = "documents/parts/choices.html"

    kind: WebKind
    choices: FormChoices | None
    form: FormValues


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFragment(PageModel):
    template: ClassVar[str] = "documents/parts/number.html"

    number: str | None
    missing: Sequence[Text]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocumentPage(PageModel):
    template: ClassVar[str] = "documents/create.html"

    kind: WebKind
    choices: FormChoices | None
    form: FormValues
    files: Sequence[tuple[str, str]]
    key: str
    today: date


async def form_choices(ctx: RequestContext, session: AsyncSession, *, kind: WebKind, form: Form) -> FormChoices | None:
    """Gather the choices; None when the caller takes part in no project."""
    known = await projects.projects_of(ctx, session)
    project = next(
        (one for one in known if str(one.public_id) == form.get("projectPublicId")), known[0] if known else None
    )
    if project is None:
        return None
    detail = await projects.read_project(ctx, session, public_id=project.public_id)
    acts_for = await _acts_for(ctx, session)
    own = [one for one in detail.organizations if one.public_id in acts_for] or list(detail.organizations)
    originator = _chosen(form, kind.organization_field, own) or _primary(own, acts_for)
    contract = _contract(form, detail.contracts, originator)
    named = UUID(contract) if contract else None
    where: dict[str, Any] = {"project_public_id": project.public_id, "contract_public_id": named}
    types = [one for one in await projects.correspondence_types(session) if one.code in kind.types]
    people = await people_of(session, project, originator) if "assignees" in kind.asks else ()
    others = [one for one in detail.organizations if str(one.public_id) != originator]
    return FormChoices(
        projects=known,
        project=project,
        contracts=detail.contracts,
        contract=contract,
        own=own,
        originator=originator,
        others=others,
        to=_chosen(form, "to", others) or _usual_reader(kind, detail.contracts, contract, originator),
        disciplines=await projects.disciplines(ctx, session, **where) if "discipline" in kind.asks else [],
        rfa_types=await projects.rfa_types(ctx, session, **where) if "rfa_type" in kind.asks else [],
        sub_types=await projects.sub_types(ctx, session, type_code=kind.type_code, **where)
        if "sub_type" in kind.asks
        else [],
        types=types,
        people=people,
    )


async def _acts_for(ctx: RequestContext, session: AsyncSession) -> dict[UUID, int]:
    """The organizations the caller may act for, the main one first, as far as forms need to know them."""
    profile = await identity.profile(ctx, session)
    main = profile.organization.public_id if profile.organization else None
    ordered = sorted(profile.organizations, key=lambda one: (one.public_id != main, one.organization_code))
    return {one.public_id: place for place, one in enumerate(ordered)}


async def people_of(session: AsyncSession, project: ProjectRef, originator: str) -> tuple[OrganizationMember, ...]:
    """Who can be asked by a sheet that stays inside one organization."""
    if not originator:
        return ()
    organization = await projects.find_organization(
        session, project=project, public_id=UUID(originator), pointer="/originatorOrganizationPublicId"
    )
    return await identity.users_of(session, frozenset({organization.id}))


def _chosen(form: Form, name: str, offered: list[PartySummary]) -> str:
    value = str(form.get(name, ""))
    return value if any(str(one.public_id) == value for one in offered) else ""


def _primary(own: list[PartySummary], acts_for: Mapping[UUID, int]) -> str:
    ordered = sorted(own, key=lambda one: acts_for.get(one.public_id, len(acts_for)))
    return str(ordered[0].public_id) if ordered else ""


def _contract(form: Form, offered: list[ContractSummary], originator: str) -> str:
    """The one that was chosen; before anything was, the only one in which the originator is a party."""
    if "contractPublicId" in form:
        value = str(form["contractPublicId"])
        return value if any(str(one.public_id) == value for one in offered) else ""
    of_party = [one for one in offered if any(str(party.public_id) == originator for party in one.organizations)]
    return str(of_party[0].public_id) if len(of_party) == 1 else ""


def _usual_reader(kind: WebKind, contracts: list[ContractSummary], contract: str, originator: str) -> str:
    """An RFA begins with the consultant of its contract, so the form proposes it."""
    if kind.name != "rfa":
        return ""
    parties = [party for one in contracts if str(one.public_id) == contract for party in one.organizations]
    readers = [str(party.public_id) for party in parties if party.role == "CONSULTANT"]
    return next((one for one in readers if one != originator), "")


@router.get("/{path}/new")
async def new(path: str, page: CurrentPage, session: ReadSession, request: Request) -> Response:
    """An empty form, or one with what the address gives."""
    shelf = pages_at(path)
    page.caller.require_somewhere(shelf.web.create)
    given = [("projectPublicId", str(page.project))] if page.project else []
    answered = id_of(request.query_params.get("replyTo"))
    if answered is not None:
        given = await _reply(page, session, answered, request.query_params.get("in", ""))
    form: Form = ImmutableMultiDict([*given, *request.query_params.multi_items()])
    return await _form(page, session, shelf, form)


async def _reply(page: PageRequest, session: AsyncSession, public_id: UUID, path: str) -> list[tuple[str, str]]:
    """
    The fields of a letter that answers what the reader received.

    :raises NotFound: when there is nothing that the reader could answer
    """
    found = await pages_at(path).read(page.context, session, public_id=public_id)
    sender = await replying_organization(page.context, session, found.data)
    if sender is None:
        raise NotFound("There is nothing here that the reader could answer.")
    return reply_form(found.data, sender, page.language)


@router.post("/{path}/new/choices")
async def choose(path: str, page: CurrentPage, session: ReadSession, request: Request) -> Response:
    """The selects again, after one that decides about others has changed."""
    shelf = pages_at(path)
    page.caller.require_somewhere(shelf.web.create)
    form = await read_form(request)
    found = await form_choices(page.context, session, kind=shelf.web, form=form)
    return page.show(ChoicesFragment(kind=shelf.web, choices=found, form=form))


@router.post("/{path}/new/number")
async def number(path: str, page: CurrentPage, session: ReadSession, request: Request) -> Response:
    """The number that the document would get now; nothing is consumed."""
    shelf = pages_at(path)
    form = await read_form(request)
    missing = [name for name in _needed(shelf.web) if not form.get(name)]
    if missing:
        return page.show(NumberFragment(number=None, missing=[labels.FIELDS[name] for name in missing]))
    try:
        await limit_reading(request, page.context)
        plan = await numbering.plan(page.context, session, request=_asked(shelf.web, form))
        found = await numbering.preview(session, plan=plan)
    except DomainError as error:
        fragment = NumberFragment(number=None, missing=[], faults=form_errors(error, page.language))
        return page.show(fragment, status=200)  # typing is never an error
    return page.show(NumberFragment(number=found.number, missing=[]))


def _needed(kind: WebKind) -> list[str]:
    """Fields without which no number can be named."""
    asked = {"rfa_type": "rfaTypeCode", "sub_type": "subTypeCode", "recipients": "to"}
    wanted = [name for ask, name in asked.items() if ask in kind.asks]
    return [kind.organization_field, *wanted, *(["disciplineCode"] if kind.name == "rfa" else [])]


def _asked(kind: WebKind, form: Form) -> numbering.NumberRequest:
    return numbering.NumberRequest(
        project_public_id=_id(form, "projectPublicId") or new_id(),
        correspondence_type_code=text(form, "correspondenceTypeCode") or kind.type_code,
        originator_organization_public_id=_id(form, kind.organization_field) or new_id(),
        recipient_organization_public_id=_id(form, "to"),
        contract_public_id=_id(form, "contractPublicId"),
        sub_type_code=text(form, "subTypeCode"),
        rfa_type_code=text(form, "rfaTypeCode"),
        discipline_code=text(form, "disciplineCode"),
    )


def _id(form: Form, name: str) -> UUID | None:
    try:
        return UUID(text(form, name) or "")
    except ValueError:
        return None


@router.post("/{path}/new")
async def create(path: str, page: CurrentPage, services: Documents, request: Request) -> Response:
    """Writes the document and goes to it; a refusal comes back with everything that was typed."""
    shelf = pages_at(path)
    form = await read_form(request)
    ctx = page.context.with_key(text(form, "key"))
    try:
        order = validated(request, shelf.order, payload_of(shelf.web, form))
        await limit_issuing(request, page.context)
        receipt = await await_first_answer(lambda: shelf.create(ctx, services, order))
    except DomainError as error:
        if error.kind is ErrorKind.BROKEN:
            raise
        async with services.db.reading() as session:
            return await _form(page, session, shelf, form, error)
    return RedirectResponse(f"{shelf.web.url}/{receipt.public_id}?created=1", status_code=303)


async def _form(
    page: PageRequest,
    session: AsyncSession,
    shelf: DocumentPages,
    form: Form,
    error: DomainError | None = None,
) -> Response:
    found = await form_choices(page.context, session, kind=shelf.web, form=form)
    return page.show(
        NewDocumentPage(
            kind=shelf.web,
            choices=found,
            form=form,
            files=list(zip(texts(form, "attachment"), texts(form, "attachmentName"), strict=False)),
            faults=form_errors(error, page.language),
            key=str(new_id()),
            today=local_date(page.context.now, page.context.zone),
        )
    )


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


async def _draft_choices(session: AsyncSession, page: PageRequest, shelf: DocumentPages, document: Any) -> DraftChoices:
    project = document.project
    if shelf.web.is_sheet:
        place = await projects.find_project(session, public_id=project.public_id, pointer="/projectPublicId")
        return DraftChoices([], await people_of(session, place, str(document.originator.public_id)))
    detail = await projects.read_project(page.context, session, public_id=project.public_id)
    main = next(one.public_id for one in document.recipients if one.recipient_type == "TO")
    known = {one.public_id: one for one in (*detail.organizations, *document.recipients)}
    return DraftChoices([one for key, one in known.items() if key not in {main, document.originator.public_id}])


async def _show_draft(
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
            choices=await _draft_choices(session, page, shelf, found.data),
            etag=shelf.etag(found) if form is None else text(form, "version") or "",
            form=form_of(shelf.web, found.data) if form is None else form,
            faults=form_errors(error, page.language),
        )
    )


@router.get("/{path}/{public_id}/edit")
async def edit_form(path: str, public_id: UUID, page: CurrentPage, session: ReadSession) -> Response:
    shelf = pages_at(path)
    found = await shelf.read(page.context, session, public_id=public_id)
    return await _show_draft(page, session, shelf, found)


@router.post("/{path}/{public_id}/edit")
async def edit(path: str, public_id: UUID, page: CurrentPage, services: Documents, request: Request) -> Response:
    """Changes a draft, unless somebody else did since the form was opened."""
    shelf = pages_at(path)
    form = await read_form(request)
    try:
        changes = validated(request, shelf.changes, changes_of(shelf.web, form))
        await shelf.edit(page.context, services, public_id, changes, text(form, "version"))
    except DomainError as error:
        if error.kind not in SHOWN_ON_FORM:
            raise
        async with services.db.reading() as session:
            found = await shelf.read(page.context, session, public_id=public_id)
            return await _show_draft(page, session, shelf, found, error=error, form=form)
    return RedirectResponse(f"{shelf.web.url}/{public_id}", status_code=303)
