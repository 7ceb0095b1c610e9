"""
Imports of drawings: a file is uploaded and checked; once somebody says so, a worker adds its lines to the register, a transaction for
each batch of drawings. What is there already is left alone, so that an import which was broken off anywhere can be run again.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import Storage
from saraban.attachments.service import require_same_file
from saraban.documents.drawing.domain import CREATE, KINDS, DrawingKind
from saraban.documents.drawing.domain.register_import import MissingCodes, columns_of
from saraban.documents.drawing.models import DrawingImport
from saraban.documents.drawing.repository import imports as repository
from saraban.documents.drawing.repository.tables import tables_of
from saraban.documents.drawing.schemas import DrawingImportQuery
from saraban.documents.drawing.service.import_lines import (
    JudgedLine,
    ReadLine,
    RegisterImport,
    by_drawing,
)
from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports import service as imports
from saraban.imports.domain import DONE_OUTCOMES, MISSING, OUTCOMES, READY, REFUSED, THERE, ImportState
from saraban.imports.models import ImportRow
from saraban.imports.service import ImportFile, ImportTurn
from saraban.kit.child_processes import CHILDREN
from saraban.kit.db import Database, violates_constraint
from saraban.kit.errors import NotFound, unknown
from saraban.kit.idempotency import Idempotency
from saraban.kit.json import Json
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page
from saraban.kit.sheet_columns import SheetRow
from saraban.kit.spreadsheets import read_table
from saraban.kit.workbooks import ResultWorkbook
from saraban.numbering import service as numbering
from saraban.projects import service as projects
from saraban.setup.domain.master_kinds import DRAWING_CATEGORIES, MasterKind
from saraban.setup.service import master_data, master_import

MANAGE: Final = "project.edit"
BATCH: Final = 500  # drawings
_RACES: Final = 4
DrawingImportRow = ImportRow[DrawingImport]
Turn = ImportTurn[DrawingImport]
_VOLUMES, _CATEGORIES, _SUBS, _MAIN, _SHOP_SUBS = DRAWING_CATEGORIES


async def upload_import(
    ctx: RequestContext,
    db: Database,
    storage: Storage,
    idempotency: Idempotency,
    kind: DrawingKind,
    *,
    asked: DrawingImportQuery,
    sheet: ImportFile,
) -> Receipt:
    """
    Store a file of drawings for a worker to check; nothing is imported before `start_import`.

    :raises Forbidden: for who registers no drawings; nothing of the file is read then
    :raises Invalid: for a project that the caller may not see, its codes, and at `/file`
    """
    said = {"kind": kind.path, "file": sheet.name, **asked.model_dump(mode="json")}
    async with idempotency.claim(Operation.of(ctx, "POST /drawings/imports", said)) as claim:
        if claim.receipt is not None:
            await require_same_file(claim.receipt, sheet.intake)
            return claim.receipt
        sheet.require_spreadsheet()
        row = DrawingImport(kind=kind.path, contract=asked.contract, originator=asked.originator)
        async with db.reading() as session:
            row.project_id = await _importable(ctx, session, asked)
        return await imports.store(ctx, db, storage, claim, sheet, row)


async def _importable(ctx: RequestContext, session: AsyncSession, asked: DrawingImportQuery) -> int:
    ctx.caller.require_somewhere(CREATE)
    try:
        project = await projects.visible_project(ctx, session, asked.project)
    except NotFound:
        raise unknown("query:projectPublicId", str(asked.project)) from None
    read = await projects.read_project(ctx, session, public_id=asked.project)
    known = {
        "contract": {one.contract_code for one in read.contracts},
        "originator": {one.organization_code for one in read.organizations},
    }
    for name, codes in known.items():
        if (code := getattr(asked, name)) is not None and code not in codes:
            raise unknown(f"query:{name}", code)
    return project.id


async def read_import(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID
) -> DrawingImportRow:
    """
    :raises NotFound: also for who neither sent the file nor manages the project
    """
    found = await imports.find(session, DrawingImport, public_id)
    own = found.row.user_id == ctx.caller.user_id
    if found.row.kind != kind.path or not (own or ctx.caller.may(MANAGE, Scope(project=found.row.project_id))):
        raise NotFound("There is no such import.")
    return found


async def list_imports(
    ctx: RequestContext,
    session: AsyncSession,
    kind: DrawingKind,
    *,
    project_public_id: UUID,
    cursor: str | None,
    limit: int,
) -> Page[DrawingImportRow]:
    """Return the imports into a register, newest first: the caller's own, and all of them for who manages the project."""
    try:
        project = await projects.visible_project(ctx, session, project_public_id)
    except NotFound:
        raise unknown("query:projectPublicId", str(project_public_id)) from None
    own = DrawingImport.user_id == ctx.caller.user_id
    only = [] if ctx.caller.may(MANAGE, Scope(project=project.id)) else [own]
    return await imports.page(
        session,
        DrawingImport,
        *(DrawingImport.kind == kind.path, *only),
        project_id=project.id,
        cursor=cursor,
        limit=limit,
    )


async def start_import(
    ctx: RequestContext, session: AsyncSession, kind: DrawingKind, public_id: UUID, *, create_missing: bool
) -> None:
    """
    Let a worker import what the dry run accepted.

    :param create_missing: make the codes that the project does not have
    :raises ImportNotChecked: before the dry run is done, and when it was told to go on before
    :raises Forbidden: for who may not change the lists of the project, when some are to be made
    """
    row = await imports.hold_checked(session, await read_import(ctx, session, kind, public_id))
    if create_missing and any((row.report or {}).get("missing", {}).values()):
        ctx.caller.require(_VOLUMES.create, Scope(project=row.project_id))
    row.creates_missing = create_missing
    await imports.start(ctx, session, row, createMissing=create_missing)


async def import_result(
    ctx: RequestContext, session: AsyncSession, storage: Storage, kind: DrawingKind, public_id: UUID
) -> str:
    """
    Return the storage key of the result workbook.

    :raises ImportResultMissing: before the dry run is done
    """
    return await imports.result(storage, (await read_import(ctx, session, kind, public_id)).row)


@dataclass(slots=True)
class _Counts:
    """Lines by what they come to."""

    ready: int = 0
    there: int = 0
    waiting: int = 0
    refused: int = 0

    def add(self, judged: Sequence[JudgedLine]) -> None:
        states = [one.state for one in judged]
        self.ready += states.count(READY)
        self.there += states.count(THERE)
        self.waiting += states.count(MISSING)
        self.refused += states.count(REFUSED)

    def report(self, turn: Turn, missing: MissingCodes) -> dict[str, object]:
        return {
            "ready": self.ready,
            "there": self.there,
            "waiting": self.waiting,
            "refused": self.refused,
            "missing": missing.report(),
            "faults": turn.faults,
        }


class DrawingImportJob:
    model = DrawingImport

    def count(self, path: Path) -> int:
        """The columns that every register needs are the same."""
        return sum(1 for _ in read_table(path, columns_of(KINDS["shop"])).rows)

    async def check(
        self, ctx: RequestContext, db: Database, turn: Turn, path: Path, result: Path
    ) -> Mapping[str, object]:
        run, counts = await _begin(ctx, db, turn), _Counts()
        drawings, unreadable = await _read(path, run.kind)
        with ResultWorkbook(result, columns_of(run.kind), OUTCOMES) as sheet:
            _tell(turn, counts, sheet, _refused(unreadable))
            for batch in _batches(drawings):
                async with db.reading() as session:
                    judged, _ = await run.judge(session, batch)
                _tell(turn, counts, sheet, judged)
                await asyncio.sleep(0)
        return counts.report(turn, run.missing)

    async def run(self, ctx: RequestContext, db: Database, turn: Turn, path: Path, result: Path) -> None:
        if turn.row.creates_missing:
            await db.transact(partial(_create_missing, ctx, turn))
        run, counts = await _begin(ctx, db, turn), _Counts()
        drawings, unreadable = await _read(path, run.kind)
        with ResultWorkbook(result, columns_of(run.kind), DONE_OUTCOMES) as sheet:
            _tell(turn, counts, sheet, _refused(unreadable))
            for batch in _batches(drawings):
                _tell(turn, counts, sheet, await import_drawings(db, run, turn, batch))
        await db.transact(partial(_finish, ctx, turn, counts, run.missing))


async def _begin(ctx: RequestContext, db: Database, turn: Turn) -> RegisterImport:
    row = turn.row
    async with db.reading() as session:
        place = await projects.find_project(session, public_id=turn.found.project, pointer="/projectPublicId")
        defaults = {"contract": row.contract, "originator": row.originator}
        run = RegisterImport(ctx, KINDS[row.kind], place, defaults)
        await run.load(session)
    return run


async def _read(path: Path, kind: DrawingKind) -> tuple[list[list[ReadLine]], list[ReadLine]]:
    return await CHILDREN.run_in_background(lambda: by_drawing(read_table(path, columns_of(kind)).rows, kind))


def _batches(drawings: Sequence[list[ReadLine]]) -> Iterator[Sequence[list[ReadLine]]]:
    return (drawings[start : start + BATCH] for start in range(0, len(drawings), BATCH))


def _refused(unreadable: Sequence[ReadLine]) -> list[JudgedLine]:
    return [JudgedLine(one, REFUSED, one.faults) for one in unreadable]


def _tell(turn: Turn, counts: _Counts, sheet: ResultWorkbook, judged: Sequence[JudgedLine]) -> None:
    for one in judged:
        if one.state == REFUSED or (one.state == MISSING and not turn.is_check):
            turn.refuse(one.read.row.number, one.faults)
        sheet.add(one.read.row, one.state, one.faults)
    counts.add(judged)
    turn.count(turn.done + len(judged))


async def import_drawings(
    db: Database, run: RegisterImport, turn: Turn, drawings: Sequence[Sequence[ReadLine]]
) -> list[JudgedLine]:
    """
    Add the lines of some drawings to the register, in one transaction.

    A number that somebody registers between the look and the write breaks a constraint: it is looked at again, and found.
    """
    for _ in range(_RACES):
        try:
            return await db.transact(partial(_write, run, turn, drawings))
        except IntegrityError as error:
            if not violates_constraint(error, *tables_of(run.kind).taken, *numbering.NUMBER_CONSTRAINTS):
                raise
    return await db.transact(partial(_write, run, turn, drawings))


async def _write(
    run: RegisterImport, turn: Turn, drawings: Sequence[Sequence[ReadLine]], session: AsyncSession
) -> list[JudgedLine]:
    judged, rows = await run.judge(session, drawings, lock=True)
    await run.write(session, rows)
    await turn.write(
        session,
        rows_done=turn.done + len(judged),
        rows_refused=turn.refused + sum(one.state in {REFUSED, MISSING} for one in judged),
        rows_written=DrawingImport.rows_written + len(rows.revisions),
        updated_at=run.ctx.now,
    )
    return judged


async def _finish(
    ctx: RequestContext, turn: Turn, counts: _Counts, missing: MissingCodes, session: AsyncSession
) -> None:
    row = await imports.hold(session, DrawingImport, key=turn.row.id, lease=turn.lease)
    refused = counts.refused + counts.waiting
    row.state, row.rows_refused = ImportState.DONE, refused
    row.rows_total = row.rows_done = counts.ready + counts.there + refused
    there = row.rows_total - refused - row.rows_written  # what was written before a break is of this import
    told = {"imported": row.rows_written, "there": there, "refused": refused, "waiting": 0}
    row.report = counts.report(turn, missing) | told
    row.updated_at = row.finished_at = ctx.now
    await session.flush()


async def _create_missing(ctx: RequestContext, turn: Turn, session: AsyncSession) -> None:
    """Make the codes that the dry run missed, named by their codes; what somebody has made since is left as it is."""
    missing = (turn.row.report or {}).get("missing", {})
    await create_codes(ctx, session, KINDS[turn.row.kind], owner=turn.found.project, codes=missing)


async def create_codes(
    ctx: RequestContext, session: AsyncSession, register: DrawingKind, *, owner: UUID, codes: Mapping[str, Any]
) -> None:
    """
    Make rows of the lists that drawings of a register are classified by, named by their codes.

    :param codes: as `MissingCodes.report` has them
    """
    main, sub = (_CATEGORIES, _SUBS) if register.whole else (_MAIN, _SHOP_SUBS)
    for kind, listed in ((_VOLUMES, codes.get("volumes")), (main, codes.get("categories"))):
        await _import_list(ctx, session, kind, owner, {code: {} for code in listed or ()})
    categories: dict[str, dict[str, Json]] = {code: {} for code in codes.get("subCategories", ())}
    for category, code in codes.get("pairs", ()):
        stated = categories.setdefault(code, {})
        stated["categories"] = ", ".join(filter(None, [str(stated.get("categories") or ""), category]))
    await _import_list(ctx, session, sub, owner, categories)


async def _import_list(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID, rows: Mapping[str, Mapping[str, Json]]
) -> None:
    """Add rows to one of the project's lists, and categories to sub categories that are there."""
    if not rows:
        return
    there: dict[str, dict[str, Json]] = {}
    cursor: str | None = ""
    while cursor is not None:
        page = await master_data.list_rows(
            ctx, session, kind, owner=owner, include_closed=True, cursor=cursor or None, limit=500
        )
        there |= {row.code: dict(row.values) for row in page.items}
        cursor = page.next_cursor
    sheet = []
    for number, (code, stated) in enumerate(rows.items(), 1):
        values = there.get(code) or {kind.code.name: code, **{one.name: code for one in kind.fields if one.required}}
        both = [str(one["categories"]) for one in (values, stated) if one.get("categories")]
        values |= {"categories": ", ".join(both)} if both else {}
        sheet.append(SheetRow(number, {one.name: str(values.get(one.name) or "") for one in kind.fields}))
    await master_import.import_rows(ctx, session, kind, owner=owner, rows=sheet)


async def link_revisions(session: AsyncSession, kind: DrawingKind, pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """
    Write down what many revisions derive from; who does has registered both.

    :param pairs: public ids of revisions, and of what each derives from
    """
    await repository.insert_references(session, kind, pairs)


async def count_drawings(session: AsyncSession, *, project_id: int) -> int:
    """Count the drawings of a project in all registers, whoever is shown them."""
    return await repository.count(session, project_id=project_id)
