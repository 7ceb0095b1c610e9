"""The drawings of a transmittal: checked, written down when it is issued, and shown with their files to who receives it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core import service as core
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.transmittal import repository
from saraban.documents.transmittal.repository import CarriedDrawing
from saraban.documents.transmittal.schemas import TransmittedDrawing
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid, unknown
from saraban.kit.pipeline import Pipeline

Carried = list[tuple[DrawingKind, int]]
POINTER = "/drawingRevisionPublicIds"


async def check(ctx: RequestContext, session: AsyncSession, *, project: UUID, asked: Sequence[UUID]) -> Carried:
    """
    Resolve the revisions that shall go along.

    :raises Invalid: naming the one that is none of the project's, that the caller is not shown, or that is listed twice
    """
    seen = {kind: await drawings.visible_revisions(ctx, session, kind, asked) for kind in KINDS.values()}
    found: dict[UUID, tuple[DrawingKind, int]] = {}
    for place, public_id in enumerate(asked):
        pointer = f"{POINTER}/{place}"
        if public_id in found:
            raise invalid(pointer, "duplicate", "ระบุแบบนี้ซ้ำ", "This drawing is listed twice.")
        match = next(((kind, rows[public_id]) for kind, rows in seen.items() if public_id in rows), None)
        if match is None or match[1].project_public_id != project:
            raise unknown(pointer, str(public_id))
        found[public_id] = match[0], match[1].key
    return list(found.values())


async def replace(session: AsyncSession, revision_id: int, wanted: Carried) -> None:
    """Put other drawings into a draft."""
    pipeline = Pipeline(session)
    repository.remove_drawings(pipeline, revision_id)
    repository.queue_drawings(pipeline, revision_id, wanted)
    await pipeline.send()


async def copy(session: AsyncSession, *, before: int, revision_id: int) -> None:
    """Begin the list of a revision with that of the one before, each drawing at its current revision."""
    rows = await repository.carried_drawings(session, revision_ids=[before])
    current: Carried = []
    for kind in KINDS.values():
        keys = await drawings.current_revisions(session, kind, [row.key for row in rows if row.kind is kind])
        current += [(kind, key) for key in dict.fromkeys(keys)]
    await replace(session, revision_id, current)


async def issue(session: AsyncSession, revision_id: int) -> None:
    """Write down what each drawing says of itself when it goes along."""
    rows = await repository.carried_drawings(session, revision_ids=[revision_id])
    said = [
        {
            "item": row.item_id,
            "drawing_number": one.number,
            "revision_label": one.label,
            "title": one.title,
            "title_en": one.title_en,
        }
        for row, one in await _resolved(session, rows)
    ]
    await repository.fix_drawings(session, said)


async def carried(session: AsyncSession, revision_id: int) -> list[UUID]:
    """Return the public ids of the revisions that a transmittal carries, in the order of its list."""
    rows = await repository.carried_drawings(session, revision_ids=[revision_id])
    return [one.public_id for _, one in await _resolved(session, rows)]


async def answers(session: AsyncSession, revision_ids: Sequence[int]) -> Mapping[int, list[TransmittedDrawing]]:
    """Return what revisions of transmittals carry of drawings, each in the order of its list."""
    found: dict[int, list[TransmittedDrawing]] = defaultdict(list)
    rows = await repository.carried_drawings(session, revision_ids=revision_ids)
    files = {
        kind: await drawings.revision_files(session, kind, {row.key for row in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    for row, one in await _resolved(session, rows):
        is_issued = row.number is not None
        found[row.carrier_id].append(
            TransmittedDrawing(
                kind=row.kind.path,
                drawing_public_id=one.drawing_public_id,
                revision_public_id=one.public_id,
                drawing_number=row.number or one.number,
                revision_label=row.label if is_issued else one.label,
                title=row.title or one.title,
                title_en=row.title_en if is_issued else one.title_en,
                is_superseded=not one.is_current,
                attachments=files[row.kind].get(row.key, []),
            )
        )
    return found


async def _resolved(
    session: AsyncSession, rows: Sequence[CarriedDrawing]
) -> list[tuple[CarriedDrawing, drawings.CarriedRevision]]:
    known = {
        kind: await drawings.revisions_by_key(session, kind, {row.key for row in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    return [(row, known[row.kind][row.key]) for row in rows]


async def reads_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> bool:
    """Say whether a file hangs on a drawing revision that a transmittal carries which the caller sees."""
    for kind in KINDS.values():
        keys = await drawings.revisions_of_file(session, kind, attachment_id)
        carriers = await repository.carriers(session, kind, keys) if keys else []
        if carriers and await core.visible(ctx, session, public_ids=carriers):
            return True
    return False
