"""The workflow steps of documents, for their histories."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.workflow.models import WorkflowHistory, WorkflowInstance


@dataclass(frozen=True, slots=True)
class StepTaken:
    entity_id: str
    at: datetime
    action: str
    from_state: str
    to_state: str
    comment: str | None
    actor: UUID | None


async def taken(session: AsyncSession, *, entity_type: str, entity_ids: Collection[str]) -> list[StepTaken]:
    """This will give every step of these subjects' workflows."""
    history, instance = WorkflowHistory, WorkflowInstance
    statement = (
        sa.select(
            instance.entity_id,
            history.created_at,
            history.action,
            history.from_state,
            history.to_state,
            history.comment,
            history.action_by_user_uuid,
        )
        .join(instance, instance.id == history.instance_id)
        .where(instance.entity_type == entity_type, instance.entity_id.in_(entity_ids))
    )
    return [StepTaken(*row[:-1], UUID(row[-1]) if row[-1] else None) for row in await session.execute(statement)]
