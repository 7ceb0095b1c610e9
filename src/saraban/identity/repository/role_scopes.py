"""Finds where a role is given, by code: an organization, a project, a contract."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import AnyRow

# The tables our foreign keys point at belong to `projects`, which lies above; only their codes are read here.
projects = sa.table("projects", sa.column("id"), sa.column("uuid", sa.Uuid()), sa.column("project_code"))
contracts = sa.table(
    "contracts", sa.column("id"), sa.column("uuid", sa.Uuid()), sa.column("contract_code"), sa.column("project_id")
)


async def organization(session: AsyncSession, code: str) -> int | None:
    return await session.scalar(
        sa.select(Organization.id).where(Organization.organization_code == code, Organization.deleted_at.is_(None))
    )


async def project(session: AsyncSession, *, code: str) -> int | None:
    return await session.scalar(sa.select(projects.c.id).where(projects.c.project_code == code))


async def contract(session: AsyncSession, *, code: str) -> AnyRow | None:
    statement = sa.select(contracts.c.id, contracts.c.project_id).where(contracts.c.contract_code == code)
    return (await session.execute(statement)).one_or_none()
