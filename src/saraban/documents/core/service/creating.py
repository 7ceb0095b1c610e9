"""
Writing a new document: everything is checked first, then the number, the rows, the workflow, the event, the audit row
and the stored answer are committed together (ruling N9).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.audit import service as audit
from saraban.documents.core.domain.due import earliest_due
from saraban.documents.core.domain.kind import DRAFT, Kind
from saraban.documents.core.models import Correspondence, CorrespondenceRevision
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.schemas import NewDocument
from saraban.documents.core.schemas import Recipient as AskedRecipient
from saraban.documents.core.service.facts import facts_of
from saraban.documents.core.service.numbered import Order, issue
from saraban.documents.core.service.presenting import end_of_day, etag, full, reach
from saraban.documents.core.service.register import Register
from saraban.events import service as events
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import EVERYTHING, Scope
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import CHECK_INPUT, FieldProblem, Forbidden, Invalid, Text, invalid
from saraban.kit.errors import Kind as ErrorKind
from saraban.kit.idempotency import Answer
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.projects.service import OrganizationRef, ProjectRef
from saraban.workflow import service as workflow

_SELF = Text(
    "ไม่สามารถส่งเอกสารถึงองค์กรของตัวเองได้ ใช้ Circulation Sheet แทน",
    "A document cannot be sent to its own organization. Use a circulation sheet instead.",
)


class SentToSelf(Invalid):
    """A recipient is the originator itself (EC-CORR-003)."""

    kind, code = ErrorKind.INVALID, "CORRESPONDENCE_TO_SELF"
    says = _SELF
    recovery = (CHECK_INPUT, Text("สร้างใบเวียนภายในองค์กร", "Create a circulation sheet."))


class NotYourOrganization(Forbidden):
    """The originator is an organization that the caller does not act for."""

    code = "NOT_YOUR_ORGANIZATION"
    says = Text("คุณไม่ได้ปฏิบัติงานแทนองค์กรนี้", "You do not act for this organization.")
    recovery = (Text("เลือกองค์กรของคุณ", "Choose an organization of your own."),)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A new document with everything resolved and checked; only its number is missing."""

    register: Register
    order: NewDocument
    plan: numbering.Plan
    recipients: Sequence[tuple[OrganizationRef, str]]
    references: Sequence[int]
    contract_id: int | None


Complete = Callable[[AsyncSession, Correspondence, CorrespondenceRevision], Awaitable[None]]
Prepare = Callable[[AsyncSession], Awaitable[tuple[Sheet, Complete]]]


async def originator_of(
    session: AsyncSession, *, caller: Caller, project: ProjectRef, stated: UUID | None, pointer: str
) -> OrganizationRef:
    """
    This will give the organization a document is written for: the stated one, or the caller's own.

    :raises NotYourOrganization: when the caller acts for another one
    :raises Invalid: when none is stated and the caller has none, or when it takes no part in the project
    """
    if stated is None and caller.organization_id is None:
        raise invalid(pointer, "required", "จำเป็นต้องระบุองค์กรผู้ส่ง", "The originating organization is required.")
    public_id = stated or await repository.organization_public_id(session, organization_id=caller.organization_id or 0)
    found = await projects.find_member(session, project=project, public_id=public_id, pointer=pointer)
    if found.id not in caller.organization_ids and not caller.may(EVERYTHING, Scope()):
        raise NotYourOrganization(fields=[FieldProblem(pointer, "not_yours", NotYourOrganization.says)])
    return found


async def recipients_of(
    session: AsyncSession, *, project: ProjectRef, originator: OrganizationRef, asked: Sequence[AskedRecipient]
) -> list[tuple[OrganizationRef, str]]:
    """
    This will give the recipients in their order, the first TO being the main one.

    :raises SentToSelf: when one of them is the originator
    :raises Invalid: without a TO, with one named twice, with one that takes no part in the project
    """
    found: list[tuple[OrganizationRef, str]] = []
    for place, one in enumerate(asked):
        pointer = f"/recipients/{place}/organizationPublicId"
        organization = await projects.find_member(
            session, project=project, public_id=one.organization_public_id, pointer=pointer
        )
        if organization.id == originator.id:
            raise SentToSelf(fields=[FieldProblem(pointer, "self", _SELF)])
        if any(organization.id == other.id for other, _ in found):
            raise invalid(pointer, "duplicate", "ระบุผู้รับรายนี้ซ้ำ", "This recipient is named twice.")
        found.append((organization, one.recipient_type))
    if not any(recipient_type == "TO" for _, recipient_type in found):
        raise invalid("/recipients", "to_required", "ต้องมีผู้รับ (TO) อย่างน้อยหนึ่งราย", "At least one TO is needed.")
    return found


def check_due(due: date | None, document_date: date | None, *, today: date) -> None:
    """
    :raises Invalid: when the due date lies before today or before the document's own date
    """
    earliest = earliest_due(document_date, today=today)
    if due is not None and due < earliest:
        raise invalid(
            "/dueDate",
            "too_early",
            "กำหนดตอบต้องไม่ก่อนวันที่ {earliest}",
            "The due date must not be before {earliest}.",
            earliest=earliest.isoformat(),
        )


async def references_of(
    session: AsyncSession, *, caller: Caller, project: ProjectRef, asked: Sequence[UUID]
) -> list[int]:
    """
    :raises Invalid: when one is named twice, is of another project, or is not to be known of
    """
    rows = await repository.visible(session, reach=reach(caller), public_ids=asked)
    for place, public_id in enumerate(asked):
        pointer = f"/referencePublicIds/{place}"
        row = rows.get(public_id)
        if row is None or row.head.project_id != project.id:
            raise invalid(pointer, "unknown", "ไม่พบเอกสารอ้างอิงนี้", "The referenced document is not known here.")
        if public_id in asked[:place]:
            raise invalid(pointer, "duplicate", "ระบุเอกสารอ้างอิงนี้ซ้ำ", "This document is named twice.")
    return [rows[public_id].head.id for public_id in asked]


async def prepare(
    session: AsyncSession,
    register: Register,
    *,
    caller: Caller,
    order: NewDocument,
    type_code: str,
    rfa_type_code: str | None,
    now: datetime,
    zone: ZoneInfo,
) -> Sheet:
    """This will resolve and check everything of a new document that can be known before its number is drawn."""
    project = await projects.find_project(session, public_id=order.project_public_id, pointer="/projectPublicId")
    originator = await originator_of(
        session,
        caller=caller,
        project=project,
        stated=order.originator_organization_public_id,
        pointer="/originatorOrganizationPublicId",
    )
    recipients = await recipients_of(session, project=project, originator=originator, asked=order.recipients)
    check_due(order.due_date, order.document_date, today=local_date(now, zone))
    references = await references_of(session, caller=caller, project=project, asked=order.reference_public_ids)
    main = next(one for one, recipient_type in recipients if recipient_type == "TO")
    plan = await numbering.plan(
        session,
        caller=caller,
        request=numbering.NumberRequest(
            project_public_id=project.public_id,
            correspondence_type_code=type_code,
            originator_organization_public_id=originator.public_id,
            recipient_organization_public_id=main.public_id,
            contract_public_id=order.contract_public_id,
            sub_type_code=order.sub_type_code,
            rfa_type_code=rfa_type_code,
            discipline_code=order.discipline_code,
        ),
        now=now,
        zone=zone,
    )
    return Sheet(register, order, plan, recipients, references, contract_of(plan))


def contract_of(plan: numbering.Plan) -> int | None:
    """This will give the contract a document belongs to: the stated one, or that of its discipline or type."""
    owners = (plan.rfa_type, plan.discipline, plan.sub_type)
    found = [plan.contract.id] if plan.contract else [one.contract_id for one in owners if one]
    return found[0] if found else None


async def create(
    db: Database,
    allocator: numbering.Allocator,
    register: Register,
    *,
    caller: Caller,
    payload: object,
    prepare: Prepare,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> Answer:
    """
    This will write a document with its number, or give the answer of the request that wrote it already.

    :param prepare: checks the order and gives the sheet, with what the subtype writes beside it
    """

    async def ordered(session: AsyncSession) -> Order:
        sheet, complete = await prepare(session)

        async def write(session: AsyncSession, issued: numbering.Issued, public_id: UUID) -> Answer:
            row = await _write(session, sheet, complete, caller, public_id, issued, now, zone, address)
            return await _answer(session, register, caller, row, now, zone)

        async def recall(session: AsyncSession, issued: numbering.Issued) -> Answer:
            row = await _written(session, sheet, issued)
            return await _answer(session, register, caller, row, now, zone)

        return Order(sheet.plan, write, recall)

    return await issue(
        db,
        allocator,
        kind=register.kind.name,
        path=f"/{register.kind.path}",
        caller=caller,
        payload=payload,
        prepare=ordered,
        now=now,
        address=address,
        key=key,
    )


async def _written(session: AsyncSession, sheet: Sheet, issued: numbering.Issued) -> DocumentRow:
    public_id = await repository.by_number(session, project_id=sheet.plan.project.id, number=issued.number)
    rows = await repository.first_issue(session, public_id=public_id)
    return rows[0]


async def _answer(
    session: AsyncSession, register: Register, caller: Caller, row: DocumentRow, now: datetime, zone: ZoneInfo
) -> Answer:
    answer = await full(session, register, caller=caller, row=row, now=now, zone=zone)
    location = f"/api/v1/{register.kind.path}/{row.head.public_id}"
    return Answer(201, answer.model_dump(mode="json", by_alias=True), {"Location": location, "ETag": etag(answer)})


async def _write(
    session: AsyncSession,
    sheet: Sheet,
    complete: Complete,
    caller: Caller,
    public_id: UUID,
    issued: numbering.Issued,
    now: datetime,
    zone: ZoneInfo,
    address: str,
) -> DocumentRow:
    register = sheet.register
    head = await _write_head(session, sheet, caller, public_id, issued, now)
    revision = await _write_revision(session, sheet, caller, head, issued, now, zone)
    await complete(session, head, revision)
    await claim_files(
        session,
        caller=caller,
        public_ids=sheet.order.attachment_public_ids,
        revision_id=revision.id,
        pointer="/attachmentPublicIds",
        main_first=True,
        now=now,
    )
    await session.flush()
    row = (
        await repository.by_revision(
            session, reach=None, revision_ids=[revision.public_id], type_codes=register.kind.type_codes
        )
    )[0]
    await begin(session, register.kind, caller=caller, row=row, now=now, zone=zone)
    await tell(session, register.kind, "created", "create", caller=caller, row=row, address=address, now=now)
    return row


async def _write_head(
    session: AsyncSession, sheet: Sheet, caller: Caller, public_id: UUID, issued: numbering.Issued, now: datetime
) -> Correspondence:
    plan = sheet.plan
    head = Correspondence(
        public_id=public_id,
        correspondence_type_id=plan.type.id,
        correspondence_number=issued.number,
        number_uuid=issued.public_id,
        discipline_id=plan.discipline.id if plan.discipline else None,
        sub_type_id=plan.sub_type.id if plan.sub_type else None,
        project_id=plan.project.id,
        contract_id=sheet.contract_id,
        originator_id=plan.originator.id,
        created_at=now,
        created_by=caller.user_id,
    )
    await writes.add(session, head)
    await writes.add_recipients(
        session, document_id=head.id, recipients=[(organization.id, kind) for organization, kind in sheet.recipients]
    )
    await writes.add_references(session, document_id=head.id, targets=sheet.references)
    return head


async def _write_revision(
    session: AsyncSession,
    sheet: Sheet,
    caller: Caller,
    head: Correspondence,
    issued: numbering.Issued,
    now: datetime,
    zone: ZoneInfo,
) -> CorrespondenceRevision:
    order, kind = sheet.order, sheet.register.kind
    revision = CorrespondenceRevision(
        correspondence_id=head.id,
        correspondence_number=issued.number,
        revision_number=0,
        revision_label=issued.revision,
        is_current=True,
        correspondence_status_id=await repository.status_id(session, code=kind.status_code(DRAFT, None)),
        subject=order.subject,
        description=order.description,
        body=order.body,
        remarks=order.remarks,
        priority=order.priority,
        document_date=order.document_date or local_date(now, zone),
        due_date=end_of_day(order.due_date, zone),
        created_at=now,
        created_by=caller.user_id,
    )
    await writes.add(session, revision)
    return revision


async def claim_files(
    session: AsyncSession,
    *,
    caller: Caller,
    public_ids: Sequence[UUID],
    revision_id: int,
    pointer: str,
    main_first: bool,
    now: datetime,
) -> None:
    """This will make uploaded files permanent and attach them to a revision."""
    if public_ids:
        rows = await attachments.claim(session, caller=caller, public_ids=public_ids, pointer=pointer, now=now)
        await writes.link_files(
            session, revision_id=revision_id, attachment_ids=[row.id for row in rows], main_first=main_first
        )


async def begin(
    session: AsyncSession, kind: Kind, *, caller: Caller, row: DocumentRow, now: datetime, zone: ZoneInfo
) -> None:
    """This will start the workflow of a revision, in the transaction that writes it."""
    facts = await facts_of(session, kind, rows=[row], zone=zone)
    await workflow.start(
        session,
        code=kind.workflow_code,
        entity_type=kind.entity_type,
        facts=facts[str(row.revision.public_id)],
        caller=caller,
        now=now,
    )


async def tell(
    session: AsyncSession,
    kind: Kind,
    event: str,
    action: str,
    *,
    caller: Caller,
    row: DocumentRow,
    address: str,
    now: datetime,
    details: dict[str, object] | None = None,
) -> None:
    """This will record `document.<event>` and write the audit row `<kind>.<action>`."""
    said = {
        "documentNumber": row.revision.correspondence_number,
        "revision": row.revision.revision_label,
        **(details or {}),
    }
    await events.record(
        session,
        name=f"document.{event}",
        aggregate_type="document",
        aggregate_id=str(row.head.public_id),
        payload={
            "documentPublicId": str(row.head.public_id),
            "kind": kind.name,
            "subject": row.revision.subject,
            "projectPublicId": str(row.project.public_id),
            "actorPublicId": str(caller.public_id),
            **said,
        },
        now=now,
    )
    await audit.write(
        session,
        action=f"{kind.name}.{action}",
        caller=caller,
        entity_type=kind.name,
        entity_id=str(row.head.public_id),
        details=said,
        address=address,
        now=now,
    )
