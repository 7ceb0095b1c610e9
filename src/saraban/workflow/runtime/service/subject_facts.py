"""
What instances move, as somebody sees it, and who of some people may see it: nobody is asked for what he could not open,
nor told of it.
"""

from collections.abc import Collection, Iterable
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.workflow.language.subject import SubjectFacts
from saraban.workflow.runtime import repository
from saraban.workflow.runtime.models import Instance
from saraban.workflow.runtime.service.subjects import Subjects


async def readers(
    session: AsyncSession, users: Collection[int], *, named: Iterable[UUID] = (), facts: SubjectFacts, state: str
) -> list[Caller]:
    """Return those of some people, by key or by name, who may see a subject that stands in a state; two queries."""
    public_ids = await repository.user_public_ids(session, sorted(users)) if users else {}
    people = await identity.load_callers(session, sorted({*public_ids.values(), *named}))
    return [person for person in people.values() if facts.seen_by(person, state)]


async def facts_of(
    session: AsyncSession, rows: Iterable[Instance], *, caller: Caller, subjects: Subjects
) -> dict[tuple[str, str], SubjectFacts]:
    """
    Return what a caller may see of what instances move, by entity type and id.

    What the caller may not know of is not there, nor what is of a kind that nobody has registered.
    """
    wanted: dict[str, list[str]] = {}
    for row in rows:
        if row.entity_type in subjects:
            wanted.setdefault(row.entity_type, []).append(row.entity_id)
    facts: dict[tuple[str, str], SubjectFacts] = {}
    for kind in sorted(wanted):
        found = await subjects.port(kind).facts(session, caller=caller, entity_ids=wanted[kind])
        facts |= {(kind, key): one for key, one in found.items()}
    return facts


async def seen(ctx: RequestContext, session: AsyncSession, row: Instance, *, subjects: Subjects) -> SubjectFacts | None:
    """Return what one instance moves, None for what the caller may not know of."""
    return (await facts_of(session, [row], caller=ctx.caller, subjects=subjects)).get((row.entity_type, row.entity_id))
