"""Rows of definitions, instances and workflow assignments."""

from collections.abc import Collection, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import defer

from saraban.identity.models import Permission, Role, User
from saraban.kit.db import AnyRow
from saraban.kit.json import Json, as_object
from saraban.kit.keys import is_spelled
from saraban.kit.pagination import Cursor, newest_first
from saraban.projects.models import Contract, Project, RfaType
from saraban.workflow.language.subject import InstanceStatus
from saraban.workflow.runtime.models import Instance, WorkflowAssignment, WorkflowDefinition, WorkflowInstance

_C, _D, _I = WorkflowAssignment, WorkflowDefinition, WorkflowInstance


async def summaries(session: AsyncSession, *, code: str | None) -> Sequence[AnyRow]:
    """Return (id, code, version, description, is active, when, name fields), newest first."""
    statement = (
        sa.select(
            _D.id,
            _D.workflow_code,
            _D.version,
            # The definition's own text has both languages.
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


async def running_on(session: AsyncSession, definition_id: UUID) -> int:
    statement = sa.select(sa.func.count()).where(
        WorkflowInstance.definition_id == definition_id, WorkflowInstance.status == InstanceStatus.ACTIVE
    )
    return await session.scalar(statement) or 0


async def version_of(session: AsyncSession, code: str, version: int) -> WorkflowDefinition | None:
    return await session.scalar(sa.select(_D).where(_D.workflow_code == code, _D.version == version))


async def locked_versions(session: AsyncSession, code: str) -> Sequence[WorkflowDefinition]:
    statement = sa.select(_D).where(_D.workflow_code == code).order_by(_D.version).with_for_update()
    return (await session.scalars(statement)).all()


async def definitions(
    session: AsyncSession, *, code: str | None, cursor: str | None, limit: int
) -> Sequence[sa.Row[WorkflowDefinition, Json]]:
    """Return (definition without its content, description), one more than `limit`."""
    statement = sa.select(_D, _D.dsl["description"]).options(defer(_D.dsl, raiseload=True))
    if code is not None:
        statement = statement.where(_D.workflow_code == code)
    statement = newest_first(statement, at=_D.created_at, public_id=_D.id, cursor=cursor, limit=limit)
    return (await session.execute(statement)).all()


async def known_names(session: AsyncSession) -> tuple[frozenset[str], frozenset[str]]:
    roles = await session.scalars(sa.select(Role.role_name).where(Role.deleted_at.is_(None)))
    permissions = await session.scalars(sa.select(Permission.permission_name).where(Permission.is_active))
    return frozenset(roles.all()), frozenset(permissions.all())


async def assignment(session: AsyncSession, *, kind: str, reach: int, type_code: str) -> WorkflowAssignment | None:
    return await session.scalar(
        sa.select(_C).where(_C.kind == kind, _C.reach == reach, _C.type_code == type_code).with_for_update()
    )


async def assignments(session: AsyncSession, *, reaches: Collection[int] | None = None) -> Sequence[AnyRow]:
    """Return (assignment, project id and code, author, whether a version is active)."""
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
    statement = sa.select(_C.kind, _C.type_code).where(_C.workflow_code == code).distinct()
    return (await session.execute(statement.order_by(_C.kind, _C.type_code))).all()


async def in_force(session: AsyncSession) -> Sequence[sa.Row[UUID, str, int]]:
    statement = sa.select(_D.id, _D.workflow_code, _D.version).where(_D.is_active).order_by(_D.workflow_code)
    return (await session.execute(statement)).all()


async def rfa_type_known(session: AsyncSession, *, code: str, project_id: int | None) -> bool:
    statement = (
        sa.select(RfaType.id)
        .join(Contract, Contract.id == RfaType.contract_id)
        .where(
            is_spelled(RfaType.type_code, [code]), RfaType.is_active, Contract.is_active, Contract.deleted_at.is_(None)
        )
    )
    if project_id is not None:
        statement = statement.where(Contract.project_id == project_id)
    return await session.scalar(statement.limit(1)) is not None


def _on_other_versions(code: str, definition_id: UUID) -> sa.Select[UUID, int]:
    return (
        sa.select(_I.id, _D.version)
        .join(_D, _D.id == _I.definition_id)
        .where(_D.workflow_code == code, _I.definition_id != definition_id, _I.status == InstanceStatus.ACTIVE)
    )


async def running_page(
    session: AsyncSession, *, code: str, definition_id: UUID, after: UUID | None, limit: int
) -> Sequence[tuple[UUID, int]]:
    statement = _on_other_versions(code, definition_id)
    if after is not None:
        statement = statement.where(_I.id > after)
    return [(row.id, row.version) for row in await session.execute(statement.order_by(_I.id).limit(limit))]


async def running_count(session: AsyncSession, *, code: str, definition_id: UUID) -> int:
    inner = _on_other_versions(code, definition_id).subquery()
    return await session.scalar(sa.select(sa.func.count()).select_from(inner)) or 0


async def rows_of(session: AsyncSession, ids: Collection[UUID], *, lock: bool) -> Sequence[Instance]:
    """The order of the locks prevents deadlocks between two runs."""
    statement = sa.select(_I).where(_I.id.in_(ids)).order_by(_I.id)
    rows = (await session.scalars(statement.with_for_update() if lock else statement)).all()
    return [Instance.detached(session, row) for row in rows]


async def state_names(session: AsyncSession, *, code: str) -> frozenset[str]:
    compiled_versions = await session.scalars(sa.select(_D.compiled).where(_D.workflow_code == code))
    return frozenset(name for compiled in compiled_versions for name in as_object(compiled["states"]))


async def running_by_state(
    session: AsyncSession, *, code: str | None
) -> Sequence[sa.Row[str, int, bool, str | None, int]]:
    """Return (code, version, is active, state or None, count), newest first."""
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


def _completed_conditions(code: str, after: Cursor | None) -> list[sa.ColumnElement[bool]]:
    of_code = _I.definition_id.in_(sa.select(_D.id).where(_D.workflow_code == code))
    conditions: list[sa.ColumnElement[bool]] = [of_code, _I.status == InstanceStatus.COMPLETED]
    if after is not None:
        at = _I.last_transition_at
        conditions.append(sa.or_(at < after.at, sa.and_(at == after.at, _I.id < after.public_id)))
    return conditions


async def closed_page(session: AsyncSession, *, code: str, after: Cursor | None, limit: int) -> Sequence[Instance]:
    statement = (
        sa.select(_I)
        .where(*_completed_conditions(code, after))
        .order_by(_I.last_transition_at.desc(), _I.id.desc())
        .limit(limit)
    )
    return [Instance.detached(session, row) for row in (await session.scalars(statement)).all()]


async def closed_count(session: AsyncSession, *, code: str, after: Cursor | None) -> int:
    statement = sa.select(sa.func.count()).select_from(_I).where(*_completed_conditions(code, after))
    return await session.scalar(statement) or 0
