"""Queries about who has which role where and when, and who could give one; a statement each, or one for each part of a long list."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

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
    named,
)
from saraban.identity.repository import CONTRACTS, PROJECTS, acts, parts
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.keys import spelled


class AssignmentColumns(TypedDict):
    role_id: int
    organization_id: int | None
    project_id: int | None
    contract_id: int | None


class PlaceColumns(NamedTuple):
    """What names the places of one level in which a role is given."""

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
    """Row of (id, code, project_id) of the organization, project or contract with a public id or a code."""
    place = PLACES[level]
    statement: AnySelect = sa.select(place.key.label("id"), place.code.label("code"), place.project.label("project_id"))
    if isinstance(named, UUID):
        return (await session.execute(statement.where(place.public_id == named))).one_or_none()
    if level == ORGANIZATION:
        statement = statement.where(Organization.deleted_at.is_(None))
    return (await session.execute(spelled(statement, place.code, named))).one_or_none()


async def place_codes(session: AsyncSession, scope: Scope) -> dict[str, list[str]]:
    """The codes of the organizations, the project and the contract of a scope, by their levels."""
    keys: dict[str, Collection[int | None]] = {
        ORGANIZATION: scope.organizations,
        PROJECT: [scope.project],
        CONTRACT: [scope.contract],
    }
    statements: list[AnySelect] = [
        sa.select(sa.literal(level).label("level"), place.code.label("code")).where(place.key.in_(keys[level]))
        for level, place in PLACES.items()
    ]
    found: dict[str, list[str]] = {}
    for row in await session.execute(sa.union_all(*statements)):
        found.setdefault(row.level, []).append(row.code)
    return {level: sorted(codes) for level, codes in found.items()}


async def of_users(session: AsyncSession, user_ids: Collection[int]) -> dict[int, list[UserAssignment]]:
    """The assignments of people by the keys of these, those of other times too."""
    found: dict[int, list[UserAssignment]] = {}
    for part in parts(user_ids):
        for row in await session.scalars(sa.select(UserAssignment).where(UserAssignment.user_id.in_(part))):
            found.setdefault(row.user_id, []).append(row)
    return found


class HeldRoleRow(NamedTuple):
    """
    A role with its place; the keys stay inside.

    :param counts: the database's clock is within its period
    """

    id: int
    public_id: UUID
    role: Role
    valid_from: datetime | None
    valid_until: datetime | None
    assigned_at: datetime
    giver: UserName
    organization_id: int | None
    project_id: int | None
    contract_id: int | None
    contract_project_id: int | None
    place_public_id: UUID | None
    place_code: str | None
    gives_everything: bool
    counts: bool


async def with_places(session: AsyncSession, *, user_id: int, closed: bool = False) -> list[HeldRoleRow]:
    """:param closed: roles that are closed, too"""
    giver = aliased(User)
    given = UserAssignment
    statement = (
        sa.select(
            given.id,
            given.public_id,
            Role,
            given.valid_from,
            given.valid_until,
            given.assigned_at,
            named("giver", giver),
            given.organization_id,
            given.project_id,
            given.contract_id,
            CONTRACTS.c.project_id,
            sa.func.coalesce(Organization.public_id, PROJECTS.c.uuid, CONTRACTS.c.uuid),
            sa.func.coalesce(Organization.organization_code, PROJECTS.c.project_code, CONTRACTS.c.contract_code),
            carries(EVERYTHING),
            in_force(),
        )
        .select_from(given)
        .join(Role, Role.role_id == given.role_id)
        .outerjoin(Organization, Organization.id == given.organization_id)
        .outerjoin(PROJECTS, PROJECTS.c.id == given.project_id)
        .outerjoin(CONTRACTS, CONTRACTS.c.id == given.contract_id)
        .outerjoin(giver, giver.user_id == given.assigned_by_user_id)
        .where(given.user_id == user_id, sa.true() if closed else Role.deleted_at.is_(None))
        .order_by(given.id)
    )
    return [HeldRoleRow._make(row) for row in await session.execute(statement)]


async def lasting_administrations(session: AsyncSession) -> Sequence[AnyRow]:
    """(assignment, user) of each role that may do everything everywhere, now and without an end, of people who can sign in."""
    given = UserAssignment
    statement = (
        sa.select(given.id, given.user_id)
        .join(User, User.user_id == given.user_id)
        .join(Role, Role.role_id == given.role_id)
        .where(given.organization_id.is_(None), given.project_id.is_(None), given.contract_id.is_(None))
        .where(given.valid_until.is_(None), in_force(), Role.deleted_at.is_(None), carries(EVERYTHING))
        .where(*acts(), User.username != SYSTEM_USERNAME, User.password_hash != NO_PASSWORD)
    )
    return (await session.execute(statement)).all()


def _period_due() -> sa.ColumnElement[bool]:
    return UserAssignment.changes_at <= DatabaseNow()


async def any_period_due(session: AsyncSession) -> bool:
    return bool(await session.scalar(sa.select(sa.exists().where(_period_due()))))


async def lock_due_periods(session: AsyncSession, *, limit: int) -> Sequence[tuple[UserAssignment, User]]:
    """Assignments that have begun or ended since anybody was told, the first to change first."""
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
    """Where a role can be given; the keys stay inside."""

    level: str
    id: int
    project_id: int | None
    public_id: UUID
    code: str
    name: str


async def places(session: AsyncSession) -> list[PlaceRow]:
    """Every open organization, every project and every contract, by their codes."""
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
