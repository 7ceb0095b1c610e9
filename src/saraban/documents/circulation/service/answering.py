"""A person's answer in a sheet; the part changes at once, the sheet moves by its workflow."""

from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import AssigneeResponse
from saraban.documents.circulation.service.news import record
from saraban.documents.circulation.service.presenting import envelopes, etag, facts_of, full, part_of
from saraban.documents.circulation.service.reading import find
from saraban.documents.core import service as core
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Forbidden, Text, invalid
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.workflow import service as workflow
from saraban.workflow.domain import acting
from saraban.workflow.runtime.service.delegated_rights import delegators_of


class NotRouting(DomainError):
    """Answers are taken while the sheet is passed round, not before and not after."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_NOT_ROUTING"
    says = Text("ใบเวียนนี้ไม่ได้อยู่ระหว่างเวียน", "This circulation is not in progress.")
    recovery = (REFRESH,)


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


async def current(
    session: AsyncSession, *, caller: Caller, public_id: UUID
) -> tuple[CirculationRow, list[AssigneeRow], workflow.Envelope | None]:
    """
    Hold a sheet for a change and give it as it stands now; no step is taken until the change is done.

    :raises NotFound: also for a sheet of another organization
    :raises DocumentIsCancelled: when there is nothing left to change
    """
    row = await find(session, caller=caller, public_id=public_id)
    # A step holds the instance and changes the sheet; in another order the two would wait for each other.
    await workflow.lock(session, entity_type=domain.ENTITY_TYPE, entity_ids=[str(public_id)])
    await repository.lock(session, sheet_id=row.sheet.id)
    row = await find(session, caller=caller, public_id=public_id)
    if row.sheet.cancelled_at is not None:
        raise core.DocumentIsCancelled
    parts = await repository.parts(session, sheet_ids=[row.sheet.id])
    where = await envelopes(session, caller=caller, rows=[row], parts=parts)
    return row, parts[row.sheet.id], where.get(str(public_id))


async def respond(
    db: Database,
    *,
    caller: Caller,
    public_id: UUID,
    response: AssigneeResponse,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None = None,
) -> OperationResult:
    """
    Record the caller's answer, or that of somebody who is away and has delegated it to the caller.

    :raises NotAssigned: when the sheet has no part for the caller
    :raises Invalid: when several have delegated it to the caller, and none is named
    :raises NotRouting: before it was started and after it was closed
    :raises AlreadyAnswered: the second time
    """

    async def run(remember: Remember) -> OperationResult:
        async def work(session: AsyncSession) -> OperationResult:
            row = await _respond(session, caller, public_id, response, now=now, address=address)
            answer = await full(session, caller=caller, row=row, now=now, zone=zone)
            given = OperationResult(201, answer.model_dump(mode="json", by_alias=True), {"ETag": etag(answer)})
            await remember(session, given)
            return given

        return await db.transact(work)

    return await answer_once(
        db,
        key=key,
        user=caller.public_id,
        operation=f"POST {domain.PATH}/{public_id}/responses",
        payload=response.model_dump(mode="json", by_alias=True),
        now=now,
        run=run,
    )


async def _respond(
    session: AsyncSession, caller: Caller, public_id: UUID, response: AssigneeResponse, *, now: datetime, address: str
) -> CirculationRow:
    if response.status == "REJECTED" and not (response.comment or "").strip():
        raise invalid("/comment", "required", "การไม่รับดำเนินการต้องระบุเหตุผล", "Give a reason for declining.")
    row, parts, envelope = await current(session, caller=caller, public_id=public_id)
    if envelope is None:
        raise NotRouting
    code = envelope.workflow_code
    seat, part = await _whose(session, caller, row, parts, named=response.on_behalf_of, workflow_code=code, now=now)
    if envelope.current_state != domain.ROUTING or envelope.terminal:
        raise NotRouting
    await take_answer(session, part, status=response.status, comment=response.comment, now=now)
    row = (await repository.visible(session, reach=None, public_ids=[public_id]))[0]
    fresh = (await repository.parts(session, sheet_ids=[row.sheet.id]))[row.sheet.id]
    await workflow.renew_pending(session, entity_type=domain.ENTITY_TYPE, facts=facts_of(row, fresh), now=now)
    details: dict[str, object] = {"status": response.status, "comment": response.comment}
    if seat is not caller:
        details["onBehalfOfPublicId"] = str(seat.public_id)
    await record(session, "answered", "respond", caller=caller, row=row, address=address, now=now, details=details)
    return row


async def _whose(
    session: AsyncSession,
    caller: Caller,
    row: CirculationRow,
    parts: list[AssigneeRow],
    *,
    named: UUID | None,
    workflow_code: str,
    now: datetime,
) -> tuple[Caller, AssigneeRow]:
    """Whose part is answered: the caller's own while it is open, then that of the one who has delegated it."""
    own = part_for(caller, parts)
    if named == caller.public_id or (named is None and own is not None and domain.is_open(part_of(own))):
        return caller, _checked(caller, row, own)
    seats = await delegators_of(session, caller, workflow_code=workflow_code, project_id=row.sheet.project_id, now=now)
    if named is not None:
        seat = acting.seat_of(seats, named)
        return seat, _checked(seat, row, part_for(seat, parts))
    theirs = [(seat, part) for seat in seats if (part := part_for(seat, parts)) and may_answer(seat, row, part)]
    if len(theirs) > 1:
        raise acting.several([seat for seat, _ in theirs])
    return theirs[0] if theirs else (caller, _checked(caller, row, own))


def part_for(person: Caller, parts: list[AssigneeRow]) -> AssigneeRow | None:
    return next((one for one in parts if one.routing.assigned_to == person.user_id), None)


def may_answer(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    """Return whether a part is open, and its person may answer it."""
    return domain.is_open(part_of(part)) and _is_permitted(person, row, part)


def _is_permitted(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    scope = Scope(frozenset({row.sheet.organization_id}), row.sheet.project_id)
    return any(person.may(permission, scope) for permission in domain.rights_to_answer(part.routing.kind))


def _checked(person: Caller, row: CirculationRow, part: AssigneeRow | None) -> AssigneeRow:
    if part is None:
        raise NotAssigned
    if not _is_permitted(person, row, part):
        raise Forbidden(f"The permission {domain.rights_to_answer(part.routing.kind)[0]} is needed here.")
    return part


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
