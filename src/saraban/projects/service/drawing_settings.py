"""Settings of a project's registers of drawings."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.domain.changes import field_changes
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid
from saraban.projects.domain.drawing_settings import CONTRACT_REGISTER, DEFAULTS, DrawingSettings, NumberPattern
from saraban.projects.domain.revision_scheme import RevisionScheme
from saraban.projects.models import DrawingSettingsRow
from saraban.projects.schemas import RegisterSettings
from saraban.projects.service.projects import lock_managed_project, record_change, visible_project


async def drawing_settings(session: AsyncSession, *, project_id: int, register: str) -> DrawingSettings:
    row = await _row(session, project_id, register)
    if row is None:
        return DEFAULTS
    pattern = NumberPattern(row.number_pattern) if row.number_pattern else None
    return DrawingSettings(RevisionScheme.parse(row.revision_scheme), pattern, row.addenda, row.own_workflow)


async def _row(session: AsyncSession, project_id: int, register: str) -> DrawingSettingsRow | None:
    return await session.get(DrawingSettingsRow, (project_id, register), populate_existing=True)


def _settings_out(settings: DrawingSettings) -> RegisterSettings:
    return RegisterSettings(
        revision_scheme=str(settings.scheme),
        number_pattern=settings.pattern.text if settings.pattern else None,
        takes_addenda=settings.addenda,
        approval="workflow" if settings.own_workflow else "rfa",
    )


async def read_drawing_settings(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, register: str
) -> RegisterSettings:
    """:raises NotFound:"""
    project = await visible_project(ctx, session, project_public_id, closed=True)
    return _settings_out(await drawing_settings(session, project_id=project.id, register=register))


async def save_drawing_settings(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, register: str, wanted: RegisterSettings
) -> None:
    """
    Save the settings; registered drawings stay unchanged.

    :raises NotFound, Forbidden, Invalid:
    """
    if wanted.takes_addenda and register != CONTRACT_REGISTER:
        raise invalid("/takesAddenda", "not_for_this", "มีเฉพาะแบบคู่สัญญา", "Only contract drawings take addenda.")
    if wanted.approval == "workflow" and register == CONTRACT_REGISTER:
        raise invalid(
            "/approval",
            "not_for_this",
            "แบบคู่สัญญาไม่มีขั้นตอนอนุมัติ",
            "Contract drawings are not approved: they are what was signed.",
        )
    project = await lock_managed_project(ctx, session, project_public_id)
    before = _settings_out(await drawing_settings(session, project_id=project.id, register=register)).model_dump()
    scheme = RevisionScheme.parse(wanted.revision_scheme)
    pattern = NumberPattern.parse(wanted.number_pattern) if wanted.number_pattern else None
    after = _settings_out(
        DrawingSettings(scheme, pattern, wanted.takes_addenda, wanted.approval == "workflow")
    ).model_dump()
    row = await _row(session, project.id, register)
    if row is not None and before == after:
        return
    if row is None:
        row = DrawingSettingsRow(project_id=project.id, kind=register)
        session.add(row)
    row.revision_scheme, row.number_pattern = after["revision_scheme"], after["number_pattern"]
    row.addenda, row.own_workflow = after["takes_addenda"], after["approval"] == "workflow"
    row.updated_by_user_id, row.updated_at = ctx.caller.user_id, ctx.now
    await session.flush()
    details = {"register": register, "changes": field_changes(before, after)}
    await record_change(ctx, session, "project.drawing_settings", project, details)


async def reset_drawing_settings(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, register: str
) -> None:
    """:raises Forbidden:"""
    project = await lock_managed_project(ctx, session, project_public_id)
    row = await _row(session, project.id, register)
    if row is not None:
        await session.delete(row)
        details = {"register": register, "reset": True}
        await record_change(ctx, session, "project.drawing_settings", project, details)
