"""The forms of a new document and of a draft."""

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
_REPLY_PREFIX: Final = Text("อ้างถึง ", "Re: ")
_LONGEST: Final = 500


@dataclass(frozen=True, slots=True)
class FormChoices:
    """Options of the selects, which depend on the values chosen so far."""

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
    """Return None when the caller has no project."""
    refs = await projects.projects_of(ctx, session)
    project = next(
        (item for item in refs if str(item.public_id) == form.get("projectPublicId")), refs[0] if refs else None
    )
    if project is None:
        return None
    detail = await projects.read_project(ctx, session, public_id=project.public_id)
    acts_for = await _acts_for(ctx, session)
    own_organizations = [item for item in detail.organizations if item.public_id in acts_for] or list(
        detail.organizations
    )
    originator = _chosen(form, kind.organization_field, own_organizations) or _primary(own_organizations, acts_for)
    contract = _contract(form, detail.contracts, originator)
    contract_id = UUID(contract) if contract else None
    where: dict[str, Any] = {"project_public_id": project.public_id, "contract_public_id": contract_id}
    types = [item for item in await projects.correspondence_types(session) if item.code in kind.types]
    people = await people_of(session, project, originator) if "assignees" in kind.asks else ()
    others = [item for item in detail.organizations if str(item.public_id) != originator]
    return FormChoices(
        projects=refs,
        project=project,
        contracts=detail.contracts,
        contract=contract,
        own=own_organizations,
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
    """Return the rank of each organization the caller acts for; the main one is first."""
    profile = await identity.profile(ctx, session)
    main = profile.organization.public_id if profile.organization else None
    ordered = sorted(
        profile.organizations, key=lambda organization: (organization.public_id != main, organization.organization_code)
    )
    return {organization.public_id: place for place, organization in enumerate(ordered)}


async def people_of(session: AsyncSession, project: ProjectRef, originator: str) -> tuple[OrganizationMember, ...]:
    if not originator:
        return ()
    organization = await projects.find_organization(
        session, project=project, public_id=UUID(originator), pointer="/originatorOrganizationPublicId"
    )
    return await identity.users_of(session, frozenset({organization.id}))


def _chosen(form: FormValues, name: str, offered: list[PartySummary]) -> str:
    value = str(form.get(name, ""))
    return value if any(str(party.public_id) == value for party in offered) else ""


def _primary(parties: list[PartySummary], acts_for: Mapping[UUID, int]) -> str:
    ordered = sorted(parties, key=lambda party: acts_for.get(party.public_id, len(acts_for)))
    return str(ordered[0].public_id) if ordered else ""


def _contract(form: FormValues, offered: list[ContractSummary], originator: str) -> str:
    """Return the chosen contract; before a choice, the only one with the originator as party."""
    if "contractPublicId" in form:
        value = str(form["contractPublicId"])
        return value if any(str(contract.public_id) == value for contract in offered) else ""
    of_party = [
        contract for contract in offered if any(str(party.public_id) == originator for party in contract.organizations)
    ]
    return str(of_party[0].public_id) if len(of_party) == 1 else ""


def _usual_reader(kind: WebKind, contracts: list[ContractSummary], contract: str, originator: str) -> str:
    """Propose the contract's consultant for an RFA."""
    if kind.name != "rfa":
        return ""
    parties = [party for item in contracts if str(item.public_id) == contract for party in item.organizations]
    readers = [str(party.public_id) for party in parties if party.role == PartyRole.CONSULTANT]
    return next((item for item in readers if item != originator), "")


@router.get("/{path}/new")
async def new(path: str, page: CurrentPage, session: ReadSession) -> Response:
    register, parameters = register_at(path), page.request.query_params
    page.caller.require_somewhere(register.web.create)
    fields = [("projectPublicId", str(page.project))] if page.project else []
    replied_to = id_of(parameters.get("replyTo"))
    if replied_to is not None:
        fields = await _reply(page, session, replied_to, parameters.get("in", ""))
    return await _form(register, page, session, FormState(ImmutableMultiDict([*fields, *parameters.multi_items()])))


async def _reply(page: PageRequest, session: AsyncSession, public_id: UUID, path: str) -> list[tuple[str, str]]:
    """
    Return the fields of a letter that replies to a received document.
    :raises NotFound: when the reader cannot reply to it
    """
    document = await core.read_whole(page.context, session, register_at(path).kind, public_id)
    sender = replying_organization(page.context, document)
    if sender is None:
        raise NotFound("There is nothing here that the reader could answer.")
    return reply_form(document.shown.data, sender, page.language)


@router.post("/{path}/new/choices")
async def choose(path: str, form: CurrentForm) -> Response:
    page, web = form.page, register_at(path).web
    page.caller.require_somewhere(web.create)
    async with form.db.reading() as session:
        choices = await form_choices(page.context, session, kind=web, form=form.values)
    return page.show(ChoicesFragment(kind=web, choices=choices, state=FormState(form.values)))


@router.post("/{path}/new/number")
async def number(path: str, form: CurrentForm) -> Response:
    """Preview the number; none is issued."""
    page, web = form.page, register_at(path).web
    missing = [name for name in _needed(web) if not form.values.get(name)]
    if missing:
        return page.show(NumberFragment(number=None, missing=[labels.FIELDS[name] for name in missing]))
    try:
        await limit_reading(page.request)
        async with form.db.reading() as session:
            plan = await numbering.plan(page.context, session, request=_number_request(web, form.values))
            preview = await numbering.preview(session, plan=plan)
    except DomainError as error:
        fragment = NumberFragment(number=None, missing=[], state=FormState(error=error))
        return page.show(fragment, status=200)  # typing is never an error
    return page.show(NumberFragment(number=preview.number, missing=[]))


def _needed(kind: WebKind) -> list[str]:
    field_by_ask = {"rfa_type": "rfaTypeCode", "sub_type": "subTypeCode", "recipients": "to"}
    fields = [name for ask, name in field_by_ask.items() if ask in kind.asks]
    return [kind.organization_field, *fields, *(["disciplineCode"] if kind.name == "rfa" else [])]


def _number_request(kind: WebKind, form: FormValues) -> numbering.NumberRequest:
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
        revisions = await revisions_typed(form.context, session, form.values, tuple(KINDS.values()), project=project)
        return {"drawingRevisionPublicIds": revisions}


async def _form(register: DocumentRegister, page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    form = state.form
    return page.show(
        NewDocumentPage(
            kind=register.web,
            choices=await form_choices(page.context, session, kind=register.web, form=form),
            state=state,
            files=uploaded(form),
            # After another error the key must be new: the first document could be the reason for a warning.
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
    today: None = None  # a draft has its own dates


async def _draft_choices(
    session: AsyncSession, page: PageRequest, register: DocumentRegister, document: Any
) -> DraftChoices:
    project = document.project
    if register.web.is_sheet:
        place = await projects.find_project(session, public_id=project.public_id, pointer="/projectPublicId")
        return DraftChoices([], await people_of(session, place, str(document.originator.public_id)))
    detail = await projects.read_project(page.context, session, public_id=project.public_id)
    main = next(party.public_id for party in document.recipients if party.recipient_type == "TO")
    parties = {party.public_id: party for party in (*detail.organizations, *document.recipients)}
    return DraftChoices([party for key, party in parties.items() if key not in {main, document.originator.public_id}])


@router.get("/{path}/{public_id}/edit")
async def edit_form(page: CurrentPage, session: ReadSession, state: Shown, path: str, public_id: UUID) -> Response:
    register = register_at(path)
    envelope = await core.read(page.context, session, register.kind, public_id)
    page.set_project(envelope.data.project.public_id)
    return page.show(
        EditPage(
            kind=register.web,
            document=envelope.data,
            choices=await _draft_choices(session, page, register, envelope.data),
            etag=text(state.form, "version") or "" if state.error else core.etag(envelope),
            state=state.or_stored(form_of(register, envelope.data)),
        )
    )


@router.post("/{path}/{public_id}/edit")
async def edit(path: str, public_id: UUID, form: CurrentForm, services: Documents) -> Response:
    register = register_at(path)
    async with form.show_on_refusal(edit_form, path, public_id):
        payload = changes_of(register, form.values)
        payload |= await _drawings(register.web, form, id_of(form.text("project")))
        changes = form.order(register.kind.changes, payload)
        await form.confirm(register.kind.warnings, asked=changes, public_id=public_id)
        await core.edit(form.context, services, register.kind, public_id, changes, form.text("version"))
    return RedirectResponse(f"{register.web.url}/{public_id}", status_code=303)


def _plain(schema: type[Schema], form: FormValues) -> dict[str, object]:
    """Return the form's fields of the schema; an empty one is None."""
    names = [schema_field.alias for schema_field in schema.model_fields.values() if schema_field.alias]
    return {name: text(form, name) for name in names if name in form}


def _lists(web: WebKind, form: FormValues) -> dict[str, object]:
    lists: dict[str, object] = {}
    if web.is_sheet:
        lists["assignees"] = [
            _assignee(form, name, part) for name, part in form.items() if name.startswith("part-") and part
        ]
        return lists
    lists |= {"recipients": _recipients(form), "referencePublicIds": texts(form, "reference")}
    if "items" in web.asks:
        lists["items"] = [_item(form, document) for document in texts(form, "item")]
    return lists


def payload_of(register: DocumentRegister, form: FormValues) -> dict[str, object]:
    """Return the JSON body without empty fields."""
    web = register.web
    plain = {name: value for name, value in _plain(register.kind.new, form).items() if value is not None}
    defaults = {"correspondenceTypeCode": web.type_code} if web.types else {}
    defaults |= {"purpose": "FOR_INFORMATION"} if "purpose" in web.asks else {}
    return {**defaults, **plain, **_lists(web, form), "attachmentPublicIds": texts(form, "attachment")}


def changes_of(register: DocumentRegister, form: FormValues) -> dict[str, object]:
    """Return the changes of a draft; an empty field is removed from the document."""
    web = register.web
    shown = {"recipients": "to" in form, "assignees": any(name.startswith("part-") for name in form)}
    shown["items" if "items" in web.asks else "referencePublicIds"] = "picks" in form
    lists = {name: value for name, value in _lists(web, form).items() if shown.get(name)}
    return _plain(register.kind.changes, form) | lists


def form_of(register: DocumentRegister, document: Any) -> FormValues:
    values = document.model_dump(mode="json", by_alias=True, include=set(register.kind.changes.model_fields))
    values |= {register.web.due_field: document.due_date}
    fields = [(name, value) for name, value in values.items() if not isinstance(value, list)]
    fields += _assignees_of(document) if register.web.is_sheet else _parties_of(document)
    if "carried_drawings" in register.web.asks:
        fields += form_of_numbers((drawing.kind, drawing.drawing_number) for drawing in document.drawings)
    return ImmutableMultiDict([(name, "" if value is None else str(value)) for name, value in fields])


def _assignees_of(document: Any) -> Iterator[tuple[str, Any]]:
    for assignee in document.assignees:
        if assignee.user is not None:
            yield from (
                (f"part-{assignee.user.public_id}", assignee.kind),
                (f"due-{assignee.user.public_id}", assignee.due_date),
            )


def _parties_of(document: Any) -> Iterator[tuple[str, Any]]:
    main = "to"
    for item in document.recipients:
        yield ("cc" if item.recipient_type == "CC" else main, item.public_id)
        main = "alsoTo" if item.recipient_type == "TO" else main
    for item in document.references:
        yield from (("reference", item.public_id), ("referenceLabel", f"{item.document_number} {item.subject}"))
    if document.kind == "rfa":
        yield from form_of_items(document)
        return
    for item in getattr(document, "items", ()):
        at = item.document_public_id
        yield from (("item", at), ("itemLabel", f"{item.document_number} {item.subject}"))
        yield from ((f"copies-{at}", item.quantity), (f"note-{at}", item.remarks))


def _item(form: FormValues, document: str) -> dict[str, object]:
    result: dict[str, object] = {"documentPublicId": document}
    copies, note = text(form, f"copies-{document}"), text(form, f"note-{document}")
    return result | ({"quantity": number_or_text(copies)} if copies else {}) | ({"remarks": note} if note else {})


def _recipients(form: FormValues) -> list[dict[str, str]]:
    """Return the main recipient first; a duplicate keeps its first place."""
    type_by_organization: dict[str, str] = {}
    for kind, values in (("TO", texts(form, "to")), ("TO", texts(form, "alsoTo")), ("CC", texts(form, "cc"))):
        for value in values:
            type_by_organization.setdefault(value, kind)
    return [
        {"organizationPublicId": organization, "recipientType": kind}
        for organization, kind in type_by_organization.items()
    ]


def _assignee(form: FormValues, name: str, part: object) -> dict[str, object]:
    due = text(form, name.replace("part-", "due-", 1))
    return {"userPublicId": name.removeprefix("part-"), "kind": part} | ({"dueDate": due} if due else {})


def replying_organization(ctx: RequestContext, reading: core.DocumentReading) -> UUID | None:
    """Return the caller's first organization that received the document."""
    document = reading.shown.data
    is_issued = getattr(document, "issued_at", None) is not None and document.cancelled_at is None
    if not is_issued or not ctx.caller.may_anywhere(CREATE_LETTERS):
        return None
    own_keys = ctx.caller.organization_ids
    return next((public_id for key, public_id in reading.recipients if key in own_keys), None)


def reply_form(document: Any, replying_organization: UUID, language: str) -> list[tuple[str, str]]:
    fields = [
        ("projectPublicId", str(document.project.public_id)),
        ("contractPublicId", str(document.contract.public_id) if document.contract else ""),
        ("originatorOrganizationPublicId", str(replying_organization)),
        ("to", str(document.originator.public_id)),
        ("correspondenceTypeCode", "MEMO" if document.document_type == "MEMO" else "LETTER"),
        ("subject", reply_subject(document.subject, language)),
        ("reference", str(document.public_id)),
        ("referenceLabel", f"{document.document_number} {document.subject}"),
    ]
    return fields + ([("disciplineCode", document.discipline.code)] if document.discipline else [])


def reply_subject(subject: str, language: str) -> str:
    """Prefix the subject, unless it has a prefix already."""
    has_prefix = subject.startswith((_REPLY_PREFIX.th, _REPLY_PREFIX.en))
    return (subject if has_prefix else _REPLY_PREFIX.say(language) + subject)[:_LONGEST]
