"""A person's answer in a circulation: it counts at once, the circulation moves by its workflow."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import AssigneeRow, CirculationRow
from saraban.documents.circulation.schemas import AssigneeResponse
from saraban.documents.circulation.service.assignees import NotAssigned, state_of, take_answer
from saraban.documents.circulation.service.kind import CIRCULATION
from saraban.documents.circulation.service.workflow_subject import facts_of
from saraban.documents.core import service as core
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Forbidden, Text, invalid
from saraban.kit.operation import Operation, Receipt
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Represented
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.service.delegations import delegators_of


class NotRouting(DomainError):
    """Answers are taken while the sheet is passed round, not before and not after."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_NOT_ROUTING"
    says = Text("ใบเวียนนี้ไม่ได้อยู่ระหว่างเวียน", "This circulation is not in progress.")
    recovery = (REFRESH,)


async def respond(
    ctx: RequestContext, services: core.DocumentServices, public_id: UUID, response: AssigneeResponse
) -> Receipt:
    """
    Record the caller's answer, or that of somebody who is away and has delegated it to the caller.

    :raises NotAssigned: when the caller is none of its assignees
    :raises Invalid: when several have delegated it to the caller, and none is named
    :raises NotRouting: before it was started and after it was closed
    :raises AlreadyAnswered: the second time
    """
    operation = Operation.of(ctx, f"POST /{domain.CIRCULATION_RULES.path}/{public_id}/responses", response)
    return await services.idempotency.run(operation, partial(_respond, ctx, public_id, response))


async def _respond(ctx: RequestContext, public_id: UUID, response: AssigneeResponse, session: AsyncSession) -> Receipt:
    if response.status == "REJECTED" and not (response.comment or "").strip():
        raise invalid("/comment", "required", "การไม่รับดำเนินการต้องระบุเหตุผล", "Give a reason for declining.")
    row, envelope = await core.hold_current(ctx, session, CIRCULATION, public_id=public_id)
    if envelope is None:
        raise NotRouting
    code = envelope.workflow_code
    seat, part = await _assignee(ctx, session, row, named=response.on_behalf_of, workflow_code=code)
    if envelope.current_state != domain.ROUTING or envelope.terminal:
        raise NotRouting
    await take_answer(session, part, status=response.status, comment=response.comment, now=ctx.now)
    await repository.change(session, circulation_id=row.circulation.id, values={"updated_at": ctx.now})
    row = (await repository.visible(session, reach=None, public_ids=[public_id]))[0]
    await workflow.renew_pending(session, entity_type=domain.ENTITY_TYPE, facts=facts_of(row), now=ctx.now)
    details: dict[str, object] = {"status": response.status, "comment": response.comment}
    if seat is not ctx.caller:
        details["onBehalfOfPublicId"] = str(seat.public_id)
    await core.record(ctx, session, CIRCULATION, core.DocumentAct.RESPOND, row, details=details)
    return core.receipt_of(CIRCULATION, row)


async def _assignee(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow, *, named: UUID | None, workflow_code: str
) -> tuple[Caller, AssigneeRow]:
    """Whose part is answered: the caller's own while it is open, then that of the one who has delegated it."""
    own = own_row(ctx.caller, row.assignees)
    if named == ctx.caller.public_id or (named is None and own is not None and domain.is_open(state_of(own))):
        return ctx.caller, _checked(ctx.caller, row, own)
    seats = await delegators_of(ctx, session, workflow_code=workflow_code, project_id=row.circulation.project_id)
    if named is not None:
        seat = delegation.seat_of(seats, named)
        return seat, _checked(seat, row, own_row(seat, row.assignees))
    theirs = [(seat, part) for seat in seats if (part := own_row(seat, row.assignees)) and may_answer(seat, row, part)]
    if len(theirs) > 1:
        raise delegation.several([seat for seat, _ in theirs])
    return theirs[0] if theirs else (ctx.caller, _checked(ctx.caller, row, own))


def own_row(person: Caller, assignees: Sequence[AssigneeRow]) -> AssigneeRow | None:
    return next((one for one in assignees if one.routing.assigned_to == person.user_id), None)


def may_answer(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    """Return whether a part is open, and its person may answer it."""
    return domain.is_open(state_of(part)) and _is_permitted(person, row, part)


def _is_permitted(person: Caller, row: CirculationRow, part: AssigneeRow) -> bool:
    scope = CIRCULATION.scope(row)
    return any(person.may(permission, scope) for permission in domain.rights_to_answer(part.routing.kind))


def _checked(person: Caller, row: CirculationRow, part: AssigneeRow | None) -> AssigneeRow:
    if part is None:
        raise NotAssigned
    if not _is_permitted(person, row, part):
        raise Forbidden(f"The permission {domain.rights_to_answer(part.routing.kind)[0]} is needed here.")
    return part


@dataclass(frozen=True, slots=True)
class CirculationActions:
    edit: bool = False
    cancel: bool = False
    respond: bool = False
    respond_for: tuple[Represented, ...] = ()


async def permitted_actions(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> CirculationActions:
    """
    Return which of edit, cancel and respond are open to the caller now, and for whom else they may answer.

    :raises NotFound: also for a sheet of another organization
    """
    row = await CIRCULATION.find(ctx, session, public_id=public_id)
    found = await CIRCULATION.envelopes(ctx, session, [row])
    envelope = found.get(row.entity_id)
    if row.circulation.cancelled_at is not None or envelope is None or envelope.terminal:
        return CirculationActions()
    scope = CIRCULATION.scope(row)
    in_draft = envelope.current_state == domain.DRAFT
    routing = envelope.current_state == domain.ROUTING
    asked = row.assignees if routing else ()
    return CirculationActions(
        edit=envelope.can_edit and ctx.caller.may(domain.CREATE, scope),
        cancel=ctx.caller.may(domain.CREATE if in_draft else domain.CLOSE, scope),
        respond=(own := own_row(ctx.caller, asked)) is not None and may_answer(ctx.caller, row, own),
        respond_for=await _others(ctx, session, row, asked, workflow_code=envelope.workflow_code),
    )


async def _others(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow, parts: Sequence[AssigneeRow], *, workflow_code: str
) -> tuple[Represented, ...]:
    if not any(domain.is_open(state_of(one)) for one in parts):
        return ()
    seats = await delegators_of(ctx, session, workflow_code=workflow_code, project_id=row.circulation.project_id)
    return tuple(
        Represented(seat.public_id, seat.display_name)
        for seat in seats
        if (part := own_row(seat, parts)) and may_answer(seat, row, part)
    )
