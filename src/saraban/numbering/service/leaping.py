"""A counter moved forward by hand, past sequences that nobody drew: the account of its series finds the reason."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.ids import new_id
from saraban.numbering import repository
from saraban.numbering.models import NumberCounter
from saraban.numbering.repository import counting
from saraban.numbering.service.planning import Plan


async def lock_counter(session: AsyncSession, plan: Plan, *, now: datetime) -> NumberCounter:
    """Return the main counter of the plan's series, made if it is absent, locked until the transaction ends."""
    await repository.ensure_counter(session, key=plan.key, series=plan.series, now=now)
    counter = await counting.locked_counter(session, project_id=plan.project.id, series=plan.series)
    assert counter is not None
    return counter


async def skip_to(
    session: AsyncSession,
    plan: Plan,
    counter: NumberCounter,
    to: int,
    *,
    user_id: int,
    reason: str,
    address: str | None,
    now: datetime,
) -> None:
    """Have a locked counter go on after `to`; one that stands there or beyond stays."""
    old = counter.last_number
    if to <= old:
        return
    counter.last_number, counter.version, counter.updated_at = to, counter.version + 1, now
    await session.flush()
    if to == old + 1:
        return
    await repository.insert_audit(
        session,
        {
            "uuid": new_id(),
            "operation": "SKIP",
            "project_id": plan.project.id,
            "series": plan.series,
            "counter_key": plan.codes_text,
            "template_used": plan.template.text,
            "sequence_number": old + 1,
            "skipped_to": to - 1,
            "reason": reason,
            "user_id": user_id,
            "ip_address": address,
            "created_at": now,
        },
    )
