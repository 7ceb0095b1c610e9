"""The version that a document starts on, by the workflow assigned to it: one statement for both."""

from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.workflow.language.registers import Matter
from saraban.workflow.runtime.models import WorkflowDefinition
from saraban.workflow.runtime.models.assignments import WorkflowAssignment

EVERYWHERE, EVERY_TYPE = 0, ""
_C, _D = WorkflowAssignment, WorkflowDefinition

# The project before the installation, and within either a type before all: the greater key is the more specific.
_CHOSEN = (
    sa.select(_C.workflow_code)
    .where(
        _C.kind == sa.bindparam("kind"),
        _C.reach.in_([EVERYWHERE, sa.bindparam("project")]),
        _C.type_code.in_([EVERY_TYPE, sa.bindparam("type_code")]),
    )
    .order_by(_C.reach.desc(), _C.type_code.desc())
    .limit(1)
    .scalar_subquery()
)
_STARTS = (
    sa.select(_D.id)
    .where(_D.workflow_code == sa.func.coalesce(_CHOSEN, sa.bindparam("otherwise")), _D.is_active)
    .order_by(_D.version.desc())
    .limit(1)
)


async def starting_id(session: AsyncSession, matter: Matter, *, otherwise: str) -> UUID | None:
    """The active version of the workflow that is chosen for a document, or of the one `otherwise`."""
    given = {"kind": matter.kind, "project": matter.project, "type_code": matter.type_code, "otherwise": otherwise}
    return await session.scalar(_STARTS, given)


async def chosen_code(session: AsyncSession, matter: Matter) -> str | None:
    """The workflow that is chosen for a document, in force or not."""
    given = {"kind": matter.kind, "project": matter.project, "type_code": matter.type_code}
    return await session.scalar(sa.select(_CHOSEN), given)
