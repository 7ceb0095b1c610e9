"""Imports of uploaded files, as people see them: upload one, start it once it is checked, read how far it is and what came of it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, BinaryIO, NamedTuple
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import XLSX, Storage, acceptable_file_name, detect_kind
from saraban.attachments.service import CHECKSUM, UploadStream, require_same_file
from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.db import Database, database_fault
from saraban.kit.errors import NotFound, invalid
from saraban.kit.idempotency import Claim, Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page, page_of
from saraban.kit.spreadsheets import unreadable
from saraban.numbering.imports import repository
from saraban.numbering.imports.domain import ImportNotChecked, ImportResultMissing
from saraban.numbering.imports.service.legacy_import import (
    MOST_BYTES,
)
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS
from saraban.numbering.series.domain.states import ImportState
from saraban.numbering.series.models import ImportRow, NumberImport
from saraban.projects import service as projects

log = structlog.get_logger(__name__)
SUFFIXES = (".xlsx", ".csv")
_SNIFFED = 4096


class CounterMove(NamedTuple):
    """A series whose counter shall go on after `to`, as the dry run showed it."""

    series: str
    to: int


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file on its way in."""

    name: str
    intake: UploadStream

    @classmethod
    def of(cls, name: str, chunks: AsyncIterator[bytes]) -> "ImportFile":
        """:raises Invalid: for a name that cannot be kept"""
        return cls(acceptable_file_name(name), UploadStream(chunks, MOST_BYTES))

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()


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
        project_id = await _importable(ctx, db, project_public_id, sheet)
        return await _stored(ctx, db, storage, claim, sheet, project_id)


async def _importable(ctx: RequestContext, db: Database, project_public_id: UUID, sheet: ImportFile) -> int:
    if sheet.suffix not in SUFFIXES:
        raise unreadable()
    async with db.reading() as session:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
        return project.id


async def _stored(
    ctx: RequestContext, db: Database, storage: Storage, claim: Claim, sheet: ImportFile, project_id: int
) -> Receipt:
    public_id = new_id()
    key = source_key(public_id)
    await storage.write(key, sheet.intake.pour())
    row = NumberImport(
        public_id=public_id,
        project_id=project_id,
        user_id=ctx.caller.user_id,
        file_name=sheet.name,
        file_sha256=sheet.intake.digest.hexdigest(),
        file_key=key,
        state=ImportState.CHECKING,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    receipt = Receipt("number_import", public_id, {CHECKSUM: row.file_sha256})
    try:
        await storage.examine(key, lambda file: _refuse_other(file, sheet.suffix))
    except BaseException:
        await storage.delete(key)
        raise
    try:
        await db.transact(partial(_received, ctx, row, claim, receipt))
    except BaseException:
        await _delete_without_row(db, storage, public_id)
        raise
    return receipt


async def _delete_without_row(db: Database, storage: Storage, public_id: UUID) -> None:
    """
    Delete a file that no import has: where one does, its COMMIT went through, though its answer was lost or nobody waited.

    While the database is away nobody can say, and the file stays.
    """
    try:
        if not await db.transact(partial(repository.is_import, public_id)):
            await storage.delete(source_key(public_id))
    except Exception as error:
        if database_fault(error) is None:
            raise
        log.warning("numbering.import_file_kept", file=source_key(public_id), error=str(error)[:300])


def _refuse_other(file: BinaryIO, suffix: str) -> None:
    """The name is not believed. The encoding of a CSV is looked at later, line by line."""
    file.seek(0)
    if detect_kind(file) != XLSX if suffix == ".xlsx" else b"\0" in file.read(_SNIFFED):
        raise unreadable()


async def _received(
    ctx: RequestContext, row: NumberImport, claim: Claim, receipt: Receipt, session: AsyncSession
) -> None:
    session.add(row)
    await _noted(ctx, session, row, "uploaded", sha256=row.file_sha256)
    await claim.complete(session, receipt)


async def start_import(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, moves: Sequence[CounterMove]
) -> ImportRow:
    """
    Let a worker import what the dry run accepted.

    :param moves: the series that were ticked; all other counters stay (REQ-NUM-18)
    :raises ImportNotChecked: before the dry run is done, and when it was told to go on before
    :raises Invalid: at `/moves`, for a series that the dry run did not offer, or at another number
    """
    found = await read_import(ctx, session, public_id=public_id)
    row = await repository.locked_import(session, found.row.id)
    if row.state != ImportState.CHECKED:
        raise ImportNotChecked
    row.moves = _ticked(row.report or {}, moves)
    row.moves_counters = bool(moves)
    row.state, row.rows_done, row.leases_lost, row.updated_at = ImportState.IMPORTING, 0, 0, ctx.now
    row.lease = row.lease_until = None
    await _noted(ctx, session, row, "started", moves=row.moves)
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


async def read_import(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> ImportRow:
    """
    Return one import; those at a terminal are among them.

    :raises NotFound: also for who does not manage the numbers of its project
    """
    found = await repository.find_import(session, public_id)
    if found is None or not ctx.caller.may(MANAGE_NUMBERS, Scope(project=found.row.project_id)):
        raise NotFound("There is no such import.")
    return found


async def list_imports(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, cursor: str | None, limit: int
) -> Page[ImportRow]:
    """Return the imports of a project, newest first."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    ctx.caller.require(MANAGE_NUMBERS, Scope(project=project.id))
    found = await repository.imports_page(session, project_id=project.id, cursor=cursor, limit=limit)
    return page_of(found, limit=limit, key=lambda one: (one.row.created_at, one.row.public_id))


def source_key(public_id: UUID) -> str:
    """Return the place of an import's file; both stay, as the proof of what was asked and what came of it."""
    return f"imports/{public_id}/source"


def result_key(public_id: UUID) -> str:
    return f"imports/{public_id}/result.xlsx"


async def import_result(ctx: RequestContext, session: AsyncSession, storage: Storage, *, public_id: UUID) -> str:
    """
    Return the storage key of the result workbook: each line of the file with what came of it, or would.

    :raises ImportResultMissing: before the dry run is done
    """
    found = await read_import(ctx, session, public_id=public_id)
    key = result_key(found.row.public_id)
    if found.row.file_key is None or not await storage.holds(key):
        raise ImportResultMissing
    return key


async def _noted(ctx: RequestContext, session: AsyncSession, row: NumberImport, what: str, **details: object) -> None:
    told = {"fileName": row.file_name, **details}
    entry = audit.AuditEntry(f"number_import.{what}", "number_import", str(row.public_id), told)
    await audit.record(ctx, session, entry)
