"""Stores uploaded files, starts checked imports, and reads imports."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain import Storage, acceptable_file_name
from saraban.attachments.service import CHECKSUM, UploadStream, require_same_file
from saraban.audit import service as audit
from saraban.identity.domain.context import RequestContext
from saraban.imports import repository
from saraban.imports.domain import ImportNotChecked, ImportResultMissing, ImportState
from saraban.imports.models import FileImport, ImportRow, OneImport
from saraban.imports.schemas import ImportQuery
from saraban.imports.service.run import AnyImporter, Importer
from saraban.kit.db import Database, database_fault
from saraban.kit.error_text import error_text
from saraban.kit.errors import NotFound
from saraban.kit.idempotency import Claim, Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page, page_of
from saraban.kit.spreadsheets import SUFFIXES, is_spreadsheet, unreadable

log = structlog.get_logger(__name__)
MOST_BYTES = 20 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ImportFile:
    name: str
    intake: UploadStream

    @classmethod
    def of(cls, name: str, chunks: AsyncIterator[bytes]) -> "ImportFile":
        """:raises Invalid:"""
        return cls(acceptable_file_name(name), UploadStream(chunks, MOST_BYTES))

    @property
    def suffix(self) -> str:
        return PurePath(self.name).suffix.lower()


async def upload_import(
    ctx: RequestContext,
    db: Database,
    storage: Storage,
    idempotency: Idempotency,
    importer: AnyImporter,
    *,
    query: ImportQuery,
    sheet: ImportFile,
) -> Receipt:
    """
    Store a file for a worker to check.

    The idempotency key covers name and query; a repeated file is compared with the first.

    :raises KeyReused, Forbidden, Invalid, FileTooLarge:
    """
    payload = {"file": sheet.name, **query.model_dump(mode="json")}
    async with idempotency.claim(Operation.of(ctx, f"POST {importer.path}", payload)) as claim:
        if claim.receipt is not None:
            await require_same_file(claim.receipt, sheet.intake)
            return claim.receipt
        if sheet.suffix not in SUFFIXES:
            raise unreadable()
        async with db.reading() as session:
            row = await importer.new_import(ctx, session, query)
            row.report = {"sheet": query.sheet}
        return await _store(ctx, db, storage, claim, sheet, row)


async def _store(
    ctx: RequestContext, db: Database, storage: Storage, claim: Claim, sheet: ImportFile, row: FileImport
) -> Receipt:
    public_id = new_id()
    key = source_key(public_id)
    await storage.write(key, sheet.intake.read())
    row.public_id, row.user_id, row.file_key = public_id, ctx.caller.user_id, key
    row.file_name, row.file_sha256 = sheet.name, sheet.intake.digest.hexdigest()
    row.state, row.created_at, row.updated_at = ImportState.CHECKING, ctx.now, ctx.now
    receipt = Receipt(row.entity, public_id, {CHECKSUM: row.file_sha256})
    try:
        await storage.examine(key, lambda file: _require_spreadsheet(file, sheet.suffix))
    except BaseException:
        await storage.delete(key)
        raise
    try:
        await db.transact(_save, ctx, row, claim, receipt)
    except BaseException:
        await _delete_without_row(db, storage, type(row), public_id)
        raise
    return receipt


async def _delete_without_row(db: Database, storage: Storage, model: type[FileImport], public_id: UUID) -> None:
    """Keep the file if its import was committed, or if the database cannot tell."""
    try:
        if not await db.transact(repository.is_import, public_id, model):
            await storage.delete(source_key(public_id))
    except Exception as error:
        if database_fault(error) is None:
            raise
        log.warning("imports.file_kept", file=source_key(public_id), error=error_text(error))


def _require_spreadsheet(file: BinaryIO, suffix: str) -> None:
    """Check the content as well as the name."""
    if not is_spreadsheet(file, suffix):
        raise unreadable()


async def _save(ctx: RequestContext, session: AsyncSession, row: FileImport, claim: Claim, receipt: Receipt) -> None:
    session.add(row)
    await _record(ctx, session, row, "uploaded", sha256=row.file_sha256)
    await claim.complete(session, receipt)


async def read_import(
    ctx: RequestContext, session: AsyncSession, importer: Importer[OneImport], public_id: UUID
) -> ImportRow[OneImport]:
    """:raises NotFound:"""
    current = await repository.find_import(session, importer.model, public_id)
    if current is None or not importer.may_read(ctx, current.row):
        raise NotFound("There is no such import.")
    return current


async def list_imports(
    ctx: RequestContext,
    session: AsyncSession,
    importer: Importer[OneImport],
    project: UUID,
    *,
    cursor: str | None,
    limit: int,
) -> Page[ImportRow[OneImport]]:
    key = await importer.project(ctx, session, project)
    conditions = importer.visible_imports(ctx, key)
    rows = await repository.imports_page(
        session, importer.model, *conditions, project_id=key, cursor=cursor, limit=limit
    )
    return page_of(rows, limit=limit, key=lambda item: (item.row.created_at, item.row.public_id))


async def start_import(
    ctx: RequestContext, session: AsyncSession, importer: AnyImporter, public_id: UUID, choice: object
) -> Receipt:
    """:raises ImportNotChecked, DomainError:"""
    current = await read_import(ctx, session, importer, public_id)
    row = await repository.lock_import(session, importer.model, current.row.id)
    if row.state != ImportState.CHECKED:
        raise ImportNotChecked
    details = importer.choose(ctx, row, choice)
    row.state, row.rows_done, row.leases_lost, row.updated_at = ImportState.IMPORTING, 0, 0, ctx.now
    row.lease = row.lease_until = None
    await _record(ctx, session, row, "started", **details)
    return Receipt(row.entity, public_id)


async def _record(ctx: RequestContext, session: AsyncSession, row: FileImport, verb: str, **details: object) -> None:
    details = {"fileName": row.file_name, **details}
    await audit.record(ctx, session, audit.AuditEntry(f"{row.entity}.{verb}", row.entity, str(row.public_id), details))


def source_key(public_id: UUID) -> str:
    return f"imports/{public_id}/source"


def result_key(public_id: UUID) -> str:
    return f"imports/{public_id}/result.xlsx"


async def find_result(
    ctx: RequestContext, session: AsyncSession, storage: Storage, importer: AnyImporter, public_id: UUID
) -> str:
    """:raises ImportResultMissing:"""
    current = await read_import(ctx, session, importer, public_id)
    key = result_key(public_id)
    if current.row.file_key is None or not await storage.holds(key):
        raise ImportResultMissing
    return key
