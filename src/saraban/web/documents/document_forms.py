"""The forms of a document: a new one with its choices and the number it would get, and a draft changed unless somebody else did."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import ImmutableMultiDict
from starlette.responses import RedirectResponse, Response

from saraban.documents.core import service as core
from saraban.documents.core.dependencies import Documents
from saraban.documents.drawing.domain import KINDS
from saraban.identity import service as identity
from saraban.identity.domain.catalogue import PartyRole
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import OrganizationMember
from saraban.kit.clock import local_date
from saraban.kit.errors import DomainError, ErrorKind, NotFound, Text
from saraban.kit.http import ReadSession
from saraban.kit.ids import new_id
from saraban.kit.schema import Schema
from saraban.numbering import service as numbering
from saraban.numbering.issue.dependencies import limit_issuing, limit_reading
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary, ContractSummary, PartySummary, SubTypeSummary
from saraban.projects.service import ProjectRef
from saraban.web.documents.registers import DocumentRegister, register_at
from saraban.web.documents.rfa_items import form_of_items, form_of_numbers, items_typed, revisions_typed
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import WebKind
from saraban.web.shell.form_state import FormState, FormValues
from saraban.web.shell.forms import (
    CurrentForm,
    SentForm,
    Shown,
    WarningsUnconfirmed,
    number_or_text,
    text,
    texts,
    uploaded,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

CREATE_LETTERS: Final = "correspondence.create"
_BEGINS: Final = Text("อ้างถึง ", "Re: ")
_LONGEST: Final = 500


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
    file_kinds: str = ""


class ChoicesFragment(PageModel, template="documents/parts/choices.html"):
    kind: WebKind
    choices: FormChoices | None


class NumberFragment(PageModel, template="documents/parts/number.html"):
    number: str | None
    missing: Sequence[Text]


class NewDocumentPage(PageModel, template="documents/create.html"):
    kind: WebKind
    choices: FormChoices | None
    files: Sequence[tuple[str, str]]
    key: str
    today: date


async def form_choices(
    ctx: RequestContext, session: AsyncSession, *, kind: WebKind, form: FormValues
) -> FormChoices | None:
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
        file_kinds=detail.file_kinds or "",
    )


async def _acts_for(ctx: RequestContext, session: AsyncSession) -> dict[UUID, int]:
    """The organizations the caller may act for, the main one first, as far as forms need to know them."""
    profile = await identity.profile(ctx, session)
    main = profile.organization.public_id if profile.organization else None
    ordered = sorted(profile.organizations, key=lambda one: (one.public_id != main, one.organization_code))
    return {one.public_id: place for place, one in enumerate(ordered)}


async def people_of(session: AsyncSession, project: ProjectRef, originator: str) -> tuple[OrganizationMember, ...]:
    if not originator:
        return ()
    organization = await projects.find_organization(
        session, project=project, public_id=UUID(originator), pointer="/originatorOrganizationPublicId"
    )
    return await identity.users_of(session, frozenset({organization.id}))


def _chosen(form: FormValues, name: str, offered: list[PartySummary]) -> str:
    value = str(form.get(name, ""))
    return value if any(str(one.public_id) == value for one in offered) else ""


def _primary(own: list[PartySummary], acts_for: Mapping[UUID, int]) -> str:
    ordered = sorted(own, key=lambda one: acts_for.get(one.public_id, len(acts_for)))
    return str(ordered[0].public_id) if ordered else ""


def _contract(form: FormValues, offered: list[ContractSummary], originator: str) -> str:
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
    readers = [str(party.public_id) for party in parties if party.role == PartyRole.CONSULTANT]
    return next((one for one in readers if one != originator), "")


@router.get("/{path}/new")
async def new(path: str, page: CurrentPage, session: ReadSession) -> Response:
    register, asked = register_at(path), page.request.query_params
    page.caller.require_somewhere(register.web.create)
    given = [("projectPublicId", str(page.project))] if page.project else []
    answered = id_of(asked.get("replyTo"))
    if answered is not None:
        given = await _reply(page, session, answered, asked.get("in", ""))
    return await _form(register, page, session, FormState(ImmutableMultiDict([*given, *asked.multi_items()])))


async def _reply(page: PageRequest, session: AsyncSession, public_id: UUID, path: str) -> list[tuple[str, str]]:
    """
    The fields of a letter that answers what the reader received.

    :raises NotFound: when there is nothing that the reader could answer
    """
    found = await core.read_whole(page.context, session, register_at(path).kind, public_id)
    sender = replying_organization(page.context, found)
    if sender is None:
        raise NotFound("There is nothing here that the reader could answer.")
    return reply_form(found.shown.data, sender, page.language)


@router.post("/{path}/new/choices")
async def choose(path: str, form: CurrentForm) -> Response:
    page, web = form.page, register_at(path).web
    page.caller.require_somewhere(web.create)
    async with form.db.reading() as session:
        found = await form_choices(page.context, session, kind=web, form=form.values)
    return page.show(ChoicesFragment(kind=web, choices=found, state=FormState(form.values)))


@router.post("/{path}/new/number")
async def number(path: str, form: CurrentForm) -> Response:
    """The number that the document would get now; nothing is consumed."""
    page, web = form.page, register_at(path).web
    missing = [name for name in _needed(web) if not form.values.get(name)]
    if missing:
        return page.show(NumberFragment(number=None, missing=[labels.FIELDS[name] for name in missing]))
    try:
        await limit_reading(page.request)
        async with form.db.reading() as session:
            plan = await numbering.plan(page.context, session, request=_asked(web, form.values))
            found = await numbering.preview(session, plan=plan)
    except DomainError as error:
        fragment = NumberFragment(number=None, missing=[], state=FormState(error=error))
        return page.show(fragment, status=200)  # typing is never an error
    return page.show(NumberFragment(number=found.number, missing=[]))


def _needed(kind: WebKind) -> list[str]:
    asked = {"rfa_type": "rfaTypeCode", "sub_type": "subTypeCode", "recipients": "to"}
    wanted = [name for ask, name in asked.items() if ask in kind.asks]
    return [kind.organization_field, *wanted, *(["disciplineCode"] if kind.name == "rfa" else [])]


def _asked(kind: WebKind, form: FormValues) -> numbering.NumberRequest:
    return numbering.NumberRequest(
        project_public_id=id_of(text(form, "projectPublicId")) or new_id(),
        correspondence_type_code=text(form, "correspondenceTypeCode") or kind.type_code,
        originator_organization_public_id=id_of(text(form, kind.organization_field)) or new_id(),
        recipient_organization_public_id=id_of(text(form, "to")),
        contract_public_id=id_of(text(form, "contractPublicId")),
        sub_type_code=text(form, "subTypeCode"),
        rfa_type_code=text(form, "rfaTypeCode"),
        discipline_code=text(form, "disciplineCode"),
    )


@router.post("/{path}/new")
async def create(path: str, form: CurrentForm, services: Documents) -> Response:
    register = register_at(path)
    try:
        payload = payload_of(register, form.values)
        payload |= await _drawings(register.web, form, id_of(form.text("projectPublicId")))
        order = form.order(register.kind.new, payload)
        await form.confirm(register.kind.warnings, asked=order, public_id=None)
        await limit_issuing(form.page.request)
        receipt = await form.once(core.create, services, register.kind, order)
    except DomainError as error:
        if error.kind is ErrorKind.BROKEN:
            raise
        async with form.db.reading() as session:
            return await _form(register, form.page, session, FormState(form.values, error))
    return RedirectResponse(f"{register.web.url}/{receipt.public_id}?created=1", status_code=303)


async def _drawings(web: WebKind, form: SentForm, project: UUID | None) -> dict[str, object]:
    if not web.asks & {"drawings", "carried_drawings"}:
        return {}
    async with form.db.reading() as session:
        if "drawings" in web.asks:
            return {"items": await items_typed(form.context, session, form.values, project=project)}
        found = await revisions_typed(form.context, session, form.values, tuple(KINDS.values()), project=project)
        return {"drawingRevisionPublicIds": found}


async def _form(register: DocumentRegister, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    form = state.form
    return page.show(
        NewDocumentPage(
            kind=register.web,
            choices=await form_choices(page.context, session, kind=register.web, form=form),
            state=state,
            files=uploaded(form),
            # With the same key a second click is the first one again, whose document would be what is warned of.
            key=(text(form, "key") if isinstance(state.error, WarningsUnconfirmed) else None) or str(new_id()),
            today=local_date(page.context.now, page.context.zone),
        )
    )


@dataclass(frozen=True, slots=True)
class DraftChoices:
    others: list[Any]
    people: tuple[OrganizationMember, ...] = ()


class EditPage(PageModel, template="documents/edit.html"):
    kind: WebKind
    document: Any
    choices: DraftChoices
    etag: str
    today: None = None  # a draft has its dates; none is proposed


async def _draft_choices(
    session: AsyncSession, page: PageRequest, register: DocumentRegister, document: Any
) -> DraftChoices:
    project = document.project
    if register.web.is_sheet:
        place = await projects.find_project(session, public_id=project.public_id, pointer="/projectPublicId")
        return DraftChoices([], await people_of(session, place, str(document.originator.public_id)))
    detail = await projects.read_project(page.context, session, public_id=project.public_id)
    main = next(one.public_id for one in document.recipients if one.recipient_type == "TO")
    known = {one.public_id: one for one in (*detail.organizations, *document.recipients)}
    return DraftChoices([one for key, one in known.items() if key not in {main, document.originator.public_id}])


@router.get("/{path}/{public_id}/edit")
async def edit_form(page: CurrentPage, session: ReadSession, state: Shown, path: str, public_id: UUID) -> Response:
    register = register_at(path)
    found = await core.read(page.context, session, register.kind, public_id)
    page.within(found.data.project.public_id)
    return page.show(
        EditPage(
            kind=register.web,
            document=found.data,
            choices=await _draft_choices(session, page, register, found.data),
            etag=text(state.form, "version") or "" if state.error else core.etag(found),
            state=state.or_stored(form_of(register, found.data)),
        )
    )


@router.post("/{path}/{public_id}/edit")
async def edit(path: str, public_id: UUID, form: CurrentForm, services: Documents) -> Response:
    register = register_at(path)
    async with form.shown_again(edit_form, path, public_id):
        asked = changes_of(register, form.values)
        asked |= await _drawings(register.web, form, id_of(form.text("project")))
        changes = form.order(register.kind.changes, asked)
        await form.confirm(register.kind.warnings, asked=changes, public_id=public_id)
        await core.edit(form.context, services, register.kind, public_id, changes, form.text("version"))
    return RedirectResponse(f"{register.web.url}/{public_id}", status_code=303)


def _plain(schema: type[Schema], form: FormValues) -> dict[str, object]:
    """Return the fields of a form that are fields of the request too; what was left empty is None."""
    names = [one.alias for one in schema.model_fields.values() if one.alias]
    return {name: text(form, name) for name in names if name in form}


def _lists(web: WebKind, form: FormValues) -> dict[str, object]:
    found: dict[str, object] = {}
    if web.is_sheet:
        found["assignees"] = [
            _assignee(form, name, part) for name, part in form.items() if name.startswith("part-") and part
        ]
        return found
    found |= {"recipients": _recipients(form), "referencePublicIds": texts(form, "reference")}
    if "items" in web.asks:
        found["items"] = [_item(form, one) for one in texts(form, "item")]
    return found


def payload_of(register: DocumentRegister, form: FormValues) -> dict[str, object]:
    """Return the JSON body of the request; what was left empty is left out."""
    web = register.web
    plain = {name: value for name, value in _plain(register.kind.new, form).items() if value is not None}
    defaults = {"correspondenceTypeCode": web.type_code} if web.types else {}
    defaults |= {"purpose": "FOR_INFORMATION"} if "purpose" in web.asks else {}
    return {**defaults, **plain, **_lists(web, form), "attachmentPublicIds": texts(form, "attachment")}


def changes_of(register: DocumentRegister, form: FormValues) -> dict[str, object]:
    """Return what the form of a draft says of all that can change in it; what was left empty is taken away."""
    web = register.web
    shown = {"recipients": "to" in form, "assignees": any(name.startswith("part-") for name in form)}
    shown["items" if "items" in web.asks else "referencePublicIds"] = "picks" in form
    lists = {name: value for name, value in _lists(web, form).items() if shown.get(name)}
    return _plain(register.kind.changes, form) | lists


def form_of(register: DocumentRegister, document: Any) -> FormValues:
    said = document.model_dump(mode="json", by_alias=True, include=set(register.kind.changes.model_fields))
    said |= {register.web.due_field: document.due_date}
    found = [(name, value) for name, value in said.items() if not isinstance(value, list)]
    found += _assignees_of(document) if register.web.is_sheet else _parties_of(document)
    if "carried_drawings" in register.web.asks:
        found += form_of_numbers((one.kind, one.drawing_number) for one in document.drawings)
    return ImmutableMultiDict([(name, "" if value is None else str(value)) for name, value in found])


def _assignees_of(document: Any) -> Iterator[tuple[str, Any]]:
    for one in document.assignees:
        if one.user is not None:
            yield from ((f"part-{one.user.public_id}", one.kind), (f"due-{one.user.public_id}", one.due_date))


def _parties_of(document: Any) -> Iterator[tuple[str, Any]]:
    main = "to"
    for one in document.recipients:
        yield ("cc" if one.recipient_type == "CC" else main, one.public_id)
        main = "alsoTo" if one.recipient_type == "TO" else main
    for one in document.references:
        yield from (("reference", one.public_id), ("referenceLabel", f"{one.document_number} {one.subject}"))
    if document.kind == "rfa":
        yield from form_of_items(document)
        return
    for one in getattr(document, "items", ()):
        at = one.document_public_id
        yield from (("item", at), ("itemLabel", f"{one.document_number} {one.subject}"))
        yield from ((f"copies-{at}", one.quantity), (f"note-{at}", one.remarks))


def _item(form: FormValues, document: str) -> dict[str, object]:
    found: dict[str, object] = {"documentPublicId": document}
    copies, note = text(form, f"copies-{document}"), text(form, f"note-{document}")
    return found | ({"quantity": number_or_text(copies)} if copies else {}) | ({"remarks": note} if note else {})


def _recipients(form: FormValues) -> list[dict[str, str]]:
    """The main recipient first; who is chosen twice is kept at the first place."""
    found: dict[str, str] = {}
    for kind, values in (("TO", texts(form, "to")), ("TO", texts(form, "alsoTo")), ("CC", texts(form, "cc"))):
        for value in values:
            found.setdefault(value, kind)
    return [{"organizationPublicId": one, "recipientType": kind} for one, kind in found.items()]


def _assignee(form: FormValues, name: str, part: object) -> dict[str, object]:
    due = text(form, name.replace("part-", "due-", 1))
    return {"userPublicId": name.removeprefix("part-"), "kind": part} | ({"dueDate": due} if due else {})


def replying_organization(ctx: RequestContext, found: core.DocumentReading) -> UUID | None:
    """Give the organization that would reply: the first that received it and for which the reader writes."""
    document = found.shown.data
    issued = getattr(document, "issued_at", None) is not None and document.cancelled_at is None
    if not issued or not ctx.caller.may_anywhere(CREATE_LETTERS):
        return None
    mine = ctx.caller.organization_ids
    return next((public_id for key, public_id in found.recipients if key in mine), None)


def reply_form(document: Any, replying_organization: UUID, language: str) -> list[tuple[str, str]]:
    found = [
        ("projectPublicId", str(document.project.public_id)),
        ("contractPublicId", str(document.contract.public_id) if document.contract else ""),
        ("originatorOrganizationPublicId", str(replying_organization)),
        ("to", str(document.originator.public_id)),
        ("correspondenceTypeCode", "MEMO" if document.document_type == "MEMO" else "LETTER"),
        ("subject", reply_subject(document.subject, language)),
        ("reference", str(document.public_id)),
        ("referenceLabel", f"{document.document_number} {document.subject}"),
    ]
    return found + ([("disciplineCode", document.discipline.code)] if document.discipline else [])


def reply_subject(subject: str, language: str) -> str:
    """Say once what it refers to, in the language of the writer; an answer to an answer says it no second time."""
    known = subject.startswith((_BEGINS.th, _BEGINS.en))
    return (subject if known else _BEGINS.say(language) + subject)[:_LONGEST]
