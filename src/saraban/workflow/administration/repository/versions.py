"""Versions of definitions: held while one is published, and as a list shows them, with the names of those who published them."""

from collections.abc import Collection, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import defer

from saraban.identity.models import Permission, Role, User
from saraban.kit.db import AnyRow
from saraban.kit.json import Json
from saraban.kit.pagination import Cursor
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowInstance

_D = WorkflowDefinition


async def summaries(session: AsyncSession, *, code: str | None) -> Sequence[AnyRow]:
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


async def descriptions(session: AsyncSession, ids: Collection[UUID]) -> dict[UUID, Json]:
    """What each of the versions says that it is for, as it was written."""
    found = sa.select(_D.id, _D.dsl["description"].label("description")).where(_D.id.in_(ids))
    return {row.id: row.description for row in await session.execute(found)}


async def running_on(session: AsyncSession, definition_id: UUID) -> int:
    """How many instances run on a version."""
    statement = sa.select(sa.func.count()).where(
        WorkflowInstance.definition_id == definition_id, WorkflowInstance.status == InstanceStatus.ACTIVE
    )
    return await session.scalar(statement) or 0


async def version_of(session: AsyncSession, code: str, version: int) -> WorkflowDefinition | None:
    statement = sa.select(WorkflowDefinition).where(
        WorkflowDefinition.workflow_code == code, WorkflowDefinition.version == version
    )
    return await session.scalar(statement)


async def locked_versions(session: AsyncSession, code: str) -> Sequence[WorkflowDefinition]:
    """All versions of a code, oldest first, locked until the transaction ends."""
    statement = (
        sa.select(WorkflowDefinition)
        .where(WorkflowDefinition.workflow_code == code)
        .order_by(WorkflowDefinition.version)
        .with_for_update()
    )
    return (await session.scalars(statement)).all()


async def definitions(
    session: AsyncSession, *, code: str | None, cursor: str | None, limit: int
) -> Sequence[WorkflowDefinition]:
    """One more than `limit`, newest first, without the text of the definition."""
    at, key = WorkflowDefinition.created_at, WorkflowDefinition.id
    statement = sa.select(WorkflowDefinition).options(defer(WorkflowDefinition.dsl, raiseload=True))
    if code is not None:
        statement = statement.where(WorkflowDefinition.workflow_code == code)
    if cursor:
        place = Cursor.decode(cursor)
        statement = statement.where(sa.or_(at < place.at, sa.and_(at == place.at, key < place.public_id)))
    return (await session.scalars(statement.order_by(at.desc(), key.desc()).limit(limit + 1))).all()


async def known_names(session: AsyncSession) -> tuple[frozenset[str], frozenset[str]]:
    """Role names and permission names that a definition may use."""
    roles = await session.scalars(sa.select(Role.role_name).where(Role.deleted_at.is_(None)))
    permissions = await session.scalars(sa.select(Permission.permission_name).where(Permission.is_active))
    return frozenset(roles.all()), frozenset(permissions.all())
