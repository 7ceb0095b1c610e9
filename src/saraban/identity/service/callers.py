"""Loads who is asking, and whom to tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.catalogue import SYSTEM_USERNAME
from saraban.identity.domain.permission import EVERYTHING, Grant
from saraban.identity.repository import callers as repository
from saraban.identity.service.tokens import NotSignedIn


@dataclass(frozen=True, slots=True)
class Member:
    """A person of an organization, as far as others address it."""

    user_id: int
    public_id: UUID
    username: str
    display_name: str


async def load_caller(session: AsyncSession, public_id: UUID, *, now: datetime | None = None) -> Caller:
    """
    This will give the user with what it may do at this moment, in one query.

    :param now: when given, an account that is locked at that moment is refused too
    :raises NotSignedIn: when the account is closed, locked or gone
    """
    rows = await repository.rows_of_user(session, public_id=public_id, now=now)
    if not rows:
        raise NotSignedIn("The account of this token is closed or locked.")
    return _caller(rows)


async def system_caller(session: AsyncSession) -> Caller:
    """This will give the user `system`, that timers and workers act as; it may do everything and cannot log in."""
    caller = await find_caller(session, username=SYSTEM_USERNAME)
    if caller is None:
        raise RuntimeError("The user `system` is missing: seed the catalogue first.")
    return caller


async def find_caller(session: AsyncSession, *, username: str) -> Caller | None:
    """This will give an account as a caller, for the command line and the demo."""
    rows = await repository.rows_of_username(session, username=username)
    return _caller(rows) if rows else None


async def users_of(
    session: AsyncSession, organization_ids: frozenset[int], permission: str | None = None
) -> tuple[Member, ...]:
    """
    This will give the active people who work for one of the organizations and, if asked, may do `permission`.

    Service accounts are no people: nobody reads what they are told, and nobody answers what they are asked.
    """
    if not organization_ids:
        return ()
    rows = await repository.members(session, organization_ids=organization_ids, permission=permission)
    return tuple(Member(row.user_id, row.public_id, row.username, display_name(row)) for row in rows)


def display_name(row: Any) -> str:
    return " ".join(part for part in (row.first_name, row.last_name) if part) or str(row.username)


def _caller(rows: Sequence[Any]) -> Caller:
    head = rows[0]
    grants = tuple(_grant(row) for row in rows if row.role_name is not None)
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
    )


def _grant(row: Any) -> Grant:
    permissions = frozenset((row.permissions or "").split())
    return Grant(row.role_name, permissions, row.organization_id, row.project_id, row.contract_id)
