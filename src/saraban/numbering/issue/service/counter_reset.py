"""Reset a counter (REQ-NUM-17): free sequences can be used again, and no number is ever issued twice."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import EVERYTHING, RequestContext, Scope
from saraban.kit.errors import Forbidden, invalid, unknown
from saraban.kit.ids import new_id
from saraban.numbering.issue.domain.lifecycle import SHORTEST_RESET_REASON, checked_reason
from saraban.numbering.issue.repository import ledger_entries
from saraban.numbering.issue.service.lifecycle import key_of_counter
from saraban.numbering.series.domain.states import OperationCode
from saraban.numbering.series.repository import counters
from saraban.projects import service as projects

RESET_COUNTER = "numbering.reset_counter"


def may_reset_counter(ctx: RequestContext) -> bool:
    """Only a Super Admin may, and only with the right."""
    return ctx.caller.may(RESET_COUNTER, Scope()) and ctx.caller.may(EVERYTHING, Scope())


async def reset_counter(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, series: str, to: int, reason: str
) -> tuple[int, int]:
    """
    Set the main counter of a series back; numbers that were issued above it are skipped.

    :returns: where it stood, and where it stands
    :raises Forbidden: for everybody but a Super Admin
    :raises Invalid: for an unknown series, a counter that would go forward, or a reason that is too short
    """
    if not may_reset_counter(ctx):
        raise Forbidden("Only a Super Admin resets a counter.")
    reason = checked_reason(reason, shortest=SHORTEST_RESET_REASON)
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    counter = await counters.locked_counter(session, project_id=project.id, series=series)
    if counter is None:
        raise unknown("/series", series)
    old = counter.last_number
    if to > old:
        raise invalid(
            "/lastNumber",
            "forward",
            "ตัวนับอยู่ที่ {last} ตั้งใหม่ให้มากกว่านี้ไม่ได้",
            "The counter is at {last}; it can only be reset to a lower value.",
            last=old,
        )
    counter.last_number, counter.version, counter.updated_at = to, counter.version + 1, ctx.now
    await session.flush()
    counted_for = await key_of_counter(session, counter)
    await ledger_entries.insert_audit(
        session,
        {
            "uuid": new_id(),
            "operation": OperationCode.RESET,
            "project_id": project.id,
            "document_type": counted_for.type,
            "series": series,
            "counter_key": counted_for.text,
            "sequence_number": to,
            "old_value": str(old),
            "new_value": str(to),
            "reason": reason,
            "user_id": ctx.caller.user_id,
            "ip_address": ctx.address[:45] or None,
            "idempotency_key": ctx.key,
            "created_at": ctx.now,
        },
    )
    return old, to
