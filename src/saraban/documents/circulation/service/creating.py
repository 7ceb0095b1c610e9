"""Writing a sheet: checked first, then its number, its rows and everybody's part in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import service as attachments
from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain.visibility import may_see
from saraban.documents.circulation.models import Circulation, CirculationRouting
from saraban.documents.circulation.repository import CirculationRow
from saraban.documents.circulation.schemas import CirculationAssignee, NewCirculation
from saraban.documents.circulation.service.news import record
from saraban.documents.circulation.service.presenting import etag, facts_of, full, reach
from saraban.documents.core import service as core
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.kit.clock import local_date
from saraban.kit.db import Database, violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.idempotency import OperationResult
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.workflow import service as workflow
from saraban.workflow.domain.registers import Matter

_ONE_SHEET = ("uq_circulation_per_organization", "circulations.correspondence_id")


class CirculationExists(DomainError):
    """An organization passes a document round once."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_EXISTS"
    says = Text("องค์กรของคุณมีใบเวียนของเอกสารนี้แล้ว", "Your organization already has a circulation of this document.")
    recovery = (Text("เปิดใบเวียนที่มีอยู่", "Open the existing circulation."),)


@dataclass(frozen=True, slots=True)
class _Checked:
    plan: numbering.Plan
    correspondence_id: int | None
    assignees: Sequence[tuple[int, str, date | None]]


async def create(
    db: Database,
    allocator: numbering.Allocator,
    *,
    caller: Caller,
    order: NewCirculation,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Write a draft sheet with its number.

    :raises SheetExists: when the organization passes this document round already
    :raises Invalid: naming the field; nothing has been written
    """

    async def prepare(session: AsyncSession) -> core.Order:
        checked = await _check(session, caller, order, now, zone)

        async def write(session: AsyncSession, issued: numbering.Issued, public_id: UUID) -> OperationResult:
            row = await _write(session, caller, order, checked, issued, public_id, now, address)
            return await _answer(session, caller, row, now, zone)

        async def recall(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            row = await repository.by_number(session, project_id=checked.plan.project.id, number=issued.number)
            return await _answer(session, caller, row, now, zone)

        fields = {"/originatorOrganizationPublicId": "/organizationPublicId"}
        return core.Order(checked.plan, write, recall, order.reservation_token, fields)

    return await core.issue(
        db,
        allocator,
        kind=domain.KIND,
        path=domain.PATH,
        caller=caller,
        payload=order.model_dump(mode="json", by_alias=True),
        prepare=prepare,
        now=now,
        address=address,
        key=key,
    )


async def _check(
    session: AsyncSession, caller: Caller, order: NewCirculation, now: datetime, zone: ZoneInfo
) -> _Checked:
    project = await projects.find_project(session, public_id=order.project_public_id, pointer="/projectPublicId")
    organization = await core.originator_of(
        session,
        caller=caller,
        project=project,
        stated=order.organization_public_id,
        pointer="/organizationPublicId",
    )
    plan = await numbering.plan(
        session,
        caller=caller,
        request=numbering.NumberRequest(
            project_public_id=project.public_id,
            correspondence_type_code=domain.TYPE_CODE,
            originator_organization_public_id=organization.public_id,
        ),
        now=now,
        zone=zone,
    )
    today = local_date(now, zone)
    check_day(order.deadline_date, today, "/deadlineDate")
    correspondence = await _document(session, caller, order, organization.id)
    return _Checked(
        plan,
        correspondence,
        await assignees_of(
            session,
            order.assignees,
            deadline=order.deadline_date,
            organization_id=organization.id,
            project_id=project.id,
            today=today,
        ),
    )


def check_day(day: date | None, today: date, pointer: str) -> None:
    """
    :raises Invalid: at `pointer`, for a day that has passed
    """
    if day is not None and day < today:
        raise invalid(
            pointer,
            "too_early",
            "กำหนดต้องไม่ก่อนวันนี้ ({today})",
            "This must not be before today ({today}).",
            today=today.isoformat(),
        )


async def _document(session: AsyncSession, caller: Caller, order: NewCirculation, organization_id: int) -> int | None:
    public_id = order.correspondence_public_id
    if public_id is None:
        return None
    row = (await core.visible(session, caller=caller, public_ids=[public_id])).get(public_id)
    if row is None or row.project.public_id != order.project_public_id:
        raise invalid(
            "/correspondencePublicId", "unknown", "ไม่พบเอกสารนี้ในโครงการ", "The document is not in this project."
        )
    if row.head.cancelled_at is not None:
        raise invalid("/correspondencePublicId", "cancelled", "เอกสารนี้ถูกยกเลิกแล้ว", "The document has been cancelled.")
    if await repository.has_circulation(session, correspondence_id=row.head.id, organization_id=organization_id):
        raise CirculationExists
    return row.head.id


async def assignees_of(
    session: AsyncSession,
    asked: Sequence[CirculationAssignee],
    *,
    deadline: date | None,
    organization_id: int,
    project_id: int,
    today: date,
) -> list[tuple[int, str, date | None]]:
    """
    :raises Invalid: naming who is no active member, may not see the sheets, is named twice, or is asked for too early a day
    """
    members = {member.public_id: member for member in await identity.users_of(session, frozenset({organization_id}))}
    people = await identity.load_callers(session, {one.user_public_id for one in asked} & members.keys())
    found: list[tuple[int, str, date | None]] = []
    for place, one in enumerate(asked):
        pointer = f"/assignees/{place}"
        member = members.get(one.user_public_id)
        if member is None:
            raise invalid(
                f"{pointer}/userPublicId",
                "unknown",
                "ไม่พบผู้ใช้นี้ในองค์กร หรือบัญชีถูกปิดแล้ว",
                "This is not an active member of the organization.",
            )
        if not may_see(reach(people[one.user_public_id]), organization=organization_id, project=project_id):
            raise invalid(
                f"{pointer}/userPublicId",
                "may_not_see",
                "ผู้ใช้นี้ไม่มีสิทธิ์ดูใบเวียนขององค์กร",
                "This person does not have permission to see the organization's circulations.",
            )
        if any(member.user_id == user_id for user_id, _, _ in found):
            raise invalid(f"{pointer}/userPublicId", "duplicate", "ระบุผู้รับเวียนรายนี้ซ้ำ", "This person is listed twice.")
        check_day(one.due_date, today, f"{pointer}/dueDate")
        due = (one.due_date or deadline) if one.kind in domain.MUST_ANSWER else None
        found.append((member.user_id, one.kind, due))
    return found


async def _write(
    session: AsyncSession,
    caller: Caller,
    order: NewCirculation,
    checked: _Checked,
    issued: numbering.Issued,
    public_id: UUID,
    now: datetime,
    address: str,
) -> CirculationRow:
    sheet = await _write_sheet(session, caller, order, checked, issued, public_id, now)
    await repository.add_parts(session, parts_of(sheet, checked.assignees, now))
    if order.attachment_public_ids:
        rows = await attachments.claim(
            session, caller=caller, public_ids=order.attachment_public_ids, pointer="/attachmentPublicIds", now=now
        )
        await repository.link_files(session, sheet_id=sheet.id, attachment_ids=[row.id for row in rows])
    row = (await repository.visible(session, reach=None, public_ids=[public_id]))[0]
    parts = (await repository.parts(session, sheet_ids=[sheet.id]))[sheet.id]
    await workflow.start(
        session,
        code=domain.WORKFLOW_CODE,
        entity_type=domain.ENTITY_TYPE,
        facts=facts_of(row, parts),
        caller=caller,
        now=now,
        matter=Matter(domain.KIND, sheet.project_id, domain.TYPE_CODE),
    )
    await record(session, "created", "create", caller=caller, row=row, address=address, now=now)
    return row


async def _write_sheet(
    session: AsyncSession,
    caller: Caller,
    order: NewCirculation,
    checked: _Checked,
    issued: numbering.Issued,
    public_id: UUID,
    now: datetime,
) -> Circulation:
    sheet = Circulation(
        public_id=public_id,
        project_id=checked.plan.project.id,
        correspondence_id=checked.correspondence_id,
        organization_id=checked.plan.originator.id,
        circulation_no=issued.number,
        number_uuid=issued.public_id,
        circulation_subject=order.subject,
        circulation_status_code=domain.STATUSES[domain.DRAFT],
        priority=order.priority,
        remarks=order.remarks,
        created_by_user_id=caller.user_id,
        deadline_date=order.deadline_date,
        created_at=now,
        updated_at=now,
    )
    try:
        await repository.add(session, sheet)
    except IntegrityError as error:
        if violates_constraint(error, *_ONE_SHEET):
            raise CirculationExists from error
        raise
    return sheet


def parts_of(
    sheet: Circulation, assignees: Sequence[tuple[int, str, date | None]], now: datetime
) -> list[CirculationRouting]:
    return [
        CirculationRouting(
            circulation_id=sheet.id,
            step_number=place,
            organization_id=sheet.organization_id,
            assigned_to=user_id,
            kind=kind,
            status="PENDING",
            due_date=due,
            created_at=now,
            updated_at=now,
        )
        for place, (user_id, kind, due) in enumerate(assignees, start=1)
    ]


async def _answer(
    session: AsyncSession, caller: Caller, row: CirculationRow, now: datetime, zone: ZoneInfo
) -> OperationResult:
    answer = await full(session, caller=caller, row=row, now=now, zone=zone)
    location = f"/api/v1{domain.PATH}/{row.sheet.public_id}"
    return OperationResult(
        201, answer.model_dump(mode="json", by_alias=True), {"Location": location, "ETag": etag(answer)}
    )
