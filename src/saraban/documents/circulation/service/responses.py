"""Answers to circulations, and the actions that are open to a person."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation import domain, repository
from saraban.documents.circulation.repository import CirculationRow
from saraban.documents.circulation.schemas import AssigneeResponse
from saraban.documents.circulation.service.assignees import (
    assignee_to_answer,
    facts_of,
    find_part,
    list_represented,
    may_answer,
    scope_of,
    take_answer,
)
from saraban.documents.circulation.service.kind import CIRCULATION
from saraban.documents.core import service as core
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import PersonRef
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text, invalid
from saraban.kit.operation import Operation, Receipt
from saraban.workflow import service as workflow
from saraban.workflow.language.subject import Envelope


class NotRouting(DomainError):
    """A circulation takes answers only while it is in progress."""

    kind, code = ErrorKind.CONFLICT, "CIRCULATION_NOT_ROUTING"
    says = Text("ใบเวียนนี้ไม่ได้อยู่ระหว่างเวียน", "This circulation is not in progress.")
    recovery = (REFRESH,)


async def respond(
    ctx: RequestContext, services: core.DocumentServices, public_id: UUID, response: AssigneeResponse
) -> Receipt:
    """
    Record an answer of the caller, or of a person who delegated it.

    :raises NotAssigned, Invalid, NotRouting, AlreadyAnswered:
    """
    operation = Operation.of(ctx, f"POST /{domain.CIRCULATION_RULES.path}/{public_id}/responses", response)
    return await services.idempotency.run(operation, _respond, ctx, public_id, response)


async def _respond(ctx: RequestContext, session: AsyncSession, public_id: UUID, response: AssigneeResponse) -> Receipt:
    if response.status == domain.RoutingStatus.REJECTED and not (response.comment or "").strip():
        raise invalid("/comment", "required", "การไม่รับดำเนินการต้องระบุเหตุผล", "Give a reason for declining.")
    row, envelope = await core.hold_current(ctx, session, CIRCULATION, public_id)
    if envelope is None:
        raise NotRouting
    seat, part = await assignee_to_answer(ctx, session, row, named=response.on_behalf_of, envelope=envelope)
    if envelope.current_state != domain.ROUTING or envelope.terminal:
        raise NotRouting
    await take_answer(session, part, status=response.status, comment=response.comment, now=ctx.now)
    await repository.change(session, circulation_id=row.circulation.id, values={"updated_at": ctx.now})
    row = (await repository.visible(session, reach=None, public_ids=[public_id]))[0]
    of, by = domain.ENTITY_TYPE, ctx.caller.user_id
    await workflow.renew_pending(session, entity_type=of, facts=facts_of(row), now=ctx.now, answered_by=by)
    details: dict[str, object] = {"status": response.status, "comment": response.comment}
    if seat is not ctx.caller:
        details["onBehalfOfPublicId"] = str(seat.public_id)
    await core.record(ctx, session, CIRCULATION, core.DocumentAct.RESPOND, row, details=details)
    return core.receipt_of(CIRCULATION, row)


@dataclass(frozen=True, slots=True)
class CirculationActions:
    edit: bool = False
    cancel: bool = False
    respond: bool = False
    respond_for: tuple[PersonRef, ...] = ()


async def permitted_actions(
    ctx: RequestContext, session: AsyncSession, row: CirculationRow, envelope: Envelope | None
) -> CirculationActions:
    if row.circulation.cancelled_at is not None or envelope is None or envelope.terminal:
        return CirculationActions()
    scope = scope_of(row)
    in_draft = envelope.current_state == domain.DRAFT
    is_routing = envelope.current_state == domain.ROUTING
    parts = row.assignees if is_routing else ()
    part = find_part(ctx.caller, parts, envelope.waiting_for.people)
    return CirculationActions(
        edit=envelope.can_edit and ctx.caller.may(domain.CREATE, scope),
        cancel=ctx.caller.may(domain.CREATE if in_draft else domain.CLOSE, scope),
        respond=part is not None and may_answer(ctx.caller, row, part),
        respond_for=await list_represented(ctx, session, row, parts, workflow_code=envelope.workflow_code),
    )
