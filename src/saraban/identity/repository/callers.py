"""Reads users with what their roles allow, in one query."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased

from saraban.identity.models import (
    Organization,
    Permission,
    Role,
    RolePermission,
    User,
    UserAssignment,
    UserPreference,
)
from saraban.identity.repository import role_scopes
from saraban.kit.db import AnyRow, AnySelect, SessionOrConnection

_projects, _contracts = role_scopes.projects, role_scopes.contracts


def _permissions() -> sa.Label[Any]:
    """The permissions of the row's role, joined by a space; only the roles at hand are looked at."""
    return (
        sa.select(sa.func.aggregate_strings(Permission.permission_name, " "))
        .join(RolePermission, RolePermission.permission_id == Permission.permission_id)
        .where(RolePermission.role_id == Role.role_id, Permission.is_active)
        .correlate(Role)
        .scalar_subquery()
        .label("permissions")
    )


@cache
def _users_with_grants() -> AnySelect:
    """Built once: putting it together takes longer than the database does with it, and every request asks."""
    return (
        sa.select(
            User.user_id,
            User.public_id.label("public_id"),  # the column has another name, which is what a bare connection would say
            User.username,
            User.first_name,
            User.last_name,
            User.primary_organization_id,
            User.is_service,
            User.draws_per_minute,
            UserPreference.language,
            UserAssignment.organization_id,
            UserAssignment.project_id,
            UserAssignment.contract_id,
            Role.role_name,
            _permissions(),
        )
        .outerjoin(UserPreference, UserPreference.user_id == User.user_id)
        .outerjoin(UserAssignment, UserAssignment.user_id == User.user_id)
        .outerjoin(Role, sa.and_(Role.role_id == UserAssignment.role_id, Role.deleted_at.is_(None)))
        .order_by(User.username, UserAssignment.id)
    )


@cache
def _open_users() -> AnySelect:
    asked: sa.BindParameter[Any] = sa.bindparam("asked", expanding=True)
    return _users_with_grants().where(User.public_id.in_(asked), User.is_active, User.deleted_at.is_(None))


async def rows_of_users(connected: SessionOrConnection, public_ids: Collection[UUID]) -> Sequence[AnyRow]:
    """One row for each assignment of a user (one of nulls without any); none of a user whose account is closed."""
    return list((await connected.execute(_open_users(), {"asked": list(public_ids)})).all())


async def rows_of_username(session: AsyncSession, username: str) -> Sequence[AnyRow]:
    return list((await session.execute(_user_named(), {"username": username})).all())


@cache
def _user_named() -> AnySelect:
    return _users_with_grants().where(User.username == sa.bindparam("username"))


async def assignments_of(session: AsyncSession, *, user_id: int) -> Sequence[AnyRow]:
    """One row for each assignment with the public name of its scope."""
    statement = (
        sa.select(
            Role.role_name,
            Role.scope,
            Organization.public_id.label("organization_public_id"),
            Organization.organization_code,
            _projects.c.uuid.label("project_public_id"),
            _projects.c.project_code,
            _contracts.c.uuid.label("contract_public_id"),
            _contracts.c.contract_code,
        )
        .select_from(UserAssignment)
        .join(Role, Role.role_id == UserAssignment.role_id)
        .outerjoin(Organization, Organization.id == UserAssignment.organization_id)
        .outerjoin(_projects, _projects.c.id == UserAssignment.project_id)
        .outerjoin(_contracts, _contracts.c.id == UserAssignment.contract_id)
        .where(UserAssignment.user_id == user_id, Role.deleted_at.is_(None))
        .order_by(UserAssignment.id)
    )
    return list((await session.execute(statement)).all())


async def members(
    session: AsyncSession, organization_ids: frozenset[int], permission: str | None, *, project_id: int | None = None
) -> Sequence[AnyRow]:
    """
    One row for each active person, no program, who works for one of them and may do `permission` somewhere.

    :param project_id: or has a role in this project
    """
    belongs = sa.or_(
        User.primary_organization_id.in_(organization_ids),
        sa.exists().where(UserAssignment.user_id == User.user_id, UserAssignment.organization_id.in_(organization_ids)),
    )
    if project_id is not None:
        here = sa.exists().where(UserAssignment.user_id == User.user_id, UserAssignment.project_id == project_id)
        belongs = sa.or_(belongs, here)
    statement = (
        sa.select(User.user_id, User.public_id, User.username, User.first_name, User.last_name)
        .where(belongs, *_acts())
        .order_by(User.username)
    )
    if permission is not None:
        statement = statement.where(_may([permission]))
    return list((await session.execute(statement)).all())


async def members_of_each(
    session: AsyncSession, organization_ids: Collection[int], permissions: Collection[str] | None
) -> Sequence[AnyRow]:
    """The same people, with a row for each of the organizations that they work for; who may do one of some things."""
    asked = {"organizations": list(organization_ids)} | ({} if permissions is None else {"names": list(permissions)})
    return list((await session.execute(_members_of_each(may=permissions is not None), asked)).all())


@cache
def _members_of_each(*, may: bool) -> sa.CompoundSelect[*tuple[Any, ...]]:
    """Built once each: every event that is told of asks."""
    places: Any = sa.bindparam("organizations", expanding=True)
    names: Any = sa.bindparam("names", expanding=True)
    who = (User.user_id, User.public_id.label("public_id"))
    home, place = User.primary_organization_id, UserAssignment.organization_id
    at_home = sa.select(home.label("organization_id"), *who).where(home.in_(places))
    placed = sa.select(place, *who).join(User, User.user_id == UserAssignment.user_id).where(place.in_(places))
    who_may = (_may(names),) if may else ()
    return sa.union(*(one.where(*_acts(), *who_may) for one in (at_home, placed)))


def _acts() -> tuple[sa.ColumnElement[bool], ...]:
    return (User.is_active.is_(True), User.is_service.is_(False), User.deleted_at.is_(None))


def _may(permissions: Any) -> sa.ColumnElement[bool]:
    given = aliased(UserAssignment)
    return (
        sa.exists()
        .where(given.user_id == User.user_id)
        .where(RolePermission.role_id == given.role_id)
        .where(Permission.permission_id == RolePermission.permission_id)
        .where(Permission.permission_name.in_(permissions))
    )
