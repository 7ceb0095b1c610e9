"""What documents carry of drawings: checked, replaced and shown alike, whatever the kind of document."""

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
    """
    Resolve the revisions that a document shall carry.

    :raises Invalid: naming the one that is none of the project's, that the caller is not shown, or that is listed twice
    """
    seen = {kind: await visible_revisions(ctx, session, kind, asked, project_id=project_id) for kind in KINDS.values()}
    found: dict[UUID, tuple[DrawingKind, int]] = {}
    for place, public_id in enumerate(asked):
        pointer = f"{POINTER}/{place}"
        if public_id in found:
            raise invalid(pointer, "duplicate", "ระบุแบบนี้ซ้ำ", "This drawing is listed twice.")
        match = next(((kind, rows[public_id]) for kind, rows in seen.items() if public_id in rows), None)
        if match is None:
            raise unknown(pointer, str(public_id))
        found[public_id] = match[0], match[1].key
    return list(found.values())


async def replace_carried(session: AsyncSession, carrier: CarrierTable, key: int, wanted: Carried) -> None:
    await repository.remove(session, carrier, key)
    await repository.add(session, carrier, key, wanted)


async def copy_carried(session: AsyncSession, carrier: CarrierTable, *, before: int, key: int) -> None:
    """Begin a list with what another one carries, each drawing at its current revision."""
    rows = await repository.rows(session, carrier, [before])
    current: Carried = []
    for kind in KINDS.values():
        keys = await current_revisions(session, kind, [row.key for row in rows if row.kind is kind])
        current += [(kind, one) for one in dict.fromkeys(keys)]
    await replace_carried(session, carrier, key, current)


async def carried_drawings(
    session: AsyncSession, carrier: CarrierTable, keys: Sequence[int]
) -> list[tuple[CarriedRow, SeenRevision]]:
    """Return what documents carry, each in the order of its list, with the drawing as it stands."""
    rows = await repository.rows(session, carrier, keys)
    known = {
        kind: await revisions_by_key(session, kind, {row.key for row in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    return [(row, known[row.kind][row.key]) for row in rows]


async def carried_ids(session: AsyncSession, carrier: CarrierTable, key: int) -> list[UUID]:
    return [one.public_id for _, one in await carried_drawings(session, carrier, [key])]


async def carried_answers(
    session: AsyncSession, carrier: CarrierTable, keys: Sequence[int]
) -> Mapping[int, list[CarriedDrawingAnswer]]:
    """Return what documents carry as it is shown, by their keys; whoever sees a document is shown what it carries."""
    rows = await carried_drawings(session, carrier, keys)
    files = {
        kind: await revision_files(session, kind, {row.key for row, _ in rows if row.kind is kind})
        for kind in KINDS.values()
    }
    found: dict[int, list[CarriedDrawingAnswer]] = defaultdict(list)
    for row, one in rows:
        is_written = row.number is not None
        found[row.carrier_id].append(
            CarriedDrawingAnswer(
                kind=row.kind.path,
                drawing_public_id=one.drawing_public_id,
                revision_public_id=one.public_id,
                drawing_number=row.number or one.number,
                revision_label=row.label if is_written else one.label,
                title=row.title or one.title,
                title_en=row.title_en if is_written else one.title_en,
                is_superseded=not one.is_current,
                attachments=files[row.kind].get(row.key, []),
            )
        )
    return found


async def carriers_of_file(session: AsyncSession, carrier: CarrierTable, attachment_id: int) -> list[int]:
    found: list[int] = []
    for kind in KINDS.values():
        revisions = await registers.revisions_with_file(session, kind, attachment_id)
        found += await repository.carriers(session, carrier, kind, revisions) if revisions else []
    return found
