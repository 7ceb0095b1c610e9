"""Versions as a list shows them: without their text, with the names of those who published them."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.workflow.models import WorkflowDefinition, WorkflowInstance

_D = WorkflowDefinition


async def lines(session: AsyncSession, *, code: str | None) -> Sequence[Any]:
    """Rows of (id, code, version, description, is active, when, first name, last name, user name), newest version first."""
    statement = (
        sa.select(
            _D.id,
            _D.workflow_code,
            _D.version,
            # Of the text itself, which has it in both languages.
            _D.dsl["description"].label("description"),
            _D.is_active,
            _D.created_at,
            User.first_name,
            User.last_name,
            User.username,
        )
        .outerjoin(User, User.user_id == _D.created_by_user_id)
        .order_by(_D.workflow_code, _D.version.desc())
    )
    if code is not None:
        statement = statement.where(_D.workflow_code == code)
    return (await session.execute(statement)).all()


async def descriptions(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, Any]:
    """What each of the versions says that it is for, as it was written."""
    found = sa.select(_D.id, _D.dsl["description"].label("description")).where(_D.id.in_(ids))
    return {row.id: row.description for row in await session.execute(found)}


async def under_way(session: AsyncSession, definition_id: UUID) -> int:
    """How many instances run on a version."""
    statement = sa.select(sa.func.count()).where(
        WorkflowInstance.definition_id == definition_id, WorkflowInstance.status == "ACTIVE"
    )
    return await session.scalar(statement) or 0
