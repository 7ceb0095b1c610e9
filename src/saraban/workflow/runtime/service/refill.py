"""
Whom running instances ask by name or for what he holds, written down anew after an upgrade: by the rules of before, or of
another version of the product, somebody else was asked or nobody, and until the next step nothing else would ask anew.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.kit.db import Database
from saraban.workflow.engine import pending_assignees
from saraban.workflow.runtime.repository import assignees as repository
from saraban.workflow.runtime.repository import branch_rows as waits
from saraban.workflow.runtime.service import assignees, definitions, instances
from saraban.workflow.runtime.service.instances import EnteredState
from saraban.workflow.runtime.service.subject_facts import facts_of
from saraban.workflow.runtime.service.subjects import Subjects

AT_ONCE = 50


async def refill(db: Database, *, subjects: Subjects) -> None:
    """
    Make the work items of running instances, whose state asks people by name or for what they hold, those of today.

    It changes nothing that is right already, so it may be broken off and run again; each batch is a transaction of its own.
    """
    async with db.reading() as session:
        asking = await _asking(session)
    after: UUID | None = None
    more = True
    while more:
        after = await db.transact(partial(_batch, subjects=subjects, asking=asking, after=after))
        more = after is not None


async def _asking(session: AsyncSession) -> dict[UUID, list[str]]:
    """The states that ask people by name or for what they hold, by the version that something runs under."""
    known = {key: await definitions.load(session, key) for key in await repository.versions_running(session)}
    asking = {
        key: [name for name in one.states if pending_assignees.by_person(one, name)] for key, one in known.items()
    }
    return {key: names for key, names in asking.items() if names}


async def _batch(
    session: AsyncSession, *, subjects: Subjects, asking: Mapping[UUID, Sequence[str]], after: UUID | None
) -> UUID | None:
    """The last of those that were looked at, None where there are no more."""
    found = await repository.in_states(session, asking, after=after, most=AT_ONCE)
    if not found:
        return None
    rows = await repository.hold(session, instance_ids=[row.id for row in found])
    facts = await facts_of(session, rows, caller=await identity.system_caller(session), subjects=subjects)
    for row in rows:
        definition = await definitions.load(session, row.definition_id)
        seen = facts.get((row.entity_type, row.entity_id))
        if seen is not None and not assignees.is_first_draft(row, definition):
            await _fill(session, EnteredState(row, definition, seen, row.last_transition_at))
    return found[-1].id


async def _fill(session: AsyncSession, entered: EnteredState) -> None:
    """Whoever was waited for before keeps his place in the inbox."""
    key, state = entered.row.id, entered.row.current_state
    ahead = await instances.pending_in(session, entered)
    await waits.await_people(session, instance_id=key, state=state, users=ahead.users, now=entered.at)
    await waits.await_organizations(
        session, instance_id=key, state=state, organizations=ahead.organizations, since=entered.at
    )
