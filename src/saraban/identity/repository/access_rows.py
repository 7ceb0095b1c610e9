"""Queries behind “why may they?”: every role that somebody was given, and those who could give one."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.domain.context import EVERYTHING, Scope
from saraban.identity.models import (
    Organization,
    Permission,
    Role,
    RolePermission,
    User,
    UserAssignment,
    in_force,
    named,
)
from saraban.identity.repository import CONTRACTS, PROJECTS, acts
from saraban.kit.db import AnyRow


async def person(session: AsyncSession, *, public_id: UUID | None = None, username: str = "") -> User | None:
    """Also of a closed account."""
    who = User.public_id == public_id if public_id is not None else User.username == username
    return await session.scalar(sa.select(User).where(who, User.deleted_at.is_(None)))


async def held(session: AsyncSession, *, user_id: int) -> Sequence[AnyRow]:
    """(assignment, role, place's code, giver) of each role that was given, at whatever time."""
    given, giver = UserAssignment, aliased(User)
    place = sa.func.coalesce(Organization.organization_code, PROJECTS.c.project_code, CONTRACTS.c.contract_code)
    statement = (
        sa.select(given, Role, place.label("place"), named("giver", giver))
        .join(Role, Role.role_id == given.role_id)
        .outerjoin(Organization, Organization.id == given.organization_id)
        .outerjoin(PROJECTS, PROJECTS.c.id == given.project_id)
        .outerjoin(CONTRACTS, CONTRACTS.c.id == given.contract_id)
        .outerjoin(giver, giver.user_id == given.assigned_by_user_id)
        .where(given.user_id == user_id)
        .order_by(given.id)
    )
    return (await session.execute(statement)).all()


async def holders_at(session: AsyncSession, permission: str, scope: Scope, *, limit: int) -> list[UUID]:
    """The people who hold a permission, or everything, in a place of the scope or everywhere; narrow roles first."""
    given = UserAssignment
    everywhere = sa.and_(given.organization_id.is_(None), given.project_id.is_(None), given.contract_id.is_(None))
    here = [everywhere, given.organization_id.in_(scope.organizations)]
    here += [given.project_id == scope.project] if scope.project is not None else []
    here += [given.contract_id == scope.contract] if scope.contract is not None else []
    statement = (
        sa.select(User.public_id)
        .join(given, given.user_id == User.user_id)
        .join(Role, Role.role_id == given.role_id)
        .join(RolePermission, RolePermission.role_id == Role.role_id)
        .join(Permission, Permission.permission_id == RolePermission.permission_id)
        .where(sa.or_(*here), in_force(), Role.deleted_at.is_(None), *acts())
        .where(Permission.permission_name.in_((permission, EVERYTHING)), Permission.is_active)
        .group_by(User.public_id)
        .order_by(sa.func.min(sa.case((everywhere, 1), else_=0)), User.public_id)
        .limit(limit)
    )
    return list(await session.scalars(statement))
