"""Drawing revisions for the documents that carry them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.repository import registers as repository
from saraban.documents.drawing.repository import revisions as revision_rows
from saraban.documents.drawing.repository import writes
from saraban.documents.drawing.repository.registers import DrawingRow
from saraban.documents.drawing.repository.revisions import SeenRevision
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingFileAnswer
from saraban.documents.drawing.service.presentation import file_shown
from saraban.documents.drawing.service.registers import find, reader_of, readers_of
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound
from saraban.projects import service as projects


async def visible_revisions(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    public_ids: Collection[UUID],
    *,
    project_id: int | None = None,
) -> dict[UUID, SeenRevision]:
    """:param project_id: if given, a project that the caller may see"""
    if not public_ids:
        return {}
    rows = await revision_rows.revisions_by_public_id(session, kind, public_ids, project_id=project_id)
    if project_id is None:
        readers = await readers_of(ctx, session, {row.project_id for row in rows})
    else:
        readers = {project_id: await reader_of(ctx, session, project_id)}
    return {
        row.public_id: row for row in rows if row.project_id in readers and readers[row.project_id].sees(row.audience)
    }


async def current_by_number(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, *, project: UUID, numbers: Collection[str]
) -> dict[str, UUID]:
    """Return visible current revisions; a number of an earlier revision counts, too."""
    if not numbers:
        return {}
    place = await projects.visible_project(ctx, session, project)
    present = await revision_rows.numbers_now(session, kind, project_id=place.id, numbers=numbers)
    rows = await revision_rows.current_by_number(session, kind, project_id=place.id, numbers=set(present.values()))
    reader = await reader_of(ctx, session, place.id)
    visible = {row.number: row.public_id for row in rows if reader.sees(row.audience)}
    return {typed: visible[number] for typed, number in present.items() if number in visible}


class NumberedRevision(NamedTuple):
    """:param label: None names the current revision"""

    number: str
    label: str | None = None


async def revisions_by_number(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    *,
    project: UUID,
    wanted: Collection[NumberedRevision],
) -> dict[NumberedRevision, DrawingRow]:
    """Return visible revisions; a number of an earlier revision counts, too."""
    if not wanted:
        return {}
    place = await projects.visible_project(ctx, session, project)
    tables = tables_of(kind)
    numbers = {revision.number for revision in wanted}
    present = await revision_rows.numbers_now(session, kind, project_id=place.id, numbers=numbers)
    condition = sa.and_(
        tables.head.project_id == place.id,
        tables.number.in_(set(present.values())),
        sa.or_(
            tables.revision.is_current == sa.true(),
            tables.revision.revision_label.in_({revision.label for revision in wanted if revision.label is not None}),
        ),
    )
    rows, reader = await repository.history(session, kind, condition), await reader_of(ctx, session, place.id)
    visible: dict[NumberedRevision, DrawingRow] = {}
    for row in rows:
        if reader.sees(row.audience):
            number = row.named["number"]  # of the head: `row.number` may be that of an earlier revision
            visible[NumberedRevision(number, row.revision.revision_label or "")] = row
            if row.revision.is_current:
                visible[NumberedRevision(number)] = row
    names = {typed: NumberedRevision(present.get(typed.number, typed.number), typed.label) for typed in wanted}
    return {typed: visible[name] for typed, name in names.items() if name in visible}


async def current_revisions(session: AsyncSession, kind: DrawingKind, keys: Sequence[int]) -> list[int]:
    """Return the current revisions of the drawings, in the order of `keys`."""
    current = await writes.current_by_revision(session, kind, keys) if keys else {}
    return [current[key] for key in keys]


async def hold_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> set[int]:
    """Lock revisions in the order of ids, and return the superseded ones."""
    return set(keys).difference(await writes.lock_revisions(session, kind, keys)) if keys else set()


async def revision_files(
    session: AsyncSession, kind: DrawingKind, keys: Collection[int]
) -> Mapping[int, list[DrawingFileAnswer]]:
    """Return files by revision, the main file first."""
    files_by_key = await repository.files(session, kind, keys) if keys else {}
    return {key: [file_shown(file) for file in files] for key, files in files_by_key.items()}


@dataclass(frozen=True, slots=True)
class DrawingOfFile:
    """:param drawing: None, like `superseded_by`, for readers who see only a document that carries it"""

    kind: DrawingKind
    project: UUID
    number: str
    label: str | None
    date: date | None
    title: str
    title_en: str | None
    is_current: bool
    drawing: UUID | None = None
    superseded_by: str | None = None


async def drawing_of_file(ctx: RequestContext, session: AsyncSession, attachment_id: int) -> DrawingOfFile:
    """
    Return the drawing of a file that the caller may read.

    :raises NotFound:
    """
    for kind in KINDS.values():
        keys = await repository.revisions_with_file(session, kind, attachment_id)
        for row in await repository.history(session, kind, tables_of(kind).revision.id.in_(keys)) if keys else ():
            is_visible = await _is_visible(ctx, session, kind, row)
            return DrawingOfFile(
                kind,
                row.project.public_id,
                row.number,
                row.revision.revision_label,
                row.revision.revision_date,
                row.revision.title,
                row.revision.title_en,
                bool(row.revision.is_current),
                row.head.public_id if is_visible else None,
                row.superseded_by if is_visible else None,
            )
    raise NotFound("The file belongs to no drawing.")


async def _is_visible(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, row: DrawingRow) -> bool:
    try:
        await find(ctx, session, kind, row.head.public_id)
    except NotFound:
        return False
    return True
