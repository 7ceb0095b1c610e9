"""Queries about assigned roles, their places and periods."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.account import NO_PASSWORD
from saraban.identity.domain.catalogue import CONTRACT, ORGANIZATION, PROJECT, SYSTEM_USERNAME
from saraban.identity.domain.context import EVERYTHING, Scope
from saraban.identity.models import (
    DatabaseNow,
    Organization,
    Permission,
    Role,
    RolePermission,
    User,
    UserAssignment,
    UserName,
    carries,
    in_force,
)
from saraban.identity.repository import ASSIGNMENT, CONTRACTS, PROJECTS, ROLE, acts, parts
from saraban.identity.repository import ORGANIZATION as PLACE
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.kit.keys import spelled


class AssignmentColumns(TypedDict):
    role_id: int
    organization_id: int | None
    project_id: int | None
    contract_id: int | None


class PlaceColumns(NamedTuple):
    key: sa.SQLColumnExpression[Any]
    project: sa.SQLColumnExpression[Any]
    public_id: sa.SQLColumnExpression[Any]
    code: sa.SQLColumnExpression[Any]
    name: sa.SQLColumnExpression[Any]


PLACES = {
    ORGANIZATION: PlaceColumns(
        Organization.id,
        sa.null(),
        Organization.public_id,
        Organization.organization_code,
        Organization.organization_name,
    ),
    PROJECT: PlaceColumns(
        PROJECTS.c.id, PROJECTS.c.id, PROJECTS.c.uuid, PROJECTS.c.project_code, PROJECTS.c.project_name
    ),
    CONTRACT: PlaceColumns(
        CONTRACTS.c.id, CONTRACTS.c.project_id, CONTRACTS.c.uuid, CONTRACTS.c.contract_code, CONTRACTS.c.contract_name
    ),
}


async def place_keys(session: AsyncSession, level: str, named: UUID | str) -> AnyRow | None:
    """Return (id, code, project_id)."""
    place = PLACES[level]
    statement: AnySelect = sa.select(place.key.label("id"), place.code.label("code"), place.project.label("project_id"))
    if isinstance(named, UUID):
        return (await session.execute(statement.where(place.public_id == named))).one_or_none()
    if level == ORGANIZATION:
        statement = statement.where(Organization.deleted_at.is_(None))
    return (await session.execute(spelled(statement, place.code, named))).one_or_none()


async def place_codes(session: AsyncSession, scope: Scope) -> dict[str, list[str]]:
    keys: dict[str, Collection[int | None]] = {
        ORGANIZATION: scope.organizations,
        PROJECT: [scope.project],
        CONTRACT: [scope.contract],
    }
    statements: list[AnySelect] = [
        sa.select(sa.literal(level).label("level"), place.code.label("code")).where(place.key.in_(keys[level]))
        for level, place in PLACES.items()
    ]
    codes_of_level: dict[str, list[str]] = {}
    for row in await session.execute(sa.union_all(*statements)):
        codes_of_level.setdefault(row.level, []).append(row.code)
    return {level: sorted(codes) for level, codes in codes_of_level.items()}


async def assignments_of_users(session: AsyncSession, user_ids: Collection[int]) -> dict[int, list[UserAssignment]]:
    assignments: dict[int, list[UserAssignment]] = {}
    for part in parts(user_ids):
        for row in await session.scalars(sa.select(UserAssignment).where(UserAssignment.user_id.in_(part))):
            assignments.setdefault(row.user_id, []).append(row)
    return assignments


class HeldRoleRow(NamedTuple):
    """:param counts: its period includes the database's present moment"""

    id: int
    public_id: UUID
    role_id: int
    role_name: str
    role_name_en: str | None
    level: str
    closed_at: datetime | None
    valid_from: datetime | None
    valid_until: datetime | None
    assigned_at: datetime
    organization_id: int | None
    project_id: int | None
    contract_id: int | None
    contract_project_id: int | None
    place_public_id: UUID | None
    place_code: str | None
    gives_everything: bool
    counts: bool
    giver: UserName


_GIVER = table_of(User).alias()
_HELD_ROLES = (
    sa.select(
        ASSIGNMENT.id,
        ASSIGNMENT.uuid,
        ROLE.role_id,
        ROLE.role_name,
        ROLE.role_name_en,
        ROLE.scope,
        ROLE.deleted_at,
        ASSIGNMENT.valid_from,
        ASSIGNMENT.valid_until,
        ASSIGNMENT.assigned_at,
        ASSIGNMENT.organization_id,
        ASSIGNMENT.project_id,
        ASSIGNMENT.contract_id,
        CONTRACTS.c.project_id,
        sa.func.coalesce(PLACE.uuid, PROJECTS.c.uuid, CONTRACTS.c.uuid),
        sa.func.coalesce(PLACE.organization_code, PROJECTS.c.project_code, CONTRACTS.c.contract_code),
        carries(EVERYTHING),
        in_force(),
        _GIVER.c.uuid,
        _GIVER.c.first_name,
        _GIVER.c.last_name,
        _GIVER.c.username,
    )
    .select_from(table_of(UserAssignment))
    .join(table_of(Role), ROLE.role_id == ASSIGNMENT.role_id)
    .outerjoin(table_of(Organization), PLACE.id == ASSIGNMENT.organization_id)
    .outerjoin(PROJECTS, PROJECTS.c.id == ASSIGNMENT.project_id)
    .outerjoin(CONTRACTS, CONTRACTS.c.id == ASSIGNMENT.contract_id)
    .outerjoin(_GIVER, _GIVER.c.user_id == ASSIGNMENT.assigned_by_user_id)
    .where(ASSIGNMENT.user_id == sa.bindparam("user_id"))
    .order_by(ASSIGNMENT.id)
)


async def list_held_roles(session: AsyncSession, *, user_id: int, closed: bool = False) -> list[HeldRoleRow]:
    rows = await session.execute(_HELD_ROLES, {"user_id": user_id})
    held = [HeldRoleRow._make((*row[:-4], UserName._make(row[-4:]))) for row in rows]
    return [row for row in held if closed or row.closed_at is None]


async def lasting_administrations(session: AsyncSession) -> Sequence[AnyRow]:
    """Return (assignment, user) of permanent, global administrators who can sign in."""
    assignment = UserAssignment
    statement = (
        sa.select(assignment.id, assignment.user_id)
        .join(User, User.user_id == assignment.user_id)
        .join(Role, Role.role_id == assignment.role_id)
        .where(assignment.organization_id.is_(None), assignment.project_id.is_(None), assignment.contract_id.is_(None))
        .where(assignment.valid_until.is_(None), in_force(), Role.deleted_at.is_(None), carries(EVERYTHING))
        .where(*acts(), User.username != SYSTEM_USERNAME, User.password_hash != NO_PASSWORD)
    )
    return (await session.execute(statement)).all()


def _period_due() -> sa.ColumnElement[bool]:
    return UserAssignment.changes_at <= DatabaseNow()


async def any_period_due(session: AsyncSession) -> bool:
    return bool(await session.scalar(sa.select(sa.exists().where(_period_due()))))


async def lock_due_periods(session: AsyncSession, *, limit: int) -> Sequence[tuple[UserAssignment, User]]:
    """Lock assignments with an unannounced begin or end, the earliest first."""
    statement = (
        sa.select(UserAssignment, User)
        .join(User, User.user_id == UserAssignment.user_id)
        .where(_period_due())
        .order_by(UserAssignment.changes_at, UserAssignment.id)
        .limit(limit)
        .with_for_update(of=UserAssignment)
    )
    rows = await session.execute(statement.execution_options(populate_existing=True))
    return [(row[0], row[1]) for row in rows]


class PlaceRow(NamedTuple):
    level: str
    id: int
    project_id: int | None
    public_id: UUID
    code: str
    name: str


async def places(session: AsyncSession) -> list[PlaceRow]:
    rows: list[PlaceRow] = []
    for level, place in PLACES.items():
        statement = sa.select(place.key, place.project, place.public_id, place.code, place.name).order_by(place.code)
        if level == ORGANIZATION:
            statement = statement.where(Organization.is_active, Organization.deleted_at.is_(None))
        rows += [PlaceRow(level, *row) for row in await session.execute(statement)]
    return rows


async def roles(session: AsyncSession) -> Sequence[Role]:
    return (await session.scalars(sa.select(Role).where(Role.deleted_at.is_(None)).order_by(Role.role_id))).all()


async def holders_at(session: AsyncSession, permission: str, scope: Scope, *, limit: int) -> list[UUID]:
    """Return holders of the permission, or of every permission, in the scope; holders of global roles last."""
    assignment = UserAssignment
    everywhere = sa.and_(
        assignment.organization_id.is_(None), assignment.project_id.is_(None), assignment.contract_id.is_(None)
    )
    here = [everywhere, assignment.organization_id.in_(scope.organizations)]
    here += [assignment.project_id == scope.project] if scope.project is not None else []
    here += [assignment.contract_id == scope.contract] if scope.contract is not None else []
    statement = (
        sa.select(User.public_id)
        .join(assignment, assignment.user_id == User.user_id)
        .join(Role, Role.role_id == assignment.role_id)
        .join(RolePermission, RolePermission.role_id == Role.role_id)
        .join(Permission, Permission.permission_id == RolePermission.permission_id)
        .where(sa.or_(*here), in_force(), Role.deleted_at.is_(None), *acts())
        .where(Permission.permission_name.in_((permission, EVERYTHING)), Permission.is_active)
        .group_by(User.public_id)
        .order_by(sa.func.min(sa.case((everywhere, 1), else_=0)), User.public_id)
        .limit(limit)
    )
    return list(await session.scalars(statement))
