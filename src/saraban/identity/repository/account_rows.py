"""Queries about accounts, sessions and the directory."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.account import NO_PASSWORD, UserState
from saraban.identity.domain.catalogue import SYSTEM_USERNAME
from saraban.identity.domain.context import Caller
from saraban.identity.models import (
    Organization,
    RefreshToken,
    Role,
    User,
    UserAssignment,
    in_force,
)
from saraban.identity.repository import CONTRACTS, PROJECTS, acts
from saraban.identity.schemas import UserSearch
from saraban.kit.db import AnyRow
from saraban.kit.keys import is_spelled
from saraban.kit.pagination import newest_first

VIEW, GIVE = "user.view", "user.manage_assignments"
_MEMBERS = sa.table("project_organizations", sa.column("project_id"), sa.column("organization_id"))
_PARTIES = sa.table("contract_organizations", sa.column("contract_id"), sa.column("organization_id"))

# Failed log-ins in a row from which an account is shown as locked.
LOCKED_AFTER = 5

_CLOSED = User.is_active.is_(False)
_INVITED = sa.and_(User.password_hash == NO_PASSWORD, User.is_service.is_(False))
_LOCKED = User.failed_attempts >= LOCKED_AFTER
STATE: sa.ColumnElement[str] = sa.case(
    (_CLOSED, UserState.CLOSED.value),
    (_INVITED, UserState.INVITED.value),
    (_LOCKED, UserState.LOCKED.value),
    else_=UserState.ACTIVE.value,
)


class AccountRow(NamedTuple):
    user: User
    organization_public_id: UUID | None
    organization_code: str | None
    organization_name: str | None
    state: str


def _accounts() -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(User, Organization.public_id, Organization.organization_code, Organization.organization_name, STATE)
        .outerjoin(Organization, Organization.id == User.primary_organization_id)
        .where(User.deleted_at.is_(None), User.username != SYSTEM_USERNAME)
    )


def _is_visible_to(caller: Caller) -> sa.ColumnElement[bool]:
    grants = [grant for grant in caller.grants if grant.gives(VIEW) or grant.gives(GIVE)]
    if any(grant.is_global for grant in grants):
        return sa.true()
    giving = [grant for grant in grants if grant.gives(GIVE)]
    organizations = {grant.organization for grant in grants if grant.organization is not None}
    projects = {grant.project for grant in giving if grant.project is not None}
    contracts = {grant.contract for grant in giving if grant.contract is not None}
    home = User.primary_organization_id
    held = sa.or_(UserAssignment.project_id.in_(projects), UserAssignment.contract_id.in_(contracts))
    return sa.or_(
        User.public_id == caller.public_id,
        home.in_(organizations),
        home.in_(sa.select(_MEMBERS.c.organization_id).where(_MEMBERS.c.project_id.in_(projects))),
        home.in_(sa.select(_PARTIES.c.organization_id).where(_PARTIES.c.contract_id.in_(contracts))),
        sa.exists().where(UserAssignment.user_id == User.user_id, held),
    )


async def find_account(session: AsyncSession, public_id: UUID, caller: Caller) -> AccountRow | None:
    row = (await session.execute(_accounts().where(User.public_id == public_id, _is_visible_to(caller)))).one_or_none()
    return None if row is None else AccountRow._make(row)


async def list_accounts(
    session: AsyncSession,
    wanted: UserSearch,
    caller: Caller,
    *,
    cursor: str | None,
    after: str | None,
    limit: int,
) -> list[AccountRow]:
    """Return up to `limit` + 1 rows; sorted by name, they follow `after`, not `cursor`."""
    statement = _accounts().where(*_filters(wanted), _is_visible_to(caller))
    if wanted.sort == "newest":
        statement = newest_first(statement, at=User.created_at, public_id=User.public_id, cursor=cursor, limit=limit)
    else:
        if after is not None:
            statement = statement.where(User.username > after)
        statement = statement.order_by(User.username).limit(limit + 1)
    return [AccountRow._make(row) for row in await session.execute(statement)]


def _filters(wanted: UserSearch) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if wanted.search:
        full_name = sa.func.coalesce(User.first_name, "") + " " + sa.func.coalesce(User.last_name, "")
        text = wanted.search.casefold()
        conditions.append(
            sa.or_(
                User.username.contains(text, autoescape=True),
                User.email.contains(text, autoescape=True),
                full_name.contains(wanted.search, autoescape=True),
            )
        )
    if wanted.organization_public_id is not None:
        conditions.append(Organization.public_id == wanted.organization_public_id)
    if wanted.role is not None:
        held = sa.exists().where(UserAssignment.user_id == User.user_id, Role.role_id == UserAssignment.role_id)
        conditions.append(held.where(Role.role_name == wanted.role, in_force()))
    if wanted.state is not None:
        conditions.append(STATE.in_((wanted.state.value,)))
    if wanted.is_service is not None:
        conditions.append(User.is_service.is_(wanted.is_service))
    return conditions


async def sessions(session: AsyncSession, public_id: UUID, *, now: datetime) -> Sequence[AnyRow]:
    token = RefreshToken
    statement = (
        sa.select(
            *(token.family.label("public_id"), token.ip_address, token.user_agent, token.last_active_at),
            token.session_started_at,
        )
        .join(User, User.user_id == token.user_id)
        .where(User.public_id == public_id, token.is_revoked.is_(False), token.expires_at > now)
        .order_by(token.last_active_at.desc(), token.token_id.desc())
    )
    return (await session.execute(statement)).all()


async def place_names(session: AsyncSession) -> list[str]:
    statement = sa.union_all(
        sa.select(Organization.organization_code, Organization.organization_name),
        sa.select(Organization.organization_code, Organization.organization_name_en),
        sa.select(PROJECTS.c.project_code, PROJECTS.c.project_name),
        sa.select(CONTRACTS.c.contract_code, CONTRACTS.c.contract_name),
    )
    return [name for row in await session.execute(statement) for name in row if name]


async def resettable_user(session: AsyncSession, identifier: str) -> User | None:
    """Return the open account with a password; the user name has precedence."""
    named = sa.or_(is_spelled(User.username, [identifier]), User.email == identifier)
    people = sa.select(User).where(named, User.password_hash != NO_PASSWORD, *acts())
    return await session.scalar(
        people.order_by((User.username == identifier).desc(), User.email == identifier).limit(1)
    )


async def lock_token_owner(session: AsyncSession, *, token_hash: str) -> User | None:
    """Lock the account before its tokens, like every function that ends sessions."""
    owner = sa.select(RefreshToken.user_id).where(RefreshToken.token_hash == token_hash).scalar_subquery()
    return await session.scalar(sa.select(User).where(User.user_id == owner).with_for_update())


async def lock_refresh_token(session: AsyncSession, *, token_hash: str) -> RefreshToken | None:
    statement = sa.select(RefreshToken).where(RefreshToken.token_hash == token_hash).with_for_update()
    return await session.scalar(statement)


async def family_lives(session: AsyncSession, *, family: UUID, now: datetime) -> bool:
    living = sa.exists().where(
        RefreshToken.family == family, RefreshToken.is_revoked.is_(False), RefreshToken.expires_at > now
    )
    return bool(await session.scalar(sa.select(living)))


class DirectoryEntry(NamedTuple):
    """:param kind: `user`, `organization`, `project` or `contract`"""

    kind: str
    key: int
    public_id: UUID
    code: str
    first_name: str | None
    last_name: str | None

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.first_name, self.last_name))) or self.code


async def directory(
    session: AsyncSession, *, public_ids: Collection[UUID] = (), codes: Collection[str] = ()
) -> list[DirectoryEntry]:
    none = sa.literal(None, sa.String())
    columns: dict[str, tuple[Any, ...]] = {
        "user": (User.user_id, User.public_id, User.username, User.first_name, User.last_name),
        "organization": (Organization.id, Organization.public_id, Organization.organization_code, none, none),
        "project": (PROJECTS.c.id, PROJECTS.c.uuid, PROJECTS.c.project_code, none, none),
        "contract": (CONTRACTS.c.id, CONTRACTS.c.uuid, CONTRACTS.c.contract_code, none, none),
    }
    entries: list[DirectoryEntry] = []
    for kind, (key, public_id, code, *names) in columns.items():
        conditions = [public_id.in_(list(public_ids))] if public_ids else []
        conditions += [code.in_(list(codes))] if codes else []
        if conditions:
            rows = await session.execute(sa.select(key, public_id, code, *names).where(sa.or_(*conditions)))
            entries += [DirectoryEntry(kind, *row) for row in rows]
    return entries


async def token_owner(session: AsyncSession, *, token_hash: str) -> UUID | None:
    tokens = sa.select(User.public_id).join(RefreshToken, RefreshToken.user_id == User.user_id)
    return await session.scalar(tokens.where(RefreshToken.token_hash == token_hash))


async def delete_expired_tokens(session: AsyncSession, *, before: datetime, limit: int) -> int:
    """Delete by primary key, which locks no range."""
    old = sa.select(RefreshToken.token_id).where(RefreshToken.expires_at < before).limit(limit)
    keys = (await session.scalars(old)).all()
    if keys:
        await session.execute(sa.delete(RefreshToken).where(RefreshToken.token_id.in_(keys)))
    return len(keys)


async def keys_at_home(session: AsyncSession, organization_ids: Collection[int]) -> frozenset[int]:
    statement = sa.select(User.user_id).where(User.primary_organization_id.in_(list(organization_ids)))
    return frozenset(await session.scalars(statement))


async def all_accounts(session: AsyncSession) -> Sequence[AnyRow]:
    """Return (user, organization code, role names, state)."""
    statement = (
        sa.select(User, Organization.organization_code, sa.func.aggregate_strings(Role.role_name, ", "), STATE)
        .outerjoin(Organization, Organization.id == User.primary_organization_id)
        .outerjoin(UserAssignment, sa.and_(UserAssignment.user_id == User.user_id, in_force()))
        .outerjoin(Role, Role.role_id == UserAssignment.role_id)
        .where(User.deleted_at.is_(None))
        .group_by(User.user_id, Organization.organization_code)
        .order_by(User.username)
    )
    return (await session.execute(statement)).all()
