"""Whom or what public ids and codes mean, for those who read what was done to them."""

from collections.abc import Collection
from typing import Any, NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization, User
from saraban.identity.repository import CONTRACTS, PROJECTS


class DirectoryRow(NamedTuple):
    """Whom or what a public id or a code means: `user`, `organization`, `project` or `contract`."""

    kind: str
    key: int
    public_id: UUID
    code: str
    first_name: str | None
    last_name: str | None


async def directory(
    session: AsyncSession, *, public_ids: Collection[UUID] = (), codes: Collection[str] = ()
) -> list[DirectoryRow]:
    """Return what is known by these public ids or codes; a code may be that of several things."""
    none = sa.literal(None, sa.String())
    columns: dict[str, tuple[Any, ...]] = {
        "user": (User.user_id, User.public_id, User.username, User.first_name, User.last_name),
        "organization": (Organization.id, Organization.public_id, Organization.organization_code, none, none),
        "project": (PROJECTS.c.id, PROJECTS.c.uuid, PROJECTS.c.project_code, none, none),
        "contract": (CONTRACTS.c.id, CONTRACTS.c.uuid, CONTRACTS.c.contract_code, none, none),
    }
    found: list[DirectoryRow] = []
    for kind, (key, public_id, code, *names) in columns.items():
        asked = [public_id.in_(list(public_ids))] if public_ids else []
        asked += [code.in_(list(codes))] if codes else []
        if asked:
            rows = await session.execute(sa.select(key, public_id, code, *names).where(sa.or_(*asked)))
            found += [DirectoryRow(kind, *row) for row in rows]
    return found


async def keys_at_home(session: AsyncSession, organization_ids: Collection[int]) -> frozenset[int]:
    """Return the accounts whose own organization is one of these, closed ones and programs too."""
    statement = sa.select(User.user_id).where(User.primary_organization_id.in_(list(organization_ids)))
    return frozenset(await session.scalars(statement))
