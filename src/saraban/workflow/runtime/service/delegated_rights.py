"""
In whose place a person may act now. Asked only when his own rights do not do; whoever asks, asks here.

One statement when nobody has delegated to him, two when somebody has, however many.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import Caller, RequestContext
from saraban.workflow.runtime.domain import delegation
from saraban.workflow.runtime.domain.delegation import Delegation
from saraban.workflow.runtime.models.delegations import DelegationRow
from saraban.workflow.runtime.repository import delegations as repository


@dataclass(frozen=True, slots=True)
class DelegatedRights:
    """Everybody for whom one person stands in at one moment, read once; ask it for each matter."""

    lent: tuple[tuple[Delegation, Caller], ...] = ()

    def of(self, workflow_code: str, project_id: int | None) -> tuple[Caller, ...]:
        """Return the delegators of one matter, each once, without rights over everything."""
        found = {seat.user_id: seat for one, seat in self.lent if one.reaches(workflow_code, project_id)}
        return tuple(found.values())

    @property
    def user_ids(self) -> frozenset[int]:
        return frozenset(seat.user_id for _, seat in self.lent)


async def delegated_rights_of(ctx: RequestContext, session: AsyncSession) -> DelegatedRights:
    """Read for whom the caller stands in now, in every matter."""
    rows = await repository.to_person(session, user_id=ctx.caller.user_id, moment=ctx.now)
    if not rows:
        return DelegatedRights()
    people = await identity.load_callers(session, [public_id for _, public_id in rows])
    known = {person.user_id: person for person in people.values()}
    return DelegatedRights(
        delegation.standing(ctx.caller, [delegation_of(row) for row, _ in rows], known, moment=ctx.now)
    )


async def delegators_of(
    ctx: RequestContext, session: AsyncSession, *, workflow_code: str, project_id: int | None
) -> Sequence[Caller]:
    """
    Return those in whose place the caller may act now in one matter, each with what of his rights is lent.

    A permission or a seat of theirs is as good as the caller's own, with two exceptions that the engine knows: neither of
    both may be the submitter where a step says so, and nobody lends the right to everything.
    """
    return (await delegated_rights_of(ctx, session)).of(workflow_code, project_id)


@dataclass(frozen=True, slots=True)
class Delegates:
    """Who stands in for some people over a stretch of time: for those who tell people of things."""

    lent: tuple[tuple[Delegation, UUID | None, Caller], ...] = ()

    def of(
        self, user_ids: Collection[int], *, workflow_code: str, project: UUID | None, moment: datetime
    ) -> dict[UUID, Caller]:
        """Return who stands in for one of these people in one matter, by public id."""
        return {
            delegate.public_id: delegate
            for one, place, delegate in self.lent
            if one.delegator in user_ids
            and one.counts_at(moment)
            and (not one.workflows or workflow_code in one.workflows)
            and place in {None, project}
        }


async def delegates_of(
    session: AsyncSession, user_ids: Collection[int], *, first: datetime, last: datetime
) -> Delegates:
    """Read who stands in for any of these people from `first` to `last`; one statement when nobody does."""
    rows = await repository.lent_by(session, user_ids=user_ids, first=first, last=last) if user_ids else []
    if not rows:
        return Delegates()
    people = await identity.load_callers(session, {key for row in rows for key in (row.delegator, row.delegate)})
    found = []
    for row in rows:
        delegator, delegate = people.get(row.delegator), people.get(row.delegate)
        if delegator is not None and delegate is not None and delegation.lent(delegator, delegate) is not None:
            found.append((delegation_of(row.row), row.project, delegate))
    return Delegates(tuple(found))


def delegation_of(row: DelegationRow) -> Delegation:
    """Return a row as the domain reads it."""
    return Delegation(
        delegator=row.delegator_user_id,
        delegate=row.delegate_user_id,
        starts_at=row.starts_at,
        ends_before=row.ends_before,
        workflows=frozenset(row.workflow_codes),
        project=row.project_id,
        revoked=row.revoked_at is not None,
    )
