"""Drawing revisions that documents carry."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.repository import carried as repository
from saraban.documents.drawing.repository import registers
from saraban.documents.drawing.repository.carried import CarriedRow, CarrierTable
from saraban.documents.drawing.repository.revisions import SeenRevision, revisions_by_key
from saraban.documents.drawing.schemas import CarriedDrawingAnswer
from saraban.documents.drawing.service.revisions import (
    current_revisions,
    revision_files,
    visible_revisions,
)
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import invalid, unknown

Carried = list[tuple[DrawingKind, int]]
POINTER: Final = "/drawingRevisionPublicIds"


async def check_carried(
    ctx: RequestContext, session: AsyncSession, *, project_id: int, asked: Sequence[UUID]
) -> Carried:
    """:raises Invalid: for a revision that is unknown, hidden, of another project, or listed twice"""
    seen = {kind: await visible_revisions(ctx, session, kind, asked, project_id=project_id) for kind in KINDS.values()}
    revisions: dict[UUID, tuple[DrawingKind, int]] = {}
    for place, public_id in enumerate(asked):
        pointer = f"{POINTER}/{place}"
        if public_id in revisions:
            raise invalid(pointer, "duplicate", "ระบุแบบนี้ซ้ำ", "This drawing is listed twice.")
        match = next(((kind, rows[public_id]) for kind, rows in seen.items() if public_id in rows), None)
        if match is None:
            raise unknown(pointer, str(public_id))
        revisions[public_id] = match[0], match[1].key
    return list(revisions.values())


async def replace_carried(session: AsyncSession, carrier: CarrierTable, key: int, wanted: Carried) -> None:
    await repository.remove(session, carrier, key)
    await repository.add(session, carrier, key, wanted)


async def copy_carried(session: AsyncSession, carrier: CarrierTable, *, before: int, key: int) -> None:
    """Copy the list of `before`, each drawing at its current revision."""
    rows = await repository.rows(session, carrier, [before])
    current: Carried = []
    for kind in KINDS.values():
        keys = await current_revisions(session, kind, [row.key for row in rows if row.kind is kind])
        current += [(kind, revision) for revision in dict.fromkeys(keys)]
    await replace_carried(session, carrier, key, current)


async def carried_drawings(
    session: AsyncSession, carrier: CarrierTable, keys: Sequence[int]
) -> list[tuple[CarriedRow, SeenRevision]]:
    """Return carried revisions in order, with their present texts."""
    rows = await repository.rows(session, carrier, keys)
    revisions = {
        kind: await revisions_by_key(session, kind, {row.key for row in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    return [(row, revisions[row.kind][row.key]) for row in rows]


async def carried_ids(session: AsyncSession, carrier: CarrierTable, key: int) -> list[UUID]:
    return [revision.public_id for _, revision in await carried_drawings(session, carrier, [key])]


async def carried_answers(
    session: AsyncSession, carrier: CarrierTable, keys: Sequence[int]
) -> Mapping[int, list[CarriedDrawingAnswer]]:
    """Return carried revisions without a check of the reader."""
    rows = await carried_drawings(session, carrier, keys)
    files = {
        kind: await revision_files(session, kind, {row.key for row, _ in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    answers: dict[int, list[CarriedDrawingAnswer]] = defaultdict(list)
    for row, revision in rows:
        is_sent = row.number is not None
        answers[row.carrier_id].append(
            CarriedDrawingAnswer(
                kind=row.kind.path,
                drawing_public_id=revision.drawing_public_id,
                revision_public_id=revision.public_id,
                drawing_number=row.number or revision.number,
                revision_label=row.label if is_sent else revision.label,
                title=row.title or revision.title,
                title_en=row.title_en if is_sent else revision.title_en,
                is_superseded=not revision.is_current,
                attachments=files[row.kind].get(row.key, []),
            )
        )
    return answers


async def carriers_of_file(session: AsyncSession, carrier: CarrierTable, attachment_id: int) -> list[int]:
    carriers: list[int] = []
    for kind in KINDS.values():
        revisions = await registers.revisions_with_file(session, kind, attachment_id)
        carriers += await repository.carriers(session, carrier, kind, revisions) if revisions else []
    return carriers
