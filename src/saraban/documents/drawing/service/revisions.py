"""Revisions of drawings for the documents that carry them: found as their reader may see them, held, and with their files."""

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
    """
    Return the revisions among `public_ids` whose drawing the caller is shown.

    :param project_id: the only project whose drawings count, which the caller may know of
    """
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
    """
    Return the public ids of what is current of the drawings with these numbers, as far as the caller is shown them.

    A number that an earlier revision was printed with names its drawing, too.
    """
    if not numbers:
        return {}
    place = await projects.visible_project(ctx, session, project)
    now = await revision_rows.numbers_now(session, kind, project_id=place.id, numbers=numbers)
    rows = await revision_rows.current_by_number(session, kind, project_id=place.id, numbers=set(now.values()))
    reader = await reader_of(ctx, session, place.id)
    shown = {row.number: row.public_id for row in rows if reader.sees(row.audience)}
    return {typed: shown[number] for typed, number in now.items() if number in shown}


class NumberedRevision(NamedTuple):
    """A revision of a drawing as people name it; without a label what is current is meant."""

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
    """Return the revisions that are named, as `current_by_number` names drawings, as far as the caller is shown those."""
    if not wanted:
        return {}
    place = await projects.visible_project(ctx, session, project)
    tables = tables_of(kind)
    numbers = {one.number for one in wanted}
    now = await revision_rows.numbers_now(session, kind, project_id=place.id, numbers=numbers)
    condition = sa.and_(
        tables.head.project_id == place.id,
        tables.number.in_(set(now.values())),
        sa.or_(
            tables.revision.is_current == sa.true(),
            tables.revision.revision_label.in_({one.label for one in wanted if one.label is not None}),
        ),
    )
    rows, reader = await repository.history(session, kind, condition), await reader_of(ctx, session, place.id)
    found: dict[NumberedRevision, DrawingRow] = {}
    for row in rows:
        if reader.sees(row.audience):
            # What the drawing goes by now, also where an earlier revision was printed with another.
            number = row.named["number"]
            found[NumberedRevision(number, row.revision.revision_label or "")] = row
            if row.revision.is_current:
                found[NumberedRevision(number)] = row
    named = {one: NumberedRevision(now.get(one.number, one.number), one.label) for one in wanted}
    return {one: found[name] for one, name in named.items() if name in found}


async def current_revisions(session: AsyncSession, kind: DrawingKind, keys: Sequence[int]) -> list[int]:
    """Return the key of what is current by now of the drawing of each revision, in their order."""
    found = await writes.current_by_revision(session, kind, keys) if keys else {}
    return [found[key] for key in keys]


async def hold_revisions(session: AsyncSession, kind: DrawingKind, keys: Collection[int]) -> set[int]:
    """Hold revisions until the end of the transaction, in one order, wherever, and return those that are superseded by then."""
    return set(keys).difference(await writes.lock_revisions(session, kind, keys)) if keys else set()


async def revision_files(
    session: AsyncSession, kind: DrawingKind, keys: Collection[int]
) -> Mapping[int, list[DrawingFileAnswer]]:
    """Return the files of each revision, the main one first."""
    files = await repository.files(session, kind, keys) if keys else {}
    return {key: [file_shown(one) for one in found] for key, found in files.items()}


@dataclass(frozen=True, slots=True)
class DrawingOfFile:
    """
    The revision that a file hangs on.

    :param drawing: public id of the drawing, and `superseded_by` the label of what is current by now: for whoever is shown the drawing
        itself, and not a document alone that carries the revision
    """

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
    Return what a file shows that the caller may read.

    :raises NotFound: for a file of anything else
    """
    for kind in KINDS.values():
        keys = await repository.revisions_with_file(session, kind, attachment_id)
        for row in await repository.history(session, kind, tables_of(kind).revision.id.in_(keys)) if keys else ():
            is_shown = await _is_shown(ctx, session, kind, row)
            return DrawingOfFile(
                kind,
                row.project.public_id,
                row.number,
                row.revision.revision_label,
                row.revision.revision_date,
                row.revision.title,
                row.revision.title_en,
                bool(row.revision.is_current),
                row.head.public_id if is_shown else None,
                row.superseded_by if is_shown else None,
            )
    raise NotFound("The file belongs to no drawing.")


async def _is_shown(ctx: RequestContext, session: AsyncSession, kind: DrawingKind, row: DrawingRow) -> bool:
    try:
        await find(ctx, session, kind, row.head.public_id)
    except NotFound:
        return False
    return True
