"""
The register of organizations.

Everybody who is signed in may look things up in it, because forms need it; retired organizations are shown to those
with `organization.view`.
"""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import party_role, role_names_of
from saraban.identity.domain.context import RequestContext
from saraban.identity.repository import organizations as repository
from saraban.identity.schemas import OrganizationPage, OrganizationSummary
from saraban.kit.db import AnyRow
from saraban.kit.errors import NotFound
from saraban.kit.pagination import page_of


async def list_organizations(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    search: str | None = None,
    role: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> OrganizationPage:
    rows = await repository.page(
        session,
        search=search,
        roles=role_names_of(role) if role else (),
        inactive_too=ctx.caller.may_anywhere("organization.view"),
        cursor=cursor,
        limit=limit,
    )
    page = page_of(rows, limit=limit, key=lambda row: (row.created_at, row.public_id))
    return OrganizationPage(items=[organization_summary(row) for row in page.items], next_cursor=page.next_cursor)


async def read_organization(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> OrganizationSummary:
    """
    :raises NotFound: when there is none, or it is retired and the caller may not see those
    """
    row = await repository.one(session, public_id)
    if row is None or not (row.is_active or ctx.caller.may_anywhere("organization.view")):
        raise NotFound(f"There is no organization {public_id}.")
    return organization_summary(row)


def organization_summary(row: AnyRow) -> OrganizationSummary:
    return OrganizationSummary(
        public_id=row.public_id,
        organization_code=row.organization_code,
        organization_name=row.organization_name,
        organization_name_en=row.organization_name_en,
        role=party_role(row.role_name),
        is_active=row.is_active,
    )
