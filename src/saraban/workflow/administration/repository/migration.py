"""Running instances of a workflow that are not on a certain version yet, in pages, and locked for their move."""

from collections.abc import Collection, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.json import as_object
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import Instance, WorkflowDefinition, WorkflowInstance

_I, _D = WorkflowInstance, WorkflowDefinition


def _elsewhere(code: str, definition_id: UUID) -> sa.Select[UUID, int]:
    return (
        sa.select(_I.id, _D.version)
        .join(_D, _D.id == _I.definition_id)
        .where(_D.workflow_code == code, _I.definition_id != definition_id, _I.status == InstanceStatus.ACTIVE)
    )


async def page(
    session: AsyncSession, *, code: str, definition_id: UUID, after: UUID | None, limit: int
) -> Sequence[tuple[UUID, int]]:
    """(instance, its version) of at most `limit` that run on another version, by their key."""
    statement = _elsewhere(code, definition_id)
    if after is not None:
        statement = statement.where(_I.id > after)
    return [(row.id, row.version) for row in await session.execute(statement.order_by(_I.id).limit(limit))]


async def count(session: AsyncSession, *, code: str, definition_id: UUID) -> int:
    """How many run on another version."""
    inner = _elsewhere(code, definition_id).subquery()
    return await session.scalar(sa.select(sa.func.count()).select_from(inner)) or 0


async def instances(session: AsyncSession, ids: Collection[UUID], *, lock: bool) -> Sequence[Instance]:
    """Instances by their key, detached; always locked in the same order, so that two runs do not wait for each other."""
    statement = sa.select(_I).where(_I.id.in_(ids)).order_by(_I.id)
    rows = (await session.scalars(statement.with_for_update() if lock else statement)).all()
    return [Instance.detached(session, row) for row in rows]


async def states(session: AsyncSession, *, code: str) -> frozenset[str]:
    """The names of the states of all versions."""
    found = await session.scalars(sa.select(_D.compiled).where(_D.workflow_code == code))
    return frozenset(name for compiled in found for name in as_object(compiled["states"]))


async def running_by_state(
    session: AsyncSession, *, code: str | None
) -> Sequence[sa.Row[str, int, bool, str | None, int]]:
    """Rows of (code, version, is active, state or None, how many run there), by code and version, the newest first."""
    running = sa.and_(_I.definition_id == _D.id, _I.status == InstanceStatus.ACTIVE)
    statement = (
        sa.select(_D.workflow_code, _D.version, _D.is_active, _I.current_state, sa.func.count(_I.id))
        .outerjoin(_I, running)
        .group_by(_D.workflow_code, _D.version, _D.is_active, _I.current_state)
        .order_by(_D.workflow_code, _D.version.desc(), _I.current_state)
    )
    if code is not None:
        statement = statement.where(_D.workflow_code == code)
    return (await session.execute(statement)).all()
