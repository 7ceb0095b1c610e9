"""Instances of a workflow that came to an end by their steps, in pages, the latest first."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.pagination import Cursor
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import Instance, WorkflowDefinition, WorkflowInstance

_I, _D = WorkflowInstance, WorkflowDefinition


def _ended(code: str, after: Cursor | None) -> list[sa.ColumnElement[bool]]:
    of_code = _I.definition_id.in_(sa.select(_D.id).where(_D.workflow_code == code))
    found: list[sa.ColumnElement[bool]] = [of_code, _I.status == InstanceStatus.COMPLETED]
    if after is not None:
        at = _I.last_transition_at
        found.append(sa.or_(at < after.at, sa.and_(at == after.at, _I.id < after.public_id)))
    return found


async def page(session: AsyncSession, *, code: str, after: Cursor | None, limit: int) -> Sequence[Instance]:
    """At most `limit` of them, on whatever version they ran."""
    statement = (
        sa.select(_I).where(*_ended(code, after)).order_by(_I.last_transition_at.desc(), _I.id.desc()).limit(limit)
    )
    return [Instance.detached(session, row) for row in (await session.scalars(statement)).all()]


async def count(session: AsyncSession, *, code: str, after: Cursor | None) -> int:
    """How many there are behind a place."""
    statement = sa.select(sa.func.count()).select_from(_I).where(*_ended(code, after))
    return await session.scalar(statement) or 0
