"""
Loads who is asking and what they may know of themselves and of organizations, finds whom to tell, and keeps rights still.

Everybody who is signed in may look things up in the register of organizations, because forms need it; retired ones are shown
to those with `organization.view`.
"""

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


# Whoever writes down whom something asks, and whoever changes what people may do, exclude each other. Without it a grant could be
# committed and told while a step that has read the rights of before is not committed yet: who hears of the grant does not see the
# step, the step does not see the grant, and what it wrote stays wrong. So the first share the rights, the second lock them, until
# their transactions end. Then a writer is either committed before the rights change, and who hears of the change finds what it
# wrote; or it reads the rights as they are after it.
#
# What is held is one row that nobody writes, the first role's; SQLite has one writer at a time anyway. Whoever shares the rights
# has the locks of its instances already, so that the two wait for each other no longer than a transaction takes; where other
# rows make a deadlock of it, the database ends one of the two and it is run again.
async def share_rights(session: AsyncSession) -> None:
    """Keep what people may do as it is until the transaction ends; called before it is read."""
    await repository.lock_rights(session, alone=False)


async def lock_rights(session: AsyncSession) -> None:
    """Wait for all who keep the rights, and let nobody keep them until they are changed."""
    await repository.lock_rights(session, alone=True)


SIGN_IN_AGAIN: Final = Text("เข้าสู่ระบบอีกครั้ง", "Sign in again.")


class NotSignedIn(DomainError):
    """There is no token, it is forged or expired, its session or account was closed, or its rights changed: refresh it."""

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
    """
    Loads callers for the doors: those that ask while others are being read are read together, with one statement.

    Nothing is remembered. What a request is told comes from a statement that began after the request had come, so a
    session that ended, a closed account and a changed role count at once.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        # Two, so that one connection that hangs does not hold up everybody.
        self._turns = asyncio.Semaphore(2)
        self._asked: set[UUID] = set()
        self._coming: asyncio.Task[dict[UUID, Caller]] | None = None

    async def load(self, session: UUID) -> Caller:
        """:raises NotSignedIn: when the session has ended, or the account is closed or gone"""
        self._asked.add(session)
        if self._coming is None:
            self._coming = asyncio.create_task(self._read(), name="saraban-callers")
        # Others wait for the same task: who leaves must not take it along.
        with slot_released(after=LOCK_WAIT_SECONDS):
            found = (await asyncio.shield(self._coming)).get(session)
        if found is None:
            raise NotSignedIn("The session of this token has ended, or its account is closed.")
        return found

    async def _read(self) -> dict[UUID, Caller]:
        async with self._turns:
            # From here on, who comes is too late for this statement and asks for the next.
            asked, self._asked, self._coming = self._asked, set(), None
            async with self._db.reading() as connected:
                rows = await repository.grants_of_sessions(connected, asked)
        return {session: _caller([row for _, row in own], session) for session, own in groupby(rows, itemgetter(0))}


async def load_caller(session: AsyncSession, public_id: UUID) -> Caller:
    """
    Return the user with what it may do at this moment, in one query.

    :raises NotSignedIn: when the account is closed or gone
    """
    callers = await load_callers(session, [public_id])
    if public_id not in callers:
        raise NotSignedIn("The account is closed.")
    return callers[public_id]


async def load_callers(session: AsyncSession, public_ids: Collection[UUID]) -> dict[UUID, Caller]:
    """Return several users with what each may do at this moment, in one query; none whose account is closed."""
    if not public_ids:
        return {}
    rows = await repository.grants_of_open_users(session, public_ids)
    return {public_id: _caller(list(own)) for public_id, own in groupby(rows, attrgetter("public_id"))}


async def system_caller(session: AsyncSession) -> Caller:
    """Return the user `system`, that timers and workers act as; it may do everything and cannot log in."""
    caller = await find_caller(session, username=SYSTEM_USERNAME)
    if caller is None:
        raise RuntimeError("The user `system` is missing: seed the catalogue first.")
    return caller


async def system_context(session: AsyncSession, clock: Clock, address: str = "") -> RequestContext:
    return RequestContext(await system_caller(session), clock.now(), clock.zone, address)


async def find_caller(session: AsyncSession, *, username: str) -> Caller | None:
    """Return an account as a caller, for the command line and the demo."""
    rows = await repository.grants_of_username(session, username)
    return _caller(rows) if rows else None


async def users_of(
    session: AsyncSession, organization_ids: frozenset[int], *, project_id: int | None = None, closed: bool = False
) -> tuple[OrganizationMember, ...]:
    """
    Return the active people who work for one of the organizations.

    Service accounts are no people: nobody reads what they are told, and nobody answers what they are asked.

    :param project_id: those who have a role in this project besides
    :param closed: those whose account is closed, too: what they wrote is still there
    """
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
    Return the active people of each organization: the key of each by public id.

    :param permissions: when given, those alone who may do one of these somewhere
    """
    found: dict[int, dict[UUID, int]] = {key: {} for key in organization_ids}
    if organization_ids:
        for row in await repository.members_of_each(session, organization_ids, permissions):
            found[row.organization_id][row.public_id] = row.user_id
    return found


def display_name(row: AnyRow | User | UserName | repository.UserGrant) -> str:
    return " ".join(part for part in (row.first_name, row.last_name) if part) or str(row.username)


def _caller(rows: Sequence[repository.UserGrant], session: UUID | None = None) -> Caller:
    head = rows[0]
    grants = tuple(_grant(row.role_name, row) for row in rows if row.role_name is not None)
    if head.username == SYSTEM_USERNAME:
        grants = (Grant("System", frozenset({EVERYTHING})),)
    own = {head.primary_organization_id, *(grant.organization for grant in grants)}
    return Caller(
        user_id=head.user_id,
        public_id=head.public_id,
        username=head.username,
        display_name=display_name(head),
        organization_id=head.primary_organization_id,
        organization_ids=frozenset(one for one in own if one is not None),
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


@lru_cache(maxsize=256)
def _permissions(names: str) -> frozenset[str]:
    """Each role's text comes with every assignment; a changed role has another text."""
    return frozenset(names.split())


async def profile(ctx: RequestContext, session: AsyncSession) -> Profile:
    rows = {
        row.id: organization_summary(row)
        for row in await repository.organizations(session, ids=ctx.caller.organization_ids)
    }
    held = await held_roles.with_places(session, user_id=ctx.caller.user_id)
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
    """Return the people, organizations, projects and contracts of these public ids or codes, closed ones too."""
    return await account_rows.directory(session, public_ids=public_ids, codes=codes)


async def accounts_of(session: AsyncSession, organization_ids: Collection[int]) -> frozenset[int]:
    """
    Return the keys of the accounts that belong to these organizations, closed ones and programs too.

    Who is of another organization and has a role in one of these is not among them.
    """
    return await account_rows.keys_at_home(session, organization_ids) if organization_ids else frozenset()
