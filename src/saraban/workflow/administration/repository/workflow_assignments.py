"""Rows of workflow assignments, and what they can be made of."""

from collections.abc import Collection, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import AnyRow
from saraban.projects.models import Contract, Project, RfaType
from saraban.workflow.runtime.models import WorkflowAssignment, WorkflowDefinition

_C, _D = WorkflowAssignment, WorkflowDefinition


async def choice(session: AsyncSession, *, kind: str, reach: int, type_code: str) -> WorkflowAssignment | None:
    return await session.scalar(
        sa.select(_C).where(_C.kind == kind, _C.reach == reach, _C.type_code == type_code).with_for_update()
    )


async def choices(session: AsyncSession, *, reaches: Collection[int] | None = None) -> Sequence[AnyRow]:
    """Rows of (choice, project's public id and code, who chose, whether it has an active version), by place."""
    active = sa.exists().where(_D.workflow_code == _C.workflow_code, _D.is_active)
    statement = (
        sa.select(
            _C,
            Project.public_id,
            Project.project_code,
            User.first_name,
            User.last_name,
            User.username,
            active.label("in_force"),
        )
        .outerjoin(Project, Project.id == _C.project_id)
        .join(User, User.user_id == _C.chosen_by_user_id)
        .order_by(_C.kind, _C.type_code, _C.reach)
    )
    if reaches is not None:
        statement = statement.where(_C.reach.in_(reaches))
    return (await session.execute(statement)).all()


async def matters_of(session: AsyncSession, code: str) -> Sequence[sa.Row[str, str]]:
    """Rows of (kind, type) for which a workflow is chosen anywhere; the type is empty for all of the kind."""
    statement = sa.select(_C.kind, _C.type_code).where(_C.workflow_code == code).distinct()
    return (await session.execute(statement.order_by(_C.kind, _C.type_code))).all()


async def in_force(session: AsyncSession) -> Sequence[sa.Row[UUID, str, int]]:
    """Rows of (id, code, version) of every active version, by code."""
    statement = sa.select(_D.id, _D.workflow_code, _D.version).where(_D.is_active).order_by(_D.workflow_code)
    return (await session.execute(statement)).all()


async def rfa_type_known(session: AsyncSession, *, code: str, project_id: int | None) -> bool:
    """Whether a contract of the project, or any contract at all, has such an RFA type."""
    statement = (
        sa.select(RfaType.id)
        .join(Contract, Contract.id == RfaType.contract_id)
        .where(RfaType.type_code == code, RfaType.is_active, Contract.is_active, Contract.deleted_at.is_(None))
    )
    if project_id is not None:
        statement = statement.where(Contract.project_id == project_id)
    return await session.scalar(statement.limit(1)) is not None
