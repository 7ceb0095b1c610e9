"""What operators may see and do of events, in their own names: each deed has a reason and a row in the audit trail."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.pagination import Page

SEES, MANAGES = "system.view_logs", "system.manage_all"
_EVERYWHERE = Scope()


async def listing(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    state: events.EventState | None,
    name: str | None,
    recorded_before: datetime | None,
    cursor: str | None,
    limit: int,
) -> Page[events.EventView]:
    """
    :raises Forbidden: for whoever may not see the logs of the system
    """
    ctx.caller.require(SEES, _EVERYWHERE)
    return await events.list_events(
        session, state=state, name=name, recorded_before=recorded_before, cursor=cursor, limit=limit
    )


async def show(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> events.EventView:
    """
    :raises Forbidden: for whoever may not see the logs of the system
    """
    ctx.caller.require(SEES, _EVERYWHERE)
    return await events.read_event(session, public_id=public_id)


async def requeue(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> events.EventView:
    """
    Have an event that was given up delivered after all, behind the newer ones of its aggregate.

    :raises EventNotDead: when it was not given up
    """
    ctx.caller.require(MANAGES, _EVERYWHERE)
    letter = await events.requeue_dead_letter(session, public_id=public_id, now=ctx.now)
    await _note(ctx, session, "event.requeue", letter, reason=reason)
    return await events.read_event(session, public_id=letter.event_public_id)


async def drop(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> None:
    """
    Forget an event that was given up; the audit trail keeps what it said.

    :raises EventNotDead: when it was not given up
    """
    ctx.caller.require(MANAGES, _EVERYWHERE)
    letter = await events.delete_dead_letter(session, public_id=public_id)
    await _note(ctx, session, "event.drop", letter, reason=reason)


async def _note(
    ctx: RequestContext, session: AsyncSession, action: str, letter: events.DeadLetterView, *, reason: str
) -> None:
    await audit.record(
        ctx,
        session,
        audit.AuditEntry(
            action,
            "event",
            str(letter.event_public_id),
            {"reason": reason, "name": letter.name, "error": letter.error, "payload": dict(letter.data)},
            severity=audit.Severity.WARN,
        ),
    )
