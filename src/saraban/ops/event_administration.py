"""Requeue and drop dead events; each action needs a reason and is audited."""

from typing import Annotated
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.schema import SingleLine

MANAGES = "system.manage_all"
Reason = Annotated[str, SingleLine(500, shortest=5)]


async def requeue(ctx: RequestContext, session: AsyncSession, public_id: UUID, reason: str) -> events.EventView:
    """:raises EventNotDead:"""
    ctx.caller.require(MANAGES, Scope())
    letter = await events.requeue_dead_letter(session, public_id=public_id, now=ctx.now)
    await _record(ctx, session, "event.requeue", letter, reason)
    return await events.read_event(session, public_id=letter.event_public_id)


async def drop(ctx: RequestContext, session: AsyncSession, public_id: UUID, reason: str) -> None:
    """:raises EventNotDead:"""
    ctx.caller.require(MANAGES, Scope())
    letter = await events.delete_dead_letter(session, public_id=public_id)
    await _record(ctx, session, "event.drop", letter, reason)


async def _record(
    ctx: RequestContext, session: AsyncSession, action: str, letter: events.DeadLetterView, reason: str
) -> None:
    details = {"reason": reason, "name": letter.name, "error": letter.error, "payload": dict(letter.data)}
    entry = audit.AuditEntry(action, "event", str(letter.event_public_id), details, severity=audit.Severity.WARN)
    await audit.record(ctx, session, entry)
