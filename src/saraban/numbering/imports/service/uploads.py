"""Imports of uploaded files, as people see them: upload one, start it once it is checked, read how far it is and what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import Storage
from saraban.attachments.service import require_same_file
from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports import service as imports
from saraban.imports.models import ImportRow
from saraban.imports.service import ImportFile
from saraban.kit.db import Database
from saraban.kit.errors import NotFound, invalid
from saraban.kit.idempotency import Idempotency
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page
from saraban.numbering.issue.service.number_request import OVERRIDE
from saraban.numbering.series.models import NumberImport
from saraban.projects import service as projects

NumberImportRow = ImportRow[NumberImport]


class CounterMove(NamedTuple):
    """A series whose counter shall go on after `to`, as the dry run showed it."""

    series: str
    to: int


async def upload_import(
    ctx: RequestContext,
    db: Database,
    storage: Storage,
    idempotency: Idempotency,
    *,
    project_public_id: UUID,
    sheet: ImportFile,
) -> Receipt:
    """
    Store a file for a worker to check; nothing is imported before `start_import`.

    What the file holds shows only when it has been read: the key is claimed for its name, and the file of a repetition is
    read to its end and held against the first.

    :raises KeyReused: when the key came before with another name, project or content
    :raises Forbidden: for who does not manage the numbers of the project; nothing of the file is read then
    :raises Invalid: at `/file`, when it is neither XLSX nor CSV
    :raises FileTooLarge: as soon as it has more than 20 MB
    """
    asked = {"file": sheet.name, "projectPublicId": str(project_public_id)}
    async with idempotency.claim(Operation.of(ctx, "POST /document-numbering/imports", asked)) as claim:
        if claim.receipt is not None:
            await require_same_file(claim.receipt, sheet.intake)
            return claim.receipt
        row = NumberImport(project_id=await _importable(ctx, db, project_public_id, sheet))
        return await imports.store(ctx, db, storage, claim, sheet, row)


async def _importable(ctx: RequestContext, db: Database, project_public_id: UUID, sheet: ImportFile) -> int:
    sheet.require_spreadsheet()
    async with db.reading() as session:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(OVERRIDE, Scope(project=project.id))
        return project.id


async def start_import(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, moves: Sequence[CounterMove]
) -> NumberImportRow:
    """
    Let a worker import what the dry run accepted.

    :param moves: the series that were ticked; all other counters stay (REQ-NUM-18)
    :raises ImportNotChecked: before the dry run is done, and when it was told to go on before
    :raises Invalid: at `/moves`, for a series that the dry run did not offer, or at another number
    """
    found = await read_import(ctx, session, public_id=public_id)
    row = await imports.hold_checked(session, found)
    row.moves = _ticked(row.report or {}, moves)
    row.moves_counters = bool(moves)
    await imports.start(ctx, session, row, moves=row.moves)
    return found


def _ticked(report: Mapping[str, Any], moves: Sequence[CounterMove]) -> dict[str, int]:
    offered = {one["series"]: one["highest"] for one in report.get("series", []) if one["jump"]}
    for place, move in enumerate(moves):
        if move.series not in offered:
            raise invalid(
                f"/moves/{place}/series",
                "not_offered",
                "ผลการตรวจไม่ได้เสนอให้เลื่อนตัวนับของชุดเลขนี้",
                "The check did not offer to move the counter of this series.",
            )
        if move.to != offered[move.series]:
            raise invalid(
                f"/moves/{place}/to",
                "not_as_shown",
                "ผลการตรวจแสดงเลขสูงสุด {shown}",
                "The check showed {shown} as the highest number.",
                shown=offered[move.series],
            )
    return {move.series: move.to for move in moves}


async def read_import(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberImportRow:
    """
    Return one import; those at a terminal are among them.

    :raises NotFound: also for who does not manage the numbers of its project
    """
    found = await imports.find(session, NumberImport, public_id)
    if not ctx.caller.may(OVERRIDE, Scope(project=found.row.project_id)):
        raise NotFound("There is no such import.")
    return found


async def list_imports(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[NumberImportRow]:
    """Return the imports of a project, newest first."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    ctx.caller.require(OVERRIDE, Scope(project=project.id))
    return await imports.page(session, NumberImport, project_id=project.id, cursor=cursor, limit=limit)


async def import_result(ctx: RequestContext, session: AsyncSession, storage: Storage, *, public_id: UUID) -> str:
    """
    Return the storage key of the result workbook: each line of the file with what came of it, or would.

    :raises ImportResultMissing: before the dry run is done
    """
    found = await read_import(ctx, session, public_id=public_id)
    return await imports.result(storage, found.row)
