"""The drawings of a transmittal: written down when it is issued, and their files read by who receives it."""

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.drawing import service as drawings
from saraban.documents.transmittal import repository
from saraban.documents.transmittal.models import TransmittalDrawing
from saraban.identity.domain.context import RequestContext


async def issue(session: AsyncSession, revision_id: int) -> None:
    """Write down what each drawing says of itself when it goes along."""
    said = [
        {
            "item": row.item_id,
            "drawing_number": one.number,
            "revision_label": one.label,
            "title": one.title,
            "title_en": one.title_en,
        }
        for row, one in await drawings.carried_drawings(session, TransmittalDrawing, [revision_id])
    ]
    await repository.fix_drawings(session, said)


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Say whether a file hangs on a drawing revision that a transmittal carries which the caller sees."""
    revisions = await drawings.carriers_of_file(session, TransmittalDrawing, attachment_id)
    return bool(await core.readable_revisions(ctx, session, revisions))
