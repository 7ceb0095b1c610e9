"""Rows of delegations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import User
from saraban.kit.db import AnySelect
from saraban.kit.pagination import newest_first
from saraban.projects.models import Project
from saraban.workflow.runtime.models import DelegationRow, WorkflowDefinition

_DELEGATOR, _DELEGATE = aliased(User), aliased(User)


class StandingRow(NamedTuple):
    delegator_user_id: int
    delegate_user_id: int
    starts_at: datetime
    ends_before: datetime
    workflow_codes: Sequence[str]
    project_id: int | None
    revoked_at: datetime | None
    delegator: UUID


_TO_PERSON = (
    sa.select(*(getattr(DelegationRow, name) for name in StandingRow._fields[:-1]), User.public_id)
    .join(User, User.user_id == DelegationRow.delegator_user_id)
    .where(
        DelegationRow.delegate_user_id == sa.bindparam("delegate"),
        DelegationRow.ends_before > sa.bindparam("moment"),
        DelegationRow.starts_at <= sa.bindparam("moment"),
        DelegationRow.revoked_at.is_(None),
    )
    .order_by(DelegationRow.id)
)


async def to_person(session: AsyncSession, *, user_id: int, moment: datetime) -> Sequence[StandingRow]:
    rows = await session.execute(_TO_PERSON, {"delegate": user_id, "moment": moment})
    return [StandingRow._make(row) for row in rows]


async def of_people(session: AsyncSession, *, user_ids: Collection[int], after: datetime) -> Sequence[DelegationRow]:
    statement = sa.select(DelegationRow).where(
        sa.or_(DelegationRow.delegator_user_id.in_(user_ids), DelegationRow.delegate_user_id.in_(user_ids)),
        DelegationRow.ends_before > after,
        DelegationRow.revoked_at.is_(None),
    )
    return (await session.scalars(statement.order_by(DelegationRow.id))).all()


@dataclass(frozen=True, slots=True)
class NamedRow:
    row: DelegationRow
    delegator: User
    delegate: User
    project: Project | None


async def one(session: AsyncSession, *, public_id: UUID, locked: bool = False) -> NamedRow | None:
    if locked:
        # By itself: MariaDB has no FOR UPDATE OF, and would lock both people and the project too.
        await session.execute(sa.select(DelegationRow.id).where(DelegationRow.public_id == public_id).with_for_update())
    statement = _select_delegations(_DELEGATOR, _DELEGATE, Project).where(DelegationRow.public_id == public_id)
    row = (await session.execute(statement.execution_options(populate_existing=True))).one_or_none()
    return None if row is None else NamedRow(*row)


async def page(session: AsyncSession, *, user_id: int, cursor: str | None, limit: int) -> list[NamedRow]:
    is_of_person = sa.or_(DelegationRow.delegator_user_id == user_id, DelegationRow.delegate_user_id == user_id)
    statement = newest_first(
        _select_delegations(_DELEGATOR, _DELEGATE, Project).where(is_of_person),
        at=DelegationRow.created_at,
        public_id=DelegationRow.public_id,
        cursor=cursor,
        limit=limit,
    )
    return [NamedRow(*row) for row in (await session.execute(statement)).all()]


async def hold_people(session: AsyncSession, user_ids: Collection[int]) -> None:
    """Lock the rows of people in the order of their keys, so that no two transactions deadlock."""
    statement = sa.select(User.user_id).where(User.user_id.in_(user_ids)).order_by(User.user_id).with_for_update()
    await session.execute(statement)


async def codes(session: AsyncSession) -> Sequence[str]:
    statement = sa.select(WorkflowDefinition.workflow_code).where(WorkflowDefinition.is_active).distinct()
    return (await session.scalars(statement.order_by(WorkflowDefinition.workflow_code))).all()


async def lent_by(
    session: AsyncSession, *, user_ids: Collection[int], first: datetime, last: datetime
) -> Sequence[tuple[DelegationRow, UUID, UUID, UUID | None]]:
    """List (delegation, public ids of delegator, delegate and project) in force from `first` to `last`."""
    statement = _select_delegations(_DELEGATOR.public_id, _DELEGATE.public_id, Project.public_id).where(
        DelegationRow.delegator_user_id.in_(user_ids),
        DelegationRow.ends_before > first,
        DelegationRow.starts_at <= last,
        DelegationRow.revoked_at.is_(None),
    )
    return [tuple(row) for row in await session.execute(statement.order_by(DelegationRow.id))]


def _select_delegations(delegator: Any, delegate: Any, project: Any) -> AnySelect:
    return (
        sa.select(DelegationRow, delegator, delegate, project)
        .join(_DELEGATOR, _DELEGATOR.user_id == DelegationRow.delegator_user_id)
        .join(_DELEGATE, _DELEGATE.user_id == DelegationRow.delegate_user_id)
        .outerjoin(Project, Project.id == DelegationRow.project_id)
    )
