"""Queries about accounts, grants and tokens."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute, aliased, undefer

from saraban.identity.domain.catalogue import SYSTEM_USERNAME, role_names_of
from saraban.identity.models import (
    Organization,
    OrganizationRole,
    Permission,
    RefreshToken,
    Role,
    RolePermission,
    User,
    UserAssignment,
    UserInvitation,
    UserPreference,
    in_force,
)
from saraban.identity.schemas import OrganizationSearch
from saraban.kit.db import AnyRow, AnySelect, table_of
from saraban.kit.keys import NormalKey, is_spelled, key_column, spelled
from saraban.kit.pagination import newest_first
from saraban.kit.text import Spellings, normal_form


# These tables belong to `projects`, which imports this package.
def _coded_table(name: str, noun: str, *more: str) -> sa.TableClause:
    keys = sa.column(f"{noun}_code_key", NormalKey()), sa.column("uuid", sa.Uuid())
    return sa.table(name, *map(sa.column, ("id", f"{noun}_code", f"{noun}_name", *more)), *keys)


PROJECTS, CONTRACTS = _coded_table("projects", "project"), _coded_table("contracts", "contract", "project_id")


async def user_named(session: AsyncSession, *, username: str, with_password: bool = False) -> User | None:
    statement = spelled(sa.select(User).where(User.deleted_at.is_(None)), User.username, username)
    return await session.scalar(statement.options(undefer(User.password_hash)) if with_password else statement)


_MOST_VALUES = 500  # values of one list
T = TypeVar("T")


def parts(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """Split the distinct values into parts of at most 500."""
    distinct = list(dict.fromkeys(values))
    return (distinct[start : start + _MOST_VALUES] for start in range(0, len(distinct), _MOST_VALUES))


async def taken_names(session: AsyncSession, usernames: Sequence[str], emails: Sequence[str]) -> dict[str, str]:
    """Return those in use or alike, by normal form; deleted accounts count."""
    names: dict[str, str] = {}
    for column, key, values in (
        (User.username, key_column(User.username), usernames),
        (User.email, User.email, emails),
    ):
        for part in parts(values):
            names |= {
                normal_form(value): value for value in await session.scalars(sa.select(column).where(key.in_(part)))
            }
    return names


async def organization_keys(session: AsyncSession, named: Iterable[str | UUID | None]) -> dict[str | UUID, int]:
    given = set(named) - {None}
    keys: dict[str | UUID, int] = {}
    for column, kind in ((Organization.organization_code, str), (Organization.public_id, UUID)):
        for part in parts(reference for reference in given if isinstance(reference, kind)):
            statement = sa.select(column, Organization.id).where(_is_any_of(column, part))
            rows = await session.execute(statement.where(Organization.deleted_at.is_(None)))
            keys |= _key_by_given({row[0]: row[1] for row in rows}, part)
    return keys


def _is_any_of(column: Any, part: Sequence[Any]) -> sa.ColumnElement[bool]:
    return is_spelled(column, part) if isinstance(part[0], str) else column.in_(part)


def _key_by_given(rows: Mapping[Any, T], part: Sequence[Any]) -> dict[Any, T]:
    return Spellings(rows).of(part) if isinstance(part[0], str) else dict(rows)


async def organization_code(session: AsyncSession, key: int) -> str | None:
    return await session.scalar(sa.select(Organization.organization_code).where(Organization.id == key))


async def people_named(
    session: AsyncSession, given: Sequence[str | UUID], *, lock: bool = False
) -> dict[str | UUID, User]:
    """Return accounts by the given names or ids; `system` has no public id here."""
    users: dict[str | UUID, User] = {}
    for column, kind in ((User.username, str), (User.public_id, UUID)):
        for part in parts(reference for reference in given if isinstance(reference, kind)):
            statement = sa.select(User).where(_is_any_of(column, part), User.deleted_at.is_(None))
            if kind is UUID:
                statement = statement.where(User.username != SYSTEM_USERNAME)
            if lock:
                statement = statement.with_for_update().execution_options(populate_existing=True)
            users |= _key_by_given({getattr(user, column.key): user for user in await session.scalars(statement)}, part)
    return users


async def has_accounts(session: AsyncSession) -> bool:
    return bool(await session.scalar(sa.select(sa.exists().where(User.username != SYSTEM_USERNAME))))


async def lock_user(session: AsyncSession, *, user_id: int, with_password: bool = False) -> User | None:
    statement = sa.select(User).where(User.user_id == user_id).with_for_update()
    statement = statement.options(undefer(User.password_hash)) if with_password else statement
    return await session.scalar(statement.execution_options(populate_existing=True))


async def lock_rights(session: AsyncSession, *, alone: bool) -> None:
    first = sa.select(Role.role_id).order_by(Role.role_id).limit(1)
    await session.execute(first.with_for_update(read=not alone))


async def invited_user(session: AsyncSession, *, token_hash: str, now: datetime, lock: bool = False) -> User | None:
    """Return the open account of an unexpired invitation."""
    statement = (
        sa.select(User)
        .join(UserInvitation, UserInvitation.user_id == User.user_id)
        .where(UserInvitation.token_hash == token_hash, UserInvitation.expires_at > now)
        .where(User.is_active.is_(True), User.deleted_at.is_(None))
    )
    return await session.scalar(statement.with_for_update() if lock else statement)


async def lock_invitation(session: AsyncSession, user_id: int) -> UserInvitation | None:
    statement = sa.select(UserInvitation).where(UserInvitation.user_id == user_id).with_for_update()
    return await session.scalar(statement)


async def delete_invitation(session: AsyncSession, *, user_id: int) -> None:
    await session.execute(sa.delete(UserInvitation).where(UserInvitation.user_id == user_id))


async def revoke_family(session: AsyncSession, *, family: UUID, now: datetime) -> None:
    await session.execute(_revocation(now).where(RefreshToken.family == family))


async def revoke_tokens(session: AsyncSession, *, user_id: int, but: str | UUID | None = None, now: datetime) -> None:
    """:param but: session to keep: its public id, or the digest of its refresh token"""
    await session.execute(sa.select(User.user_id).where(User.user_id == user_id).with_for_update())
    others = _revocation(now).where(RefreshToken.user_id == user_id)
    if isinstance(but, str):
        family = sa.select(RefreshToken.family).where(RefreshToken.token_hash == but, RefreshToken.user_id == user_id)
        but = await session.scalar(family)
    await session.execute(others if but is None else others.where(RefreshToken.family != but))


def _revocation(now: datetime) -> sa.Update:
    return (
        sa.update(RefreshToken)
        .where(RefreshToken.is_revoked.is_(False))
        .values(is_revoked=True, revoked_at=now, updated_at=now)
        .execution_options(synchronize_session=False)
    )


# Each request executes some of these statements: they use table columns and are built once, because that is fastest.
USER, ASSIGNMENT, ROLE = table_of(User).c, table_of(UserAssignment).c, table_of(Role).c
ORGANIZATION, _BUSINESS_ROLE = table_of(Organization).c, table_of(OrganizationRole).c
_PREFERENCE, _SESSION = table_of(UserPreference).c, table_of(RefreshToken).c
_ORGANIZATIONS: AnySelect = (
    sa.select(
        ORGANIZATION.id,
        ORGANIZATION.uuid.label("public_id"),
        ORGANIZATION.organization_code,
        ORGANIZATION.organization_name,
        ORGANIZATION.organization_name_en,
        ORGANIZATION.is_active,
        ORGANIZATION.created_at,
        _BUSINESS_ROLE.role_name,
    )
    .outerjoin_from(table_of(Organization), table_of(OrganizationRole), _BUSINESS_ROLE.id == ORGANIZATION.role_id)
    .where(ORGANIZATION.deleted_at.is_(None))
)
_ORGANIZATIONS_OF_IDS = _ORGANIZATIONS.where(ORGANIZATION.id.in_(sa.bindparam("ids", expanding=True))).order_by(
    ORGANIZATION.organization_code
)


async def organization_page(
    session: AsyncSession, wanted: OrganizationSearch, *, closed: bool, cursor: str | None, limit: int
) -> Sequence[AnyRow]:
    statement = _ORGANIZATIONS
    if wanted.search:
        statement = statement.where(
            sa.or_(
                ORGANIZATION.organization_code.contains(wanted.search, autoescape=True),
                ORGANIZATION.organization_name.contains(wanted.search, autoescape=True),
            )
        )
    if wanted.role:
        name = sa.func.coalesce(_BUSINESS_ROLE.role_name, "GUEST")
        statement = statement.where(name.in_(role_names_of(wanted.role)))
    if not closed:
        statement = statement.where(ORGANIZATION.is_active)
    statement = newest_first(
        statement, at=ORGANIZATION.created_at, public_id=ORGANIZATION.uuid, cursor=cursor, limit=limit
    )
    return list((await session.execute(statement)).all())


async def organizations(session: AsyncSession, *, ids: frozenset[int]) -> Sequence[AnyRow]:
    return (await session.execute(_ORGANIZATIONS_OF_IDS, {"ids": list(ids)})).all()


def _permissions() -> sa.Label[Any]:
    permissions, granted = table_of(Permission), table_of(RolePermission)
    return (
        sa.select(sa.func.aggregate_strings(permissions.c.permission_name, " "))
        .join_from(permissions, granted, granted.c.permission_id == permissions.c.permission_id)
        .where(granted.c.role_id == ROLE.role_id, permissions.c.is_active)
        .correlate(table_of(Role))
        .scalar_subquery()
        .label("permissions")
    )


class UserGrant(NamedTuple):
    user_id: int
    public_id: UUID
    username: str
    first_name: str | None
    last_name: str | None
    primary_organization_id: int | None
    is_service: bool
    draws_per_minute: int | None
    must_change_password: bool
    organization_public_id: UUID | None
    language: str | None
    organization_id: int | None
    project_id: int | None
    contract_id: int | None
    role_name: str | None
    permissions: str | None


def _users_with_grants(source: sa.FromClause, *columns: sa.Column[UUID]) -> AnySelect:
    return (
        sa.select(
            USER.user_id,
            USER.uuid,
            USER.username,
            USER.first_name,
            USER.last_name,
            USER.primary_organization_id,
            USER.is_service,
            USER.draws_per_minute,
            USER.must_change_password,
            ORGANIZATION.uuid,
            _PREFERENCE.language,
            ASSIGNMENT.organization_id,
            ASSIGNMENT.project_id,
            ASSIGNMENT.contract_id,
            ROLE.role_name,
            _permissions(),
            *columns,
        )
        .select_from(source)
        .outerjoin(table_of(UserPreference), _PREFERENCE.user_id == USER.user_id)
        .outerjoin(table_of(Organization), ORGANIZATION.id == USER.primary_organization_id)
        .outerjoin(table_of(UserAssignment), sa.and_(ASSIGNMENT.user_id == USER.user_id, in_force()))
        .outerjoin(table_of(Role), sa.and_(ROLE.role_id == ASSIGNMENT.role_id, ROLE.deleted_at.is_(None)))
    )


_IS_OPEN = sa.and_(USER.is_active, USER.deleted_at.is_(None))
_USERS = _users_with_grants(table_of(User)).order_by(USER.username, ASSIGNMENT.id)
_OPEN_USERS = _USERS.where(USER.uuid.in_(sa.bindparam("public_ids", expanding=True)), _IS_OPEN)
_NAMED_USER = _USERS.where(USER.username == sa.bindparam("username"))
# It begins with the tokens: SQLite moves no table across an outer join.
_OPEN_SESSIONS = (
    _users_with_grants(table_of(RefreshToken).join(table_of(User), USER.user_id == _SESSION.user_id), _SESSION.family)
    .where(_SESSION.family.in_(sa.bindparam("sessions", expanding=True)), _SESSION.is_revoked.is_(False), _IS_OPEN)
    .order_by(_SESSION.family, ASSIGNMENT.id)
)


async def grants_of_open_users(session: AsyncSession, public_ids: Collection[UUID]) -> list[UserGrant]:
    return [UserGrant._make(row) for row in await session.execute(_OPEN_USERS, {"public_ids": list(public_ids)})]


async def grants_of_username(session: AsyncSession, username: str) -> list[UserGrant]:
    return [UserGrant._make(row) for row in await session.execute(_NAMED_USER, {"username": username})]


async def grants_of_sessions(session: AsyncSession, sessions: Collection[UUID]) -> list[tuple[UUID, UserGrant]]:
    rows = await session.execute(_OPEN_SESSIONS, {"sessions": list(sessions)})
    return [(row[-1], UserGrant._make(row[:-1])) for row in rows]


async def members(
    session: AsyncSession, organization_ids: frozenset[int], *, project_id: int | None = None, closed: bool = False
) -> Sequence[AnyRow]:
    """:param project_id: include people with a role in this project"""
    mine = sa.exists().where(UserAssignment.user_id == User.user_id, in_force())
    belongs = sa.or_(
        User.primary_organization_id.in_(organization_ids),
        mine.where(UserAssignment.organization_id.in_(organization_ids)),
    )
    if project_id is not None:
        here = mine.where(UserAssignment.project_id == project_id)
        belongs = sa.or_(belongs, here)
    statement = (
        sa.select(User.user_id, User.public_id, User.username, User.first_name, User.last_name, User.is_active)
        .where(belongs, *((User.is_service.is_(False),) if closed else acts()))
        .order_by(User.username)
    )
    return list((await session.execute(statement)).all())


async def members_of_each(
    session: AsyncSession, organization_ids: Collection[int], permissions: Collection[str] | None
) -> Sequence[AnyRow]:
    person = (User.user_id, User.public_id.label("public_id"))
    home, place = User.primary_organization_id, UserAssignment.organization_id
    may = sa.true() if permissions is None else _has_any_permission(permissions)
    at_home = sa.select(home.label("organization_id"), *person).where(home.in_(organization_ids), *acts(), may)
    placed = (
        sa.select(place, *person)
        .join(User, User.user_id == UserAssignment.user_id)
        .where(place.in_(organization_ids), in_force(), *acts(), may)
    )
    return (await session.execute(sa.union(at_home, placed))).all()


def acts() -> tuple[sa.ColumnElement[bool], ...]:
    return (User.is_active.is_(True), User.is_service.is_(False), User.deleted_at.is_(None))


def _has_any_permission(permissions: Collection[str]) -> sa.ColumnElement[bool]:
    assignment = aliased(UserAssignment)
    return (
        sa.exists()
        .where(assignment.user_id == User.user_id, in_force(assignment))
        .where(Role.role_id == assignment.role_id, Role.deleted_at.is_(None))
        .where(RolePermission.role_id == Role.role_id)
        .where(Permission.permission_id == RolePermission.permission_id)
        .where(Permission.permission_name.in_(permissions))
    )


async def values_of(session: AsyncSession, column: InstrumentedAttribute[str]) -> set[str]:
    return set(await session.scalars(sa.select(column)))


async def keys_of(
    session: AsyncSession, name: InstrumentedAttribute[str], key: InstrumentedAttribute[int]
) -> dict[str, int]:
    return {row[0]: row[1] for row in await session.execute(sa.select(name, key))}


async def role_named(session: AsyncSession, name: str) -> Role | None:
    return await session.scalar(sa.select(Role).where(Role.role_name == name, Role.deleted_at.is_(None)))


async def users_with_preferences(session: AsyncSession, user_ids: Collection[int]) -> Sequence[AnyRow]:
    statement = (
        sa.select(User, UserPreference)
        .outerjoin(UserPreference, UserPreference.user_id == User.user_id)
        .where(User.user_id.in_(user_ids))
    )
    return (await session.execute(statement)).all()


async def role_permissions(session: AsyncSession) -> set[tuple[int, int]]:
    rows = await session.execute(sa.select(RolePermission.role_id, RolePermission.permission_id))
    return {(row.role_id, row.permission_id) for row in rows}


async def lift_limits(session: AsyncSession, usernames: Collection[str]) -> None:
    unset = sa.and_(User.username.in_(usernames), User.draws_per_minute.is_(None))
    await session.execute(sa.update(User).where(unset).values(draws_per_minute=0))
