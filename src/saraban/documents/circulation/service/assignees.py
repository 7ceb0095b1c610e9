"""The assignees of a circulation: who can be one, what they have answered, and what closes without an answer."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.domain import CirculationReach, may_see, reach_of
from saraban.documents.circulation.models import Circulation, CirculationRouting
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import AssigneeAnswer, CirculationAssignee, CirculationChanges
from saraban.documents.core import service as core
from saraban.documents.core.domain import field_changes, is_overdue
from saraban.identity import service as identity
from saraban.identity.domain.context import Caller
from saraban.kit.clock import local_date
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Forbidden, Text, invalid


class AlreadyAnswered(DomainError):
    """Each person on a sheet answers once."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_ANSWERED"
    says = Text("คุณตอบใบเวียนนี้แล้ว", "You have already answered this circulation.")
    recovery = (REFRESH,)


class NotAssigned(Forbidden):
    """Only those whom the sheet names answer it."""

    code = "CIRCULATION_NOT_ASSIGNED"
    says = Text("คุณไม่อยู่ในรายชื่อผู้รับเวียนของใบเวียนนี้", "You are not on the distribution of this circulation.")
    recovery = (Text("ติดต่อเจ้าหน้าที่ควบคุมเอกสารขององค์กร", "Contact the document controller of your organization."),)


def reach(caller: Caller) -> CirculationReach:
    return reach_of(caller.grants, caller.organization_ids)


def state_of(row: AssigneeRow) -> domain.AssigneeState:
    return domain.AssigneeState(row.routing.kind, row.routing.status)


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


def routings_of(
    circulation: Circulation, assignees: Sequence[tuple[int, str, date | None]], now: datetime
) -> list[CirculationRouting]:
    return [
        CirculationRouting(
            circulation_id=circulation.id,
            step_number=place,
            organization_id=circulation.organization_id,
            assigned_to=user_id,
            kind=kind,
            status="PENDING",
            due_date=due,
            created_at=now,
            updated_at=now,
        )
        for place, (user_id, kind, due) in enumerate(assignees, start=1)
    ]


async def take_answer(
    session: AsyncSession, own: AssigneeRow, *, status: str, comment: str | None, now: datetime
) -> None:
    """
    Close one person's part.

    :raises AlreadyAnswered: when it has been closed before
    """
    if own.routing.status not in domain.WAITING:
        raise AlreadyAnswered
    values = {"status": status, "comments": comment, "completed_at": now, "updated_at": now}
    if not await repository.answer(session, routing_ids=[own.routing.id], values=values):
        raise AlreadyAnswered


async def close_open(
    session: AsyncSession, assignees: Sequence[AssigneeRow], *, reason: str | None, now: datetime
) -> None:
    """Close what is still open as rejected; answers given stay (EC-CIRC-002)."""
    waiting = [one.routing.id for one in assignees if domain.is_open(state_of(one))]
    await repository.answer(
        session,
        routing_ids=waiting,
        values={"status": "REJECTED", "comments": reason, "completed_at": now, "updated_at": now},
    )


async def change_assignees(
    session: AsyncSession,
    row: CirculationRow,
    changes: CirculationChanges,
    now: datetime,
    zone: ZoneInfo,
) -> dict[str, dict[str, Any]]:
    """
    Ask these people, in this order; give what was and what is, for the audit trail.

    :raises NotADraft: once somebody has answered
    """
    asked = changes.assignees or []
    deadline = changes.deadline_date if "deadline_date" in changes.model_fields_set else row.circulation.deadline_date
    before = [
        _said(one.user.public_id if one.user else None, one.routing.kind, one.routing.due_date) for one in row.assignees
    ]
    after = [_said(one.user_public_id, one.kind, one.due_date) for one in asked]
    noted = field_changes({"assignees": before}, {"assignees": after})
    if noted:
        if any(one.routing.status != "PENDING" for one in row.assignees):
            raise core.NotADraft
        circulation = row.circulation
        people = await assignees_of(
            session,
            asked,
            deadline=deadline,
            organization_id=circulation.organization_id,
            project_id=circulation.project_id,
            today=local_date(now, zone),
        )
        await repository.replace_assignees(
            session, circulation_id=circulation.id, rows=routings_of(circulation, people, now)
        )
    return noted


def _said(person: UUID | None, kind: str, due: date | None) -> str:
    return f"{kind} {person} {due or ''}".rstrip()


def assignee_answer(row: AssigneeRow, today: date) -> AssigneeAnswer:
    routing = row.routing
    closed = not domain.is_open(state_of(row))
    return AssigneeAnswer(
        public_id=routing.public_id,
        user=core.person(row.user) if row.user else None,
        is_active=row.user is not None and row.user.is_active,
        kind=routing.kind,
        status=routing.status,
        due_date=routing.due_date,
        is_overdue=is_overdue(routing.due_date, today=today, closed=closed),
        comment=routing.comments,
        completed_at=routing.completed_at,
    )
