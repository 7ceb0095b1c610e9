"""What every change to a project's own settings has in common: who may make it, in whose turn, and what is kept of it."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext, Scope
from saraban.projects.models import Project
from saraban.projects.repository import lookup
from saraban.projects.service.project_lists import visible_project

MANAGE = "project.edit"


async def lock_managed_project(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Project:
    """
    Return a project that the caller manages, held until the end of the transaction.

    :raises NotFound: when there is no such project that the caller may see
    :raises Forbidden: when the caller does not manage it
    """
    project = await visible_project(ctx, session, public_id)
    ctx.caller.require(MANAGE, Scope(project=project.id))
    await lock_project(session, project_id=project.id)
    return project


async def lock_project(session: AsyncSession, *, project_id: int) -> None:
    """Hold a project until the end of the transaction, so that its settings are changed one after the other."""
    await lookup.lock(session, project_id)


async def record_change(
    ctx: RequestContext, session: AsyncSession, action: str, project: Project, details: Mapping[str, object]
) -> None:
    """Write into the audit trail what was done to a project."""
    await audit.record(ctx, session, audit.AuditEntry(action, "project", str(project.public_id), details))
