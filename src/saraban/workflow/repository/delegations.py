"""Rows of delegations; whom they concern is read by their indices, by people and the end of the last day."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.workflow.models.delegations import DelegationRow


async def to_person(session: AsyncSession, *, user_id: int, moment: datetime) -> Sequence[tuple[DelegationRow, UUID]]:
    """What counts for a person at a moment, each with the delegator's public id."""
    statement = (
        sa.select(DelegationRow, User.public_id)
        .join(User, User.user_id == DelegationRow.delegator_user_id)
        .where(
            DelegationRow.delegate_user_id == user_id,
            DelegationRow.ends_before > moment,
            DelegationRow.starts_at <= moment,
            DelegationRow.revoked_at.is_(None),
        )
        .order_by(DelegationRow.id)
    )
    return [(row, public_id) for row, public_id in (await session.execute(statement)).all()]


async def of_people(session: AsyncSession, *, user_ids: Collection[int], after: datetime) -> Sequence[DelegationRow]:
    """What is not over and not taken back, to or from any of the people."""
    statement = sa.select(DelegationRow).where(
        sa.or_(DelegationRow.delegator_user_id.in_(user_ids), DelegationRow.delegate_user_id.in_(user_ids)),
        DelegationRow.ends_before > after,
        DelegationRow.revoked_at.is_(None),
    )
    return (await session.scalars(statement.order_by(DelegationRow.id))).all()
