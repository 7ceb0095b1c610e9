"""What a project decides for each of its registers of drawings: read by whoever sees the project, set by who manages it."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.domain import field_changes
from saraban.documents.drawing.domain import DrawingKind
from saraban.documents.drawing.domain.revision_scheme import RevisionScheme
from saraban.documents.drawing.domain.settings import DEFAULTS, DrawingSettings, NumberPattern
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.schemas import RegisterSettings
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid
from saraban.projects import service as projects


async def settings_of(session: AsyncSession, project_id: int, kind: DrawingKind) -> DrawingSettings:
    row = await writes.settings(session, project_id=project_id, kind=kind)
    if row is None:
        return DEFAULTS
    pattern = NumberPattern(row.number_pattern) if row.number_pattern else None
    return DrawingSettings(RevisionScheme.parse(row.revision_scheme), pattern, row.addenda, row.own_workflow)


def _shown(settings: DrawingSettings) -> RegisterSettings:
    return RegisterSettings(
        revision_scheme=str(settings.scheme),
        number_pattern=settings.pattern.text if settings.pattern else None,
        takes_addenda=settings.addenda,
        approval="workflow" if settings.own_workflow else "rfa",
    )


async def read_settings(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, *, project_public_id: UUID
) -> RegisterSettings:
    """
    :raises NotFound: for a project that the caller may not see
    """
    project = await projects.visible_project(ctx, session, project_public_id, closed=True)
    return _shown(await settings_of(session, project.id, kind))


async def save_settings(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    *,
    project_public_id: UUID,
    wanted: RegisterSettings,
) -> None:
    """
    Set how a register numbers its revisions and what its drawing numbers look like; what is registered already stays as it is.

    :raises NotFound: for a project that the caller may not see
    :raises Forbidden: when the caller does not manage it
    :raises Invalid: for a scheme or a pattern that says nothing, naming the field
    """
    project = await projects.lock_managed_project(ctx, session, project_public_id)
    before = _shown(await settings_of(session, project.id, kind))
    scheme = RevisionScheme.parse(wanted.revision_scheme)
    pattern = NumberPattern.parse(wanted.number_pattern) if wanted.number_pattern else None
    if kind.whole and wanted.approval == "workflow":
        raise invalid(
            "/approval",
            "not_for_this",
            "แบบคู่สัญญาไม่มีขั้นตอนอนุมัติ",
            "Contract drawings are not approved: they are what was signed.",
        )
    after = _shown(DrawingSettings(scheme, pattern, wanted.takes_addenda, wanted.approval == "workflow"))
    if changes := field_changes(before.model_dump(), after.model_dump()):
        await writes.save_settings(
            session,
            project_id=project.id,
            kind=kind,
            values={
                "revision_scheme": after.revision_scheme,
                "number_pattern": after.number_pattern,
                "addenda": after.takes_addenda,
                "own_workflow": after.approval == "workflow",
                "updated_by_user_id": ctx.caller.user_id,
                "updated_at": ctx.now,
            },
        )
        details = {"register": kind.path, "changes": changes}
        await projects.record_change(ctx, session, "project.drawing_settings", project, details)
