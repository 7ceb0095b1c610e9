"""Queries about roles, their permissions and their holders."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import EVERYTHING
from saraban.identity.models import DatabaseNow, Permission, Role, RolePermission, User, UserAssignment, carries
from saraban.kit.db import AnyRow
from saraban.kit.pagination import newest_first

# These tables belong to packages that import this one.
_projects = sa.table("projects", sa.column("id"), sa.column("uuid", sa.Uuid()), sa.column("project_code"))
_definitions = sa.table("workflow_definitions", sa.column("dsl", sa.JSON()))


class RoleRow(NamedTuple):
    role: Role
    project_public_id: UUID | None
    project_code: str | None


def _visible_roles(projects: frozenset[int] | None) -> sa.Select[tuple[Role, UUID | None, str | None]]:
    """:param projects: None for all"""
    statement = sa.select(Role, _projects.c.uuid, _projects.c.project_code).outerjoin(
        _projects, _projects.c.id == Role.project_id
    )
    if projects is None:
        return statement
    return statement.where(sa.or_(Role.project_id.is_(None), Role.project_id.in_(projects)))


async def role_page(
    session: AsyncSession,
    *,
    seen_in: frozenset[int] | None,
    project: UUID | None,
    cursor: str | None,
    limit: int,
) -> list[RoleRow]:
    statement = _visible_roles(seen_in)
    if project is not None:
        statement = statement.where(sa.or_(Role.project_id.is_(None), _projects.c.uuid == project))
    statement = newest_first(statement, at=Role.created_at, public_id=Role.public_id, cursor=cursor, limit=limit)
    return [RoleRow._make(row) for row in (await session.execute(statement)).all()]


async def role(session: AsyncSession, named: UUID | str, *, seen_in: frozenset[int] | None) -> RoleRow | None:
    condition = Role.public_id == named if isinstance(named, UUID) else Role.role_name == named
    row = (await session.execute(_visible_roles(seen_in).where(condition))).one_or_none()
    return None if row is None else RoleRow._make(row)


async def is_role_in_definition(session: AsyncSession, name: str) -> bool:
    """Return whether any workflow version names the role, active or not."""
    text = orjson.dumps(name)
    return any(text in orjson.dumps(dsl) for dsl in await session.scalars(sa.select(_definitions.c.dsl)))


async def project_by_id(session: AsyncSession, public_id: UUID) -> int | None:
    return await session.scalar(sa.select(_projects.c.id).where(_projects.c.uuid == public_id))


async def permission_names(session: AsyncSession) -> list[str]:
    names = sa.select(Permission.permission_name).where(Permission.is_active).order_by(Permission.permission_id)
    return list(await session.scalars(names))


async def permissions_of_role(session: AsyncSession, role_id: int) -> frozenset[str]:
    return (await permissions_of_roles(session, [role_id])).get(role_id, frozenset())


async def permissions_of_roles(session: AsyncSession, role_ids: Collection[int]) -> dict[int, frozenset[str]]:
    statement = (
        sa.select(RolePermission.role_id, Permission.permission_name)
        .join(Permission, Permission.permission_id == RolePermission.permission_id)
        .where(RolePermission.role_id.in_(role_ids), Permission.is_active)
    )
    names_of_role: dict[int, set[str]] = {}
    for row in await session.execute(statement):
        names_of_role.setdefault(row.role_id, set()).add(row.permission_name)
    return {key: frozenset(names) for key, names in names_of_role.items()}


async def roles_with_permissions(
    session: AsyncSession, permissions: Collection[str], *, project: int | None
) -> Sequence[Role]:
    """Return open roles with one of the permissions, or with all."""
    belongs = sa.or_(Role.project_id.is_(None), Role.project_id == project)
    statement = sa.select(Role).where(carries(*permissions, EVERYTHING), belongs, Role.deleted_at.is_(None))
    return (await session.scalars(statement.order_by(Role.role_id))).all()


async def replace_permissions(session: AsyncSession, *, role_id: int, names: Collection[str]) -> None:
    await session.execute(sa.delete(RolePermission).where(RolePermission.role_id == role_id))
    if names:
        keys = sa.select(sa.literal(role_id), Permission.permission_id).where(Permission.permission_name.in_(names))
        await session.execute(sa.insert(RolePermission).from_select(["role_id", "permission_id"], keys))


def _current_assignments(role_ids: Collection[int]) -> tuple[sa.ColumnElement[bool], ...]:
    ends = UserAssignment.valid_until
    lasts = sa.or_(ends.is_(None), ends > DatabaseNow())
    return (UserAssignment.role_id.in_(role_ids), User.deleted_at.is_(None), lasts)


async def holder_counts(session: AsyncSession, role_ids: Collection[int]) -> dict[int, int]:
    people: Any = sa.func.count(sa.distinct(UserAssignment.user_id))
    statement = (
        sa.select(UserAssignment.role_id, people)
        .join(User, User.user_id == UserAssignment.user_id)
        .where(*_current_assignments(role_ids))
        .group_by(UserAssignment.role_id)
    )
    return {row[0]: row[1] for row in await session.execute(statement)}


async def holders(session: AsyncSession, role_id: int) -> list[UUID]:
    statement = (
        sa.select(User.public_id)
        .join(UserAssignment, UserAssignment.user_id == User.user_id)
        .where(*_current_assignments([role_id]))
        .distinct()
        .order_by(User.public_id)
    )
    return list(await session.scalars(statement))


async def lock_role(session: AsyncSession, public_id: UUID) -> Role:
    return (await session.scalars(sa.select(Role).where(Role.public_id == public_id).with_for_update())).one()


async def role_names(session: AsyncSession) -> Sequence[AnyRow]:
    return (await session.execute(sa.select(Role.role_name, Role.role_name_en))).all()


async def is_role_name_taken(session: AsyncSession, name: str) -> bool:
    return bool(await session.scalar(sa.select(sa.exists().where(Role.role_name == name))))
