"""Checks and rows of new documents, and rights to change them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import (
    DRAFT,
    KindRules,
    date_faults,
    earliest_due,
    end_of_day,
    may_write_in,
    reach,
    sender_number_key,
    start_of_day,
)
from saraban.documents.core.models import Document
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository.rows import DocumentHead, OrganizationName
from saraban.documents.core.repository.workflow_subject import NOT_WRITTEN, SubjectRow
from saraban.documents.core.schemas import NewDocument
from saraban.documents.core.schemas import Recipient as StatedRecipient
from saraban.documents.core.service.document_change import started_by
from saraban.documents.core.service.kind import UnnumberedDraft
from saraban.documents.core.service.workflow_subject import SubjectContext
from saraban.identity.domain.context import EVERYTHING, NotYourOrganization, RequestContext, Scope
from saraban.kit.clock import local_date
from saraban.kit.dates import date_in_words
from saraban.kit.errors import (
    CHECK_INPUT,
    DomainError,
    ErrorKind,
    FieldProblem,
    Forbidden,
    Invalid,
    Text,
    invalid,
    unknown,
)
from saraban.kit.ids import new_id
from saraban.kit.text import sort_key
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.workflow import service as workflow

_SELF = Text(
    "ไม่สามารถส่งเอกสารถึงองค์กรของตัวเองได้ ใช้ Circulation Sheet แทน",
    "A document cannot be sent to its own organization. Use a circulation sheet instead.",
)


class SentToSelf(Invalid):
    """A recipient is the originating organization itself (EC-CORR-003)."""

    kind, code = ErrorKind.INVALID, "CORRESPONDENCE_TO_SELF"
    says = _SELF
    recovery = (CHECK_INPUT, Text("สร้างใบเวียนภายในองค์กร", "Create a circulation sheet."))


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDraft(UnnumberedDraft):
    """
    :param taking_part: parties of the contract, else of the project
    :param own: data of the subtype
    """

    order: NewDocument
    recipients: Sequence[tuple[projects.Party, str]]
    references: Sequence[int]
    contract_id: int | None
    of_project: Sequence[projects.Party]
    taking_part: Sequence[projects.Party]
    own: object = None


def stated_originator(ctx: RequestContext, stated: UUID | None, pointer: str) -> UUID:
    """:raises Invalid: if neither is given"""
    originator = stated or ctx.caller.organization_public_id
    if originator is None:
        raise invalid(pointer, "required", "จำเป็นต้องระบุองค์กรผู้ส่ง", "The originating organization is required.")
    return originator


async def plan_of(
    ctx: RequestContext, session: AsyncSession, request: numbering.NumberRequest, pointers: Mapping[str, str]
) -> numbering.Plan:
    """
    :param pointers: the schema's pointers, by those of the number request
    :raises NotYourOrganization, Invalid:
    """
    pointer = "/originatorOrganizationPublicId"
    try:
        plan = await numbering.plan(ctx, session, request)
        if plan.originator.id not in ctx.caller.organization_ids and not ctx.caller.may(EVERYTHING, Scope()):
            raise NotYourOrganization.at(pointer)
    except DomainError as refusal:
        refusal.fields = tuple(
            replace(problem, pointer=pointers.get(problem.pointer, problem.pointer)) for problem in refusal.fields
        )
        raise
    return plan


def check_takes_part(plan: numbering.Plan, of_project: Sequence[projects.Party], pointer: str) -> None:
    """:raises Invalid: if the originator has left since the plan was cached"""
    if all(party.id != plan.originator.id for party in of_project):
        raise unknown(pointer, str(plan.originator.public_id))


def main_recipient(originator: UUID, stated: Sequence[StatedRecipient]) -> int:
    """
    Return the position of the first TO.

    :raises SentToSelf:
    :raises Invalid: without a TO, or with a recipient listed twice
    """
    organizations = [recipient.organization_public_id for recipient in stated]
    for place, organization in enumerate(organizations):
        pointer = f"/recipients/{place}/organizationPublicId"
        if organization == originator:
            raise SentToSelf(fields=[FieldProblem(pointer, "self", _SELF)])
        if organization in organizations[:place]:
            raise invalid(pointer, "duplicate", "ระบุผู้รับรายนี้ซ้ำ", "This recipient is listed twice.")
    for place, recipient in enumerate(stated):
        if recipient.recipient_type == "TO":
            return place
    raise invalid("/recipients", "to_required", "ต้องมีผู้รับ (TO) อย่างน้อยหนึ่งราย", "At least one TO recipient is required.")


def recipients_among(
    of_project: Sequence[projects.Party], stated: Sequence[StatedRecipient]
) -> list[tuple[projects.Party, str]]:
    """:raises Invalid: for an organization outside the project"""
    parties = {party.public_id: party for party in of_project}
    for place, recipient in enumerate(stated):
        if recipient.organization_public_id not in parties:
            raise unknown(f"/recipients/{place}/organizationPublicId", str(recipient.organization_public_id))
    return [(parties[recipient.organization_public_id], recipient.recipient_type) for recipient in stated]


def check_due(
    due: date | None, document_date: date | None, *, today: date, incoming: bool = False, sent: date | None = None
) -> None:
    """:raises Invalid: if the due date is before `earliest_due`"""
    earliest = earliest_due(document_date, today=today, incoming=incoming, sent=sent)
    if due is not None and earliest is not None and due < earliest:
        raise invalid(
            "/dueDate",
            "too_early",
            f"กำหนดตอบต้องไม่ก่อนวันที่ {date_in_words(earliest, 'th')}",
            f"The due date must not be before {date_in_words(earliest, 'en')}.",
        )


_DATE_FAULTS = {
    "too_late": Text("วันที่นี้อยู่ในอนาคต กรุณาตรวจสอบปี", "This date is in the future. Check the year."),
    "before_sender": Text("วันที่รับต้องไม่ก่อนวันที่ของผู้ส่ง", "The date received cannot be before the sender's date."),
}


def check_dates(*, document: date | None, sent: date | None, received: date | None, today: date) -> None:
    """:raises Invalid: names each date with a fault"""
    faults = date_faults(document=document, sent=sent, received=received, today=today)
    if faults:
        fields = [FieldProblem(f"/{name}", code, _DATE_FAULTS[code]) for name, code in faults.items()]
        raise Invalid("The dates do not agree.", fields=fields)


async def references_of(
    ctx: RequestContext, session: AsyncSession, *, project: ProjectRef, stated: Sequence[UUID]
) -> list[int]:
    """:raises Invalid: for a document that is hidden, of another project, or listed twice"""
    rows = await repository.visible(session, reach=reach(ctx.caller), public_ids=stated)
    for place, public_id in enumerate(stated):
        pointer = f"/referencePublicIds/{place}"
        row = rows.get(public_id)
        if row is None or row.document.project_id != project.id:
            raise invalid(pointer, "unknown", "ไม่พบเอกสารอ้างอิงนี้", "The referenced document was not found.")
        if public_id in stated[:place]:
            raise invalid(pointer, "duplicate", "ระบุเอกสารอ้างอิงนี้ซ้ำ", "This document is listed twice.")
    return [rows[public_id].document.id for public_id in stated]


async def check(
    ctx: RequestContext,
    session: AsyncSession,
    rules: KindRules,
    order: NewDocument,
    type_codes: tuple[str, str | None],
) -> DocumentDraft:
    pointer = "/originatorOrganizationPublicId"
    originator = stated_originator(ctx, order.originator_organization_public_id, pointer)
    main = main_recipient(originator, order.recipients)
    today = local_date(ctx.now, ctx.zone)
    check_dates(document=order.document_date, sent=order.sender_date, received=order.received_date, today=today)
    incoming = bool(order.sender_number and order.received_date)
    check_due(order.due_date, order.document_date, today=today, incoming=incoming, sent=order.sender_date)
    plan = await plan_of(
        ctx,
        session,
        numbering.NumberRequest(
            project_public_id=order.project_public_id,
            correspondence_type_code=type_codes[0],
            originator_organization_public_id=originator,
            recipient_organization_public_id=order.recipients[main].organization_public_id,
            contract_public_id=order.contract_public_id,
            sub_type_code=order.sub_type_code,
            rfa_type_code=type_codes[1],
            discipline_code=order.discipline_code,
        ),
        {"/recipientOrganizationPublicId": f"/recipients/{main}/organizationPublicId"},
    )
    project, contract_id = plan.project, plan.parties.contract_id
    code, matter = started_by(rules, project.id, (plan.rfa_type or plan.type).code)
    # Plans are cached: read the parties again.
    of_project, taking_part = await projects.list_all_parties(session, project_id=project.id, contract_id=contract_id)
    check_takes_part(plan, of_project, pointer)
    return DocumentDraft(
        order=order,
        plan=plan,
        recipients=recipients_among(of_project, order.recipients),
        references=await references_of(ctx, session, project=project, stated=order.reference_public_ids),
        contract_id=contract_id,
        of_project=of_project,
        taking_part=taking_part,
        starting=await workflow.starting(session, code=code, matter=matter),
        reservation_token=order.reservation_token,
    )


def check_party(draft: DocumentDraft) -> None:
    """:raises Invalid: if the originator may not write in the contract"""
    if draft.contract_id is None:
        return
    plan, of_contract, of_project = draft.plan, projects.by_role(draft.taking_part), projects.by_role(draft.of_project)
    if not may_write_in(plan.originator.id, of_contract=of_contract, of_project=of_project):
        raise invalid(
            _contract_pointer(plan),
            "not_a_party",
            "{organization} ไม่ใช่คู่สัญญาของสัญญานี้ จึงออกเอกสารในสัญญานี้ไม่ได้",
            "{organization} is not a party to this contract and cannot create documents in it.",
            organization=plan.originator.code,
        )


def _contract_pointer(plan: numbering.Plan) -> str:
    if plan.contract:
        return "/contractPublicId"
    return "/disciplineCode" if plan.discipline else "/subTypeCode"


@dataclass(frozen=True, slots=True)
class NewRows:
    document: int
    revision: int


async def insert(
    ctx: RequestContext, session: AsyncSession, rules: KindRules, draft: DocumentDraft, issued: numbering.Issued
) -> tuple[NewRows, SubjectContext]:
    """Insert the rows that every kind shares."""
    public_id = new_id()
    document = await repository.create_document(session, _document_row(ctx, draft, issued))
    recipients = [(organization.id, kind) for organization, kind in draft.recipients]
    await repository.add_recipients(session, document_id=document, recipients=recipients)
    await repository.add_references(session, document_id=document, targets=draft.references)
    row = {"uuid": public_id, "correspondence_id": document, **_revision_row(ctx, draft, issued)}
    revision = await repository.create_revision(session, row, status=rules.status_code(DRAFT, None))
    return NewRows(document, revision), _new_subject(ctx, draft, public_id, issued)


def _new_subject(ctx: RequestContext, draft: DocumentDraft, revision: UUID, issued: numbering.Issued) -> SubjectContext:
    plan, order = draft.plan, draft.order
    row = SubjectRow(
        document_id=NOT_WRITTEN,
        public_id=draft.public_id,
        project_id=plan.project.id,
        contract_id=draft.contract_id,
        originator_id=plan.originator.id,
        revision_id=NOT_WRITTEN,
        revision_public_id=revision,
        author_id=ctx.caller.user_id,
        number=issued.number,
        label=issued.revision,
        subject=order.subject,
        priority=order.priority,
        due_date=end_of_day(order.due_date, ctx.zone),
        issued_date=None,
        type_code=plan.type.code,
        project_public_id=plan.project.public_id,
        project_code=plan.project.code,
        originator_public_id=plan.originator.public_id,
        originator_code=plan.originator.code,
        discipline_code=plan.discipline.code if plan.discipline else None,
    )
    recipients = [
        repository.RecipientRow(OrganizationName(party.id, party.public_id, party.code), kind)
        for party, kind in draft.recipients
    ]
    return SubjectContext(row, recipients, projects.by_role(draft.taking_part), draft.taking_part)


def _document_row(ctx: RequestContext, draft: DocumentDraft, issued: numbering.Issued) -> dict[str, object]:
    plan = draft.plan
    return {
        "uuid": draft.public_id,
        "correspondence_type_id": plan.type.id,
        "correspondence_number": issued.number,
        "number_uuid": issued.public_id,
        "discipline_id": plan.discipline.id if plan.discipline else None,
        "sub_type_id": plan.sub_type.id if plan.sub_type else None,
        "project_id": plan.project.id,
        "contract_id": draft.contract_id,
        "originator_id": plan.originator.id,
        "created_at": ctx.now,
        "created_by": ctx.caller.user_id,
    }


def _revision_row(ctx: RequestContext, draft: DocumentDraft, issued: numbering.Issued) -> dict[str, object]:
    order = draft.order
    return {
        "correspondence_number": issued.number,
        "number_sort": sort_key(issued.number),
        "revision_number": 0,
        "revision_label": issued.revision,
        "is_current": True,
        "subject": order.subject,
        "description": order.description,
        "body": order.body,
        "remarks": order.remarks,
        "priority": order.priority,
        "document_date": order.document_date or local_date(ctx.now, ctx.zone),
        "sender_number": order.sender_number,
        "sender_number_key": sender_number_key(order.sender_number),
        "sender_date": order.sender_date,
        "received_date": start_of_day(order.received_date, ctx.zone),
        "due_date": end_of_day(order.due_date, ctx.zone),
        "created_at": ctx.now,
        "created_by": ctx.caller.user_id,
    }


ADMIN_EDIT = "document.admin_edit"
ORG_ADMIN = "Org Admin"


def home_scope(ctx: RequestContext, document: Document | DocumentHead) -> Scope:
    """
    Return the scope of rights to change a document.

    A contract role counts for the originator's people only: the consultant does not change the contractor's documents.
    """
    contract = document.contract_id if document.originator_id in ctx.caller.organization_ids else None
    return Scope(frozenset({document.originator_id}), document.project_id, contract)


def require_edit(ctx: RequestContext, rules: KindRules, document: Document | DocumentHead) -> None:
    """:raises Forbidden:"""
    ctx.caller.require(rules.edit, home_scope(ctx, document))


def require_create(ctx: RequestContext, rules: KindRules, document: Document | DocumentHead) -> None:
    """:raises Forbidden:"""
    ctx.caller.require(rules.create, home_scope(ctx, document))


def may_withdraw(ctx: RequestContext, document: Document | DocumentHead) -> bool:
    scope = home_scope(ctx, document)
    by_role = any(grant.role == ORG_ADMIN and grant.covers(scope) for grant in ctx.caller.grants)
    return by_role or ctx.caller.may(ADMIN_EDIT, scope)


def require_withdraw(ctx: RequestContext, document: Document | DocumentHead) -> None:
    """:raises Forbidden:"""
    if not may_withdraw(ctx, document):
        raise Forbidden(f"The permission {ADMIN_EDIT} is needed here.")
