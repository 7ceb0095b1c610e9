"""Load callers and members of organizations, and lock rights."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import repository
from saraban.identity.domain.catalogue import SYSTEM_USERNAME, party_role
from saraban.identity.domain.context import EVERYTHING, Caller, Grant, RequestContext
from saraban.identity.models import User, UserName
from saraban.identity.repository import account_rows, held_roles
from saraban.identity.repository.account_rows import DirectoryEntry
from saraban.identity.schemas import HeldRole, HeldRoleScope, OrganizationSearch, OrganizationSummary, Profile
from saraban.kit.admission import LOCK_WAIT_SECONDS, slot_released
from saraban.kit.clock import Clock
from saraban.kit.db import AnyRow, Database
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.pagination import page_of
from saraban.kit.schema import PageOut


async def list_organizations(
    ctx: RequestContext, session: AsyncSession, wanted: OrganizationSearch, *, cursor: str | None, limit: int
) -> PageOut[OrganizationSummary]:
    closed = wanted.include_closed and ctx.caller.may_anywhere("organization.view")
    rows = await repository.organization_page(session, wanted, closed=closed, cursor=cursor, limit=limit)
    page = page_of(rows, limit=limit, key=lambda row: (row.created_at, row.public_id))
    return PageOut[OrganizationSummary](
        items=[organization_summary(row) for row in page.items], next_cursor=page.next_cursor
    )


def organization_summary(row: AnyRow) -> OrganizationSummary:
    return OrganizationSummary(
        public_id=row.public_id,
        organization_code=row.organization_code,
        organization_name=row.organization_name,
        organization_name_en=row.organization_name_en,
        role=party_role(row.role_name),
        is_active=row.is_active,
    )


# A transaction that stores assignees and a transaction that changes permissions must exclude each other. Otherwise a grant
# could be committed and announced while a step that read the former permissions is still open: neither sees the other, and
# the stored assignees stay wrong. Therefore the first calls `share_rights`, the second `lock_rights`, until they commit.
#
# The lock is on a row that is never written, the first role's; SQLite has a single writer anyway. A transaction that shares
# the rights must hold the locks of its workflow instances already; the database ends a deadlock with other rows, and the
# transaction is repeated.
async def share_rights(session: AsyncSession) -> None:
    """Keep permissions unchanged until the transaction ends; call before reading them."""
    await repository.lock_rights(session, alone=False)


async def lock_rights(session: AsyncSession) -> None:
    """Wait for transactions that share the rights, and exclude new ones."""
    await repository.lock_rights(session, alone=True)


SIGN_IN_AGAIN: Final = Text("เข้าสู่ระบบอีกครั้ง", "Sign in again.")


class NotSignedIn(DomainError):
    """
    The token is missing, forged or expired, its session or account was closed, or its rights have changed: refresh it.
    """

    kind, code = ErrorKind.UNAUTHENTICATED, "UNAUTHORIZED"
    says = Text("กรุณาเข้าสู่ระบบ", "Please sign in.")
    recovery = (SIGN_IN_AGAIN,)


@dataclass(frozen=True, slots=True)
class OrganizationMember:
    user_id: int
    public_id: UUID
    username: str
    display_name: str
    is_active: bool


class CallerLoader:
    """Load callers of concurrent requests with one new statement; nothing is cached."""

    def __init__(self, db: Database) -> None:
        self._db = db
        # Two, so that a connection that hangs does not block all requests.
        self._turns = asyncio.Semaphore(2)
        self._requested: set[UUID] = set()
        self._pending: asyncio.Task[dict[UUID, Caller]] | None = None

    async def load(self, session: UUID) -> Caller:
        """:raises NotSignedIn:"""
        self._requested.add(session)
        if self._pending is None:
            self._pending = asyncio.create_task(self._read(), name="saraban-callers")
        # Other requests wait for the same task: cancelling one must not cancel it.
        with slot_released(after=LOCK_WAIT_SECONDS):
            caller = (await asyncio.shield(self._pending)).get(session)
        if caller is None:
            raise NotSignedIn("The session of this token has ended, or its account is closed.")
        return caller

    async def _read(self) -> dict[UUID, Caller]:
        async with self._turns:
            # A later request waits for the next statement.
            sessions, self._requested, self._pending = self._requested, set(), None
            async with self._db.reading() as connected:
                rows = await repository.grants_of_sessions(connected, sessions)
        return {
            session: _caller([row for _, row in session_rows], session)
            for session, session_rows in groupby(rows, itemgetter(0))
        }


async def load_caller(session: AsyncSession, public_id: UUID) -> Caller:
    """:raises NotSignedIn:"""
    callers = await load_callers(session, [public_id])
    if public_id not in callers:
        raise NotSignedIn("The account is closed.")
    return callers[public_id]


async def load_callers(session: AsyncSession, public_ids: Collection[UUID]) -> dict[UUID, Caller]:
    """Return the open accounts, in one query."""
    if not public_ids:
        return {}
    rows = await repository.grants_of_open_users(session, public_ids)
    return {public_id: _caller(list(user_rows)) for public_id, user_rows in groupby(rows, attrgetter("public_id"))}


async def system_caller(session: AsyncSession) -> Caller:
    caller = await find_caller(session, username=SYSTEM_USERNAME)
    if caller is None:
        raise RuntimeError("The user `system` is missing: seed the catalogue first.")
    return caller


async def system_context(session: AsyncSession, clock: Clock, address: str = "") -> RequestContext:
    return RequestContext(await system_caller(session), clock.now(), clock.zone, address)


async def find_caller(session: AsyncSession, *, username: str) -> Caller | None:
    rows = await repository.grants_of_username(session, username)
    return _caller(rows) if rows else None


async def users_of(
    session: AsyncSession, organization_ids: frozenset[int], *, project_id: int | None = None, closed: bool = False
) -> tuple[OrganizationMember, ...]:
    """Return active people, no programs; with `project_id` also holders of its roles."""
    if not organization_ids and project_id is None:
        return ()
    rows = await repository.members(session, organization_ids, project_id=project_id, closed=closed)
    return tuple(
        OrganizationMember(row.user_id, row.public_id, row.username, display_name(row), row.is_active) for row in rows
    )


async def members_of_each(
    session: AsyncSession, organization_ids: Collection[int], permissions: Collection[str] | None
) -> dict[int, dict[UUID, int]]:
    """
    Return by organization the keys of its active members by public id.

    :param permissions: only of members who hold one of these somewhere
    """
    members: dict[int, dict[UUID, int]] = {key: {} for key in organization_ids}
    if organization_ids:
        for row in await repository.members_of_each(session, organization_ids, permissions):
            members[row.organization_id][row.public_id] = row.user_id
    return members


def display_name(row: AnyRow | User | UserName | repository.UserGrant) -> str:
    return " ".join(part for part in (row.first_name, row.last_name) if part) or str(row.username)


def _caller(rows: Sequence[repository.UserGrant], session: UUID | None = None) -> Caller:
    head = rows[0]
    grants = tuple(_grant(row.role_name, row) for row in rows if row.role_name is not None)
    if head.username == SYSTEM_USERNAME:
        grants = (Grant("System", frozenset({EVERYTHING})),)
    organization_ids = {head.primary_organization_id, *(grant.organization for grant in grants)}
    return Caller(
        user_id=head.user_id,
        public_id=head.public_id,
        username=head.username,
        display_name=display_name(head),
        organization_id=head.primary_organization_id,
        organization_ids=frozenset(key for key in organization_ids if key is not None),
        grants=grants,
        is_service=head.is_service,
        language=head.language or "th",
        draws_per_minute=head.draws_per_minute,
        organization_public_id=head.organization_public_id,
        must_change_password=bool(head.must_change_password),
        session=session,
    )


def _grant(role: str, row: repository.UserGrant) -> Grant:
    return Grant(role, _permissions(row.permissions or ""), row.organization_id, row.project_id, row.contract_id)


@lru_cache(maxsize=256)  # few distinct texts: one for each role
def _permissions(names: str) -> frozenset[str]:
    return frozenset(names.split())


async def profile(ctx: RequestContext, session: AsyncSession) -> Profile:
    rows = {
        row.id: organization_summary(row)
        for row in await repository.organizations(session, ids=ctx.caller.organization_ids)
    }
    held = await held_roles.list_held_roles(session, user_id=ctx.caller.user_id)
    return Profile(
        public_id=ctx.caller.public_id,
        username=ctx.caller.username,
        display_name=ctx.caller.display_name,
        organization=rows.get(ctx.caller.organization_id) if ctx.caller.organization_id else None,
        organizations=list(rows.values()),
        roles=[
            HeldRole.model_validate({"role": row.role_name, "level": row.level, "place": held_scope(row)})
            for row in held
            if row.counts
        ],
        permissions=sorted(ctx.caller.permissions),
        language="en" if ctx.caller.language == "en" else "th",
        is_service=ctx.caller.is_service,
    )


def held_scope(row: held_roles.HeldRoleRow) -> HeldRoleScope | None:
    if row.place_public_id is None:
        return None
    return HeldRoleScope(public_id=row.place_public_id, code=row.place_code or "")


async def look_up(
    session: AsyncSession, *, public_ids: Collection[UUID] = (), codes: Collection[str] = ()
) -> list[DirectoryEntry]:
    return await account_rows.directory(session, public_ids=public_ids, codes=codes)


async def accounts_of(session: AsyncSession, organization_ids: Collection[int]) -> frozenset[int]:
    """Return accounts at home there, closed ones and programs included."""
    return await account_rows.keys_at_home(session, organization_ids) if organization_ids else frozenset()
