"""Imports of legacy numbers; existing numbers stay."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports.domain import ImportState
from saraban.imports.models import ImportRow
from saraban.imports.schemas import ImportQuery
from saraban.imports.service.run import Importer, ImportTurn, check_rows, import_rows
from saraban.imports.service.uploads import MOST_BYTES
from saraban.kit.db import Database
from saraban.kit.errors import invalid
from saraban.kit.ids import new_id
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.workbooks import ResultWorkbook
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import COLUMNS
from saraban.numbering.imports.schemas import ImportCommitIn
from saraban.numbering.imports.service.rows import NumberRun, import_target
from saraban.numbering.issue.service.number_request import OVERRIDE
from saraban.numbering.series.models import NumberImport
from saraban.projects import service as projects

Turn = ImportTurn[NumberImport]


class NumberImporter(Importer[NumberImport]):
    model = NumberImport
    path, name, columns = "/document-numbering/imports", "Legacy numbers", COLUMNS

    async def project(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> int:
        project = await projects.find_project(session, public_id=public_id, pointer="query:projectPublicId")
        ctx.caller.require(OVERRIDE, Scope(project=project.id))
        return project.id

    def may_read(self, ctx: RequestContext, row: NumberImport) -> bool:
        return ctx.caller.may(OVERRIDE, Scope(project=row.project_id))

    async def new_import(self, ctx: RequestContext, session: AsyncSession, query: ImportQuery) -> NumberImport:
        return NumberImport(project_id=await self.project(ctx, session, query.project))

    def choose(self, ctx: RequestContext, row: NumberImport, choice: ImportCommitIn) -> Mapping[str, object]:  # noqa: ARG002
        """
        Store the series whose counters move; all others stay (REQ-NUM-18).

        :raises Invalid: at `/moves`, for anything that the dry run did not offer
        """
        offered = {
            series["series"]: series["highest"] for series in (row.report or {}).get("series", []) if series["jump"]
        }
        for place, move in enumerate(choice.moves):
            if move.series not in offered:
                raise invalid(
                    f"/moves/{place}/series",
                    "not_offered",
                    "ผลการตรวจไม่ได้เสนอให้เลื่อนตัวนับของชุดเลขนี้",
                    "The check did not offer to move the counter of this series.",
                )
            if move.to != (shown := offered[move.series]):
                th, en = "ผลการตรวจแสดงเลขสูงสุด {shown}", "The check showed {shown} as the highest number."
                raise invalid(f"/moves/{place}/to", "not_as_shown", th, en, shown=shown)
        row.moves = {move.series: move.to for move in choice.moves}
        row.moves_counters = bool(row.moves)
        return {"moves": row.moves}

    async def begin(self, ctx: RequestContext, db: Database, turn: Turn) -> NumberRun:
        async with db.reading() as session:
            place = await import_target(ctx, session, project_public_id=turn.found.project)
        return NumberRun(ctx, place, turn.row.moves or {})


NUMBER_IMPORTER = NumberImporter()


@dataclass(frozen=True, slots=True)
class SourceFile:
    name: str
    sha256: str


async def import_at_terminal(
    ctx: RequestContext,
    db: Database,
    *,
    project_public_id: UUID,
    rows: Iterable[SheetRow],
    file: SourceFile | None = None,
    moves: Mapping[str, int] | None = None,
    sheet: ResultWorkbook | None = None,
    progress: Callable[[int], object] | None = None,
) -> tuple[NumberRun, Turn]:
    """
    Import or check rows; an interrupted import can be repeated.

    :param file: None: dry run, nothing is written
    :param moves: last number by series whose counter moves; None: counters stay (REQ-NUM-18)
    :raises Forbidden: when the caller does not manage the project's numbers
    """
    async with db.reading() as session:
        target = await import_target(ctx, session, project_public_id=project_public_id)
    row = NumberImport(state=ImportState.CHECKING, project_id=target.project.id)
    if file is not None:
        row = await db.transact(_start_import, ctx, target.project.id, file, moving=moves is not None)
    run = NumberRun(ctx, target, moves or {})
    import_row = ImportRow(row, project_public_id, ctx.caller.username, ctx.caller.public_id)
    turn = ImportTurn(import_row, sheet=sheet, progress=progress)
    await (check_rows if file is None else import_rows)(db, run, turn, rows)
    return run, turn


async def _start_import(
    ctx: RequestContext, session: AsyncSession, project: int, file: SourceFile, *, moving: bool
) -> NumberImport:
    row = await repository.unfinished_import(session, project_id=project, sha256=file.sha256)
    if row is None:
        row = NumberImport(
            public_id=new_id(),
            project_id=project,
            user_id=ctx.caller.user_id,
            file_name=file.name[:255],
            file_sha256=file.sha256,
            state=ImportState.IMPORTING,
            created_at=ctx.now,
        )
        session.add(row)
    row.moves_counters, row.rows_done, row.rows_refused, row.updated_at = moving, 0, 0, ctx.now
    await session.flush()
    return row


def source_file(path: Path) -> SourceFile:
    """:raises Invalid: for a file that is too large"""
    if path.stat().st_size > MOST_BYTES:
        th, en = "ไฟล์ใหญ่เกิน {most} MB", "The file is larger than {most} MB."
        raise invalid("/file", "too_large", th, en, most=MOST_BYTES >> 20)
    with path.open("rb") as file:
        return SourceFile(path.name, hashlib.file_digest(file, "sha256").hexdigest())
