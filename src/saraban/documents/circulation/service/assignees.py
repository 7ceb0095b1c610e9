"""Assignees of a circulation, their answers, and the subject for the workflow."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.domain.changes import field_changes
from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain import RoutingStatus, may_see, reach
from saraban.documents.circulation.models import Circulation, CirculationRouting
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import AssigneeAnswer, CirculationAssignee, CirculationChanges
from saraban.documents.core import service as core
from saraban.documents.core.domain import is_overdue
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.schemas import PersonRef
from saraban.kit.clock import local_date
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Forbidden, Text, invalid
from saraban.workflow import service as workflow
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.service.delegations import delegators_of


class AlreadyAnswered(DomainError):
    """Each assignee of a circulation answers once."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_ANSWERED"
    says = Text("คุณตอบใบเวียนนี้แล้ว", "You have already answered this circulation.")
    recovery = (REFRESH,)


class NotAssigned(Forbidden):
    """Only assignees can answer a circulation."""

    code = "CIRCULATION_NOT_ASSIGNED"
    says = Text("คุณไม่อยู่ในรายชื่อผู้รับเวียนของใบเวียนนี้", "You are not on the distribution of this circulation.")
    recovery = (Text("ติดต่อเจ้าหน้าที่ควบคุมเอกสารขององค์กร", "Contact the document controller of your organization."),)


def find_part(
    person: Caller, assignees: Sequence[AssigneeRow], reassigned_to: Sequence[PersonRef] = ()
) -> AssigneeRow | None:
    """Return the person's part, or the reassigned part of an assignee who left."""
    part = next((row for row in assignees if row.routing.assigned_to == person.user_id), None)
    if part is None and any(assignee.public_id == person.public_id for assignee in reassigned_to):
        return next((row for row in assignees if not row.is_active and domain.is_open(row.routing.status)), None)
    return part


def check_day(day: date | None, today: date, pointer: str) -> None:
    """:raises Invalid: at `pointer`, for a past day"""
    if day is not None and day < today:
        raise invalid(
            pointer,
            "too_early",
            "กำหนดต้องไม่ก่อนวันนี้ ({today})",
            "This must not be before today ({today}).",
            today=today.isoformat(),
        )


async def check_assignees(
    session: AsyncSession,
    requested: Sequence[CirculationAssignee],
    *,
    deadline: date | None,
    organization_id: int,
    project_id: int,
    today: date,
) -> list[tuple[int, str, date | None]]:
    """:raises Invalid:"""
    members = {member.public_id: member for member in await identity.users_of(session, frozenset({organization_id}))}
    public_ids = {assignee.user_public_id for assignee in requested} & members.keys()
    people = await identity.load_callers(session, public_ids)
    checked: list[tuple[int, str, date | None]] = []
    for index, assignee in enumerate(requested):
        pointer = f"/assignees/{index}"
        member = members.get(assignee.user_public_id)
        if member is None:
            raise invalid(
                f"{pointer}/userPublicId",
                "unknown",
                "ไม่พบผู้ใช้นี้ในองค์กร หรือบัญชีถูกปิดแล้ว",
                "This is not an active member of the organization.",
            )
        if not may_see(reach(people[assignee.user_public_id]), organization=organization_id, project=project_id):
            raise invalid(
                f"{pointer}/userPublicId",
                "may_not_see",
                "ผู้ใช้นี้ไม่มีสิทธิ์ดูใบเวียนขององค์กร",
                "This person does not have permission to see the organization's circulations.",
            )
        if any(member.user_id == user_id for user_id, _, _ in checked):
            raise invalid(f"{pointer}/userPublicId", "duplicate", "ระบุผู้รับเวียนรายนี้ซ้ำ", "This person is listed twice.")
        check_day(assignee.due_date, today, f"{pointer}/dueDate")
        due = (assignee.due_date or deadline) if assignee.kind in domain.MUST_ANSWER else None
        checked.append((member.user_id, assignee.kind, due))
    return checked


def new_routings(
    circulation: Circulation, assignees: Sequence[tuple[int, str, date | None]], now: datetime
) -> list[CirculationRouting]:
    return [
        CirculationRouting(
            circulation_id=circulation.id,
            step_number=place,
            organization_id=circulation.organization_id,
            assigned_to=user_id,
            kind=kind,
            status=RoutingStatus.PENDING,
            due_date=due,
            created_at=now,
            updated_at=now,
        )
        for place, (user_id, kind, due) in enumerate(assignees, start=1)
    ]


async def take_answer(
    session: AsyncSession, part: AssigneeRow, *, status: str, comment: str | None, now: datetime
) -> None:
    """:raises AlreadyAnswered:"""
    if part.routing.status not in domain.WAITING:
        raise AlreadyAnswered
    values = {"status": status, "comments": comment, "completed_at": now, "updated_at": now}
    if not await repository.answer(session, routing_ids=[part.routing.id], values=values):
        raise AlreadyAnswered


async def reject_open_parts(
    session: AsyncSession, assignees: Sequence[AssigneeRow], *, reason: str | None, now: datetime
) -> None:
    """Reject open parts; answers given stay (EC-CIRC-002)."""
    open_ids = [assignee.routing.id for assignee in assignees if domain.is_open(assignee.routing.status)]
    await repository.answer(
        session,
        routing_ids=open_ids,
        values={"status": RoutingStatus.REJECTED, "comments": reason, "completed_at": now, "updated_at": now},
    )


async def change_assignees(
    session: AsyncSession,
    row: CirculationRow,
    changes: CirculationChanges,
    now: datetime,
    zone: ZoneInfo,
) -> dict[str, dict[str, Any]]:
    """:raises NotADraft: once somebody has answered"""
    requested = changes.assignees or []
    deadline = changes.deadline_date if "deadline_date" in changes.model_fields_set else row.circulation.deadline_date
    before = [
        _describe(old.user.public_id if old.user else None, old.routing.kind, old.routing.due_date)
        for old in row.assignees
    ]
    after = [_describe(new.user_public_id, new.kind, new.due_date) for new in requested]
    changed = field_changes({"assignees": before}, {"assignees": after})
    if changed:
        if any(old.routing.status != RoutingStatus.PENDING for old in row.assignees):
            raise core.NotADraft
        circulation = row.circulation
        people = await check_assignees(
            session,
            requested,
            deadline=deadline,
            organization_id=circulation.organization_id,
            project_id=circulation.project_id,
            today=local_date(now, zone),
        )
        await repository.replace_assignees(
            session, circulation_id=circulation.id, rows=new_routings(circulation, people, now)
        )
    return changed


def _describe(person: UUID | None, kind: str, due: date | None) -> str:
    return f"{kind} {person} {due or ''}".rstrip()


def assignee_answer(row: AssigneeRow, today: date) -> AssigneeAnswer:
    routing = row.routing
    closed = not domain.is_open(routing.status)
    return AssigneeAnswer(
        public_id=routing.public_id,
        user=core.person(row.user) if row.user else None,
        is_active=row.is_active,
        kind=routing.kind,
        status=routing.status,
        due_date=routing.due_date,
        is_overdue=is_overdue(routing.due_date, today=today, closed=closed),
        comment=routing.comments,
        completed_at=routing.completed_at,
    )


def scope_of(row: CirculationRow) -> Scope:
    return Scope(frozenset({row.circulation.organization_id}), row.circulation.project_id)


async def assignee_to_answer(
    ctx: RequestContext,
    session: AsyncSession,
    row: CirculationRow,
    *,
    delegator: UUID | None,
    envelope: workflow.Envelope,
) -> tuple[Caller, AssigneeRow]:
    """Choose the caller's own part while it is open, else a delegator's part."""
    part = find_part(ctx.caller, row.assignees, envelope.waiting_for.people)
    if delegator == ctx.caller.public_id or (
        delegator is None and part is not None and domain.is_open(part.routing.status)
    ):
        return ctx.caller, _require_part(ctx.caller, row, part)
    code = envelope.workflow_code
    seats = await delegators_of(ctx, session, workflow_code=code, project_id=row.circulation.project_id)
    if delegator is not None:
        seat = delegation.seat_of(seats, delegator)
        return seat, _require_part(seat, row, find_part(seat, row.assignees))
    delegated = [
        (seat, lent) for seat in seats if (lent := find_part(seat, row.assignees)) and may_answer(seat, row, lent)
    ]
    if len(delegated) > 1:
        raise delegation.several([seat for seat, _ in delegated])
    return delegated[0] if delegated else (ctx.caller, _require_part(ctx.caller, row, part))


def may_answer(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    return domain.is_open(part.routing.status) and _is_permitted(person, row, part)


def _is_permitted(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    scope = scope_of(row)
    return any(person.may(permission, scope) for permission in domain.rights_to_answer(part.routing.kind))


def _require_part(person: Caller, row: CirculationRow, part: AssigneeRow | None) -> AssigneeRow:
    if part is None:
        raise NotAssigned
    if not _is_permitted(person, row, part):
        raise Forbidden(f"The permission {domain.rights_to_answer(part.routing.kind)[0]} is needed here.")
    return part


async def list_represented(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow, parts: Sequence[AssigneeRow], *, workflow_code: str
) -> tuple[PersonRef, ...]:
    if not any(domain.is_open(part.routing.status) for part in parts):
        return ()
    seats = await delegators_of(ctx, session, workflow_code=workflow_code, project_id=row.circulation.project_id)
    return tuple(
        PersonRef.model_validate(seat)
        for seat in seats
        if (part := find_part(seat, parts)) and may_answer(seat, row, part)
    )


def facts_of(row: CirculationRow) -> workflow.SubjectFacts:
    return subject_facts(
        row.circulation,
        [assignee.routing for assignee in row.assignees],
        (row.project.public_id, row.project.project_code),
        (row.organization.public_id, row.organization.organization_code),
    )


def subject_facts(
    circulation: Circulation,
    routings: Sequence[CirculationRouting],
    project: tuple[UUID, str],
    organization: tuple[UUID, str],
) -> workflow.SubjectFacts:
    assignee_ids = frozenset(
        routing.assigned_to for routing in routings if routing.assigned_to and domain.is_open(routing.status)
    )
    return workflow.SubjectFacts(
        entity_id=str(circulation.public_id),
        scope=Scope(frozenset({circulation.organization_id}), circulation.project_id),
        originator_organization_id=circulation.organization_id,
        recipient_organization_ids=frozenset(),
        parties={},
        submitter_user_id=circulation.created_by_user_id,
        assignee_user_ids=assignee_ids,
        kind=domain.KIND,
        public_id=circulation.public_id,
        number=circulation.circulation_no,
        title=circulation.circulation_subject,
        due_date=circulation.deadline_date,
        priority=circulation.priority,
        context={
            "documentType": domain.TYPE_CODE,
            "projectPublicId": str(project[0]),
            "projectCode": project[1],
            "originatorCode": organization[1],
            "openRoutings": domain.still_to_answer((routing.kind, routing.status) for routing in routings),
        },
        organizations={circulation.organization_id: organization},
        edit_permission=domain.CREATE,
        seen_by=lambda person, _state: may_see(
            reach(person), organization=circulation.organization_id, project=circulation.project_id
        ),
        open_to=lambda organization_id, _state: organization_id == circulation.organization_id,
    )


@dataclass(frozen=True)
class CirculationSubject:
    index: core.ReachIndex

    @property
    def entity_type(self) -> str:
        return domain.ENTITY_TYPE

    async def facts(
        self, session: AsyncSession, *, caller: Caller, entity_ids: Collection[str]
    ) -> dict[str, workflow.SubjectFacts]:
        rows = await repository.visible(session, reach=reach(caller), public_ids=core.ids_of(entity_ids))
        return {row.entity_id: facts_of(row) for row in rows}

    async def apply(self, session: AsyncSession, taken: workflow.SubjectStep) -> bool:
        step, now = taken.step, taken.now
        row = (await repository.visible(session, reach=None, public_ids=[UUID(taken.entity_id)]))[0]
        status = domain.status_code(step.next_state, ended=step.terminal, outcome=taken.meaning.outcome)
        values: dict[str, Any] = {"circulation_status_code": status, "updated_at": now}
        if status == domain.STATUSES[domain.ROUTING] and row.circulation.submitted_at is None:
            values["submitted_at"] = now
        if step.terminal:
            values["closed_at"] = now
        await repository.change(session, circulation_id=row.circulation.id, values=values)
        is_open = not step.terminal and row.circulation.closed_at is None
        await self.index.follow(session, documents=[row.circulation.id], code=status, is_open=is_open)
        if step.action == "respond":
            part = find_part(taken.caller, row.assignees)
            if part is None:
                raise NotAssigned
            await take_answer(session, part, status=RoutingStatus.COMPLETED, comment=step.comment, now=now)
        if status in domain.WITHOUT_ANSWERS or (step.forced and step.terminal):
            await reject_open_parts(session, row.assignees, reason=step.comment, now=now)
        return True  # other assignees can still answer
