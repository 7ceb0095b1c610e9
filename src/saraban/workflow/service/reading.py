"""
Who of some people may see what an instance moves: nobody is asked for what he could not open, nor told of it.
"""

from collections.abc import Collection

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.workflow import repository
from saraban.workflow.domain.subject import SubjectFacts


async def readers(session: AsyncSession, users: Collection[int], *, facts: SubjectFacts, state: str) -> frozenset[int]:
    """This will give those of some people, by key, who may see a subject that stands in a state; two queries."""
    if not users:
        return frozenset()
    public_ids = await repository.user_public_ids(session, sorted(users))
    people = await identity.load_callers(session, sorted(public_ids.values()))
    return frozenset(person.user_id for person in people.values() if facts.seen_by(person, state))
