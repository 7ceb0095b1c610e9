"""Reads organizations with the name of their role."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization, OrganizationRole
from saraban.kit.db import AnyRow, AnySelect
from saraban.kit.pagination import newest_first


def _select() -> AnySelect:
    return (
        sa.select(
            Organization.id,
            Organization.public_id,
            Organization.organization_code,
            Organization.organization_name,
            Organization.organization_name_en,
            Organization.is_active,
            Organization.created_at,
            OrganizationRole.role_name,
        )
        .outerjoin(OrganizationRole, OrganizationRole.id == Organization.role_id)
        .where(Organization.deleted_at.is_(None))
    )


async def page(
    session: AsyncSession,
    *,
    search: str | None,
    roles: Sequence[str],
    inactive_too: bool,
    cursor: str | None,
    limit: int,
) -> Sequence[AnyRow]:
    statement = _select()
    if search:
        statement = statement.where(
            sa.or_(
                Organization.organization_code.contains(search, autoescape=True),
                Organization.organization_name.contains(search, autoescape=True),
            )
        )
    if roles:
        statement = statement.where(sa.func.coalesce(OrganizationRole.role_name, "GUEST").in_(roles))
    if not inactive_too:
        statement = statement.where(Organization.is_active)
    statement = newest_first(
        statement, at=Organization.created_at, public_id=Organization.public_id, cursor=cursor, limit=limit
    )
    return list((await session.execute(statement)).all())


async def one(session: AsyncSession, public_id: UUID) -> AnyRow | None:
    return (await session.execute(_select().where(Organization.public_id == public_id))).one_or_none()


async def many(session: AsyncSession, *, ids: frozenset[int]) -> Sequence[AnyRow]:
    statement = _select().where(Organization.id.in_(ids)).order_by(Organization.organization_code)
    return list((await session.execute(statement)).all())
