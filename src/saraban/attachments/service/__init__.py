"""
Files: temporary and the uploader's only, until a document or step claims the row.

The row is inserted before the bytes and completed after them, so that the clean-up finds broken uploads.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import domain, repository
from saraban.attachments.domain import FILE_FIELD, AttachmentRow, Storage, acceptable_file_name, storage_key
from saraban.attachments.domain.kinds import MACROS, FileKind, by_name, kinds_listed, list_extensions
from saraban.attachments.models import Attachment
from saraban.attachments.repository import project_kinds as project_kinds
from saraban.attachments.repository import release as release
from saraban.audit import service as audit
from saraban.identity.domain.context import Caller, RequestContext
from saraban.kit.clock import Clock, local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, NotFound, Text, invalid
from saraban.kit.idempotency import Claim, Idempotency, KeyReused
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt

CHECKSUM = "checksum"  # key in the outcome of an upload
UPLOAD_TIMEOUT = timedelta(hours=1)
# A claim uses the time of the request's arrival and commits later; until then the bytes must stay.
GRACE = timedelta(minutes=10)
CLEAN_UP_STEP = 100

OPERATION = "POST /attachments"


@dataclass(frozen=True, slots=True)
class UploadRules:
    max_bytes: int = 50 * 1024 * 1024
    keep_hours: int = 24
    extensions: str = ""

    @property
    def kinds(self) -> tuple[FileKind, ...]:
        return kinds_listed(self.extensions)

    def extensions_in(self, project_kinds: str) -> list[str]:
        accepted = kinds_listed(project_kinds)
        return [extension for kind in self.kinds if kind in accepted for extension in kind.extensions]


@dataclass(frozen=True, slots=True)
class FileStore:
    db: Database
    storage: Storage
    rules: UploadRules
    clock: Clock


class FileTooLarge(DomainError):
    """The file has more bytes than the setting allows."""

    kind, code = ErrorKind.TOO_LARGE, "FILE_TOO_LARGE"
    says = Text("ไฟล์มีขนาดใหญ่เกิน {limit} MB", "The file is larger than {limit} MB.")
    recovery = (Text("แบ่งหรือลดขนาดไฟล์แล้วอัปโหลดใหม่", "Split the file or make it smaller, then upload it again."),)

    def __init__(self, limit: int) -> None:
        super().__init__(values={"limit": f"{limit / 1024 / 1024:.10g}"})


NOT_TAKEN = Text("“{name}” ไม่ใช่ไฟล์ชนิดที่รับ ชนิดที่รับ: {kinds}", "“{name}” is not a file of a kind that is taken: {kinds}.")


class FileTypeRefused(DomainError):
    """
    The content is not of an accepted kind, or its kind does not fit the extension. Only the content counts, not the
    header of the request.
    """

    kind, code = ErrorKind.INVALID, "FILE_TYPE_MISMATCH"
    says = Text("ชนิดไฟล์ไม่ตรงกับเนื้อหา หรือไม่อนุญาตให้อัปโหลด", "The file's type is not taken, or not what its name says.")
    recovery = (Text("ชนิดที่รับ: {kinds}", "Use one of these kinds: {kinds}."),)

    def __init__(self, name: str, kinds: Collection[FileKind], *, found: str | None = None) -> None:
        values = {"name": name, "found": found, "kinds": list_extensions(kinds)}
        problem = FieldProblem(
            FILE_FIELD,
            "type_mismatch" if found else "type_not_allowed",
            NOT_TAKEN
            if not found
            else Text("เนื้อหาของ “{name}” เป็นไฟล์ {found}", "The content of “{name}” is a {found} file."),
            values,
        )
        super().__init__(fields=[problem], values=values)


@dataclass
class UploadStream:
    chunks: AsyncIterator[bytes]
    limit: int
    size: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    async def read(self) -> AsyncIterator[bytes]:
        async for chunk in self.chunks:
            self.size += len(chunk)
            if self.size > self.limit:
                raise FileTooLarge(self.limit)
            self.digest.update(chunk)
            yield chunk
        if not self.size:
            raise invalid(FILE_FIELD, "empty", "ไฟล์ว่างเปล่า", "The file is empty.")


async def upload(
    ctx: RequestContext, store: FileStore, *, name: str, chunks: AsyncIterator[bytes], claim: Claim | None = None
) -> AttachmentRow:
    """
    Store a file; no transaction is open while bytes arrive.

    :raises Invalid, FileTypeRefused, FileTooLarge:
    """
    db, storage = store.db, store.storage
    row = _new_row(acceptable_file_name(name), ctx.caller, store)
    name, key, public_id = row.original_filename, row.file_path, row.public_id
    await db.transact(_insert, row)
    record = _UploadRecord(ctx, public_id, name, store)
    try:
        stream = UploadStream(chunks, store.rules.max_bytes)
        await storage.write(key, stream.read())
        await _check_kind(store, key, name)
        return await db.transact(_complete, record, stream, claim)
    except Exception as error:
        if await db.transact(_is_complete, record):
            raise  # the COMMIT succeeded, although its confirmation was lost
        await storage.delete(key)
        await db.transact(_abandon, record, error)
        raise


async def upload_once(
    ctx: RequestContext, store: FileStore, idempotency: Idempotency, *, name: str, chunks: AsyncIterator[bytes]
) -> Receipt:
    """:raises KeyReused:"""
    async with idempotency.claim(Operation.of(ctx, OPERATION, {"file": acceptable_file_name(name)})) as claim:
        if claim.receipt is None:
            return _receipt(await upload(ctx, store, name=name, chunks=chunks, claim=claim))
    await require_same_file(claim.receipt, UploadStream(chunks, store.rules.max_bytes))
    return claim.receipt


async def require_same_file(receipt: Receipt, intake: UploadStream) -> None:
    """
    Read the repeated file to its end and compare it.

    :raises KeyReused:
    """
    async for _chunk in intake.read():
        pass
    if intake.digest.hexdigest() != receipt.outcome[CHECKSUM]:
        raise KeyReused(fields=[FieldProblem("header:Idempotency-Key", "reused", KeyReused.says)])


def _receipt(row: AttachmentRow) -> Receipt:
    return Receipt("attachment", row.public_id, {CHECKSUM: row.checksum})


async def clean_up(db: Database, storage: Storage, *, now: datetime) -> int:
    """Remove the bytes before the row, and return the number of files."""
    total = 0
    while True:
        async with db.reading() as session:
            files = await repository.expired(session, before=now - GRACE, limit=CLEAN_UP_STEP)
        if not files:
            return total
        for _, key in files:
            await storage.delete(key)
        await db.transact(repository.forget, [row_id for row_id, _ in files])
        total += len(files)


@dataclass(frozen=True)
class _UploadRecord:
    """Audit entries have their own times, because bytes may arrive slowly."""

    ctx: RequestContext
    public_id: UUID
    name: str
    store: FileStore

    async def lock_row(self, session: AsyncSession) -> Attachment | None:
        return (await repository.lock(session, public_ids=[self.public_id])).get(self.public_id)

    async def record_action(
        self, session: AsyncSession, action: str, *, severity: audit.Severity = audit.Severity.INFO, **details: object
    ) -> None:
        audit_details = {"fileName": self.name, **details}
        entry = audit.AuditEntry(
            f"attachment.{action}", "attachment", str(self.public_id), audit_details, severity=severity
        )
        await audit.record(replace(self.ctx, now=self.store.clock.now()), session, entry)


async def _check_kind(store: FileStore, key: str, name: str) -> None:
    kind = await store.storage.examine(key, domain.detect_kind)
    if kind is MACROS:
        th, en = "ไฟล์นี้มีมาโคร กรุณาบันทึกเป็นไฟล์ที่ไม่มีมาโคร", "The file contains macros. Save it without macros."
        raise invalid(FILE_FIELD, "macros", th, en)
    if kind is None or name.rpartition(".")[2].lower() not in kind.extensions + kind.shared:
        raise FileTypeRefused(name, store.rules.kinds, found=kind.code if kind else None)


def _new_row(name: str, caller: Caller, store: FileStore) -> Attachment:
    public_id, now, kind = new_id(), store.clock.now(), by_name(name)
    if kind not in store.rules.kinds:
        raise FileTypeRefused(name, store.rules.kinds)
    return Attachment(
        public_id=public_id,
        original_filename=name,
        stored_filename=str(public_id),
        file_path=storage_key(public_id, day=local_date(now, store.clock.zone)),
        mime_type=kind.mime_type,
        file_size=0,
        is_temporary=True,
        uploaded_by_user_id=caller.user_id,
        created_at=now,
        expires_at=now + UPLOAD_TIMEOUT,
        text_due_at=now if kind.has_text else None,
    )


async def _insert(row: Attachment, session: AsyncSession) -> None:
    session.add(row)
    await session.flush()


async def _complete(
    record: _UploadRecord, session: AsyncSession, stream: UploadStream, claim: Claim | None
) -> AttachmentRow:
    row = await record.lock_row(session)
    if row is None:
        raise invalid(FILE_FIELD, "too_slow", "อัปโหลดนานเกินไป กรุณาลองใหม่", "The upload took too long. Try again.")
    row.file_size, row.checksum = stream.size, stream.digest.hexdigest()
    row.expires_at = record.store.clock.now() + timedelta(hours=record.store.rules.keep_hours)
    await record.record_action(session, "upload", size=row.file_size, checksum=row.checksum)
    completed = repository.as_row(row)
    if claim is not None:
        await claim.complete(session, _receipt(completed))
    return completed


async def _is_complete(record: _UploadRecord, session: AsyncSession) -> bool:
    """Check under the row's lock, which waits for a running COMMIT."""
    row = await record.lock_row(session)
    return row is not None and row.checksum is not None


async def _abandon(record: _UploadRecord, session: AsyncSession, reason: Exception) -> None:
    row = await record.lock_row(session)
    if row is not None and row.is_temporary:
        await session.delete(row)
    if isinstance(reason, FileTypeRefused | Invalid):
        await record.record_action(session, "refuse", severity=audit.Severity.WARN, reason=reason.fields[0].code)
    await session.flush()


MAX_PER_STEP = 20
STEP_FIELD = "/attachmentPublicIds"

_UNUSABLE = Text(
    "ไม่พบไฟล์นี้ในไฟล์ที่คุณอัปโหลดไว้ หรือไฟล์หมดอายุหรือถูกใช้ไปแล้ว",
    "This is not a file you uploaded, or it has expired or is already in use.",
)
_TWICE = Text("ระบุไฟล์เดียวกันซ้ำ", "The same file is named twice.")
_TOO_MANY = Text("แนบไฟล์ได้ไม่เกิน {limit} ไฟล์ต่อครั้ง", "At most {limit} files can be attached at once.")


class InvalidAttachments(DomainError):
    """A file for a step is not the caller's own unexpired upload, is named twice, or there are too many."""

    kind, code = ErrorKind.INVALID, "INVALID_ATTACHMENTS"
    says = Text("ไฟล์แนบบางไฟล์ไม่สามารถผูกกับขั้นตอนนี้ได้", "Some of the files cannot be attached to this step.")
    recovery = (Text("อัปโหลดไฟล์ใหม่แล้วลองอีกครั้ง", "Upload the files again and retry."),)


async def claim(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    public_ids: Sequence[UUID],
    pointer: str,
    project_id: int | None = None,
) -> list[AttachmentRow]:
    """:raises Invalid: naming each file that is not the caller's upload or not accepted"""
    rows, problems = await _lock_usable(ctx, session, public_ids, pointer, project_id)
    if problems:
        raise Invalid(f"{pointer}: some files cannot be attached.", fields=problems)
    return await _make_permanent(session, rows, history_id=None)


async def attach_to_step(
    ctx: RequestContext,
    session: AsyncSession,
    public_ids: Sequence[UUID],
    history_id: UUID | str,
    project_id: int | None = None,
) -> list[AttachmentRow]:
    """:raises InvalidAttachments:"""
    if len(public_ids) > MAX_PER_STEP:
        raise InvalidAttachments(fields=[FieldProblem(STEP_FIELD, "too_many", _TOO_MANY, {"limit": MAX_PER_STEP})])
    rows, problems = await _lock_usable(ctx, session, public_ids, STEP_FIELD, project_id)
    if problems:
        raise InvalidAttachments(fields=problems)
    return await _make_permanent(session, rows, history_id=str(history_id))


async def step_attachments(
    session: AsyncSession, history_ids: Collection[UUID | str]
) -> dict[str, list[AttachmentRow]]:
    """Return files by step id."""
    files_of_step: dict[str, list[AttachmentRow]] = {}
    for row in await repository.of_steps(session, history_ids=[str(history_id) for history_id in history_ids]):
        files_of_step.setdefault(str(row.workflow_history_id), []).append(row)
    return files_of_step


async def _lock_usable(
    ctx: RequestContext, session: AsyncSession, public_ids: Sequence[UUID], pointer: str, project_id: int | None
) -> tuple[list[Attachment], list[FieldProblem]]:
    rows = await repository.lock(session, public_ids=set(public_ids)) if public_ids else {}
    kinds = kinds_listed(await project_kinds(session, project_id) if public_ids else "")
    accepted, problems = {kind.mime_type for kind in kinds}, []
    for index, public_id in enumerate(public_ids):
        row = rows.get(public_id)
        if public_id in public_ids[:index]:
            problems.append(FieldProblem(f"{pointer}/{index}", "duplicate", _TWICE))
        elif row is None or not _is_claimable(ctx, row):
            problems.append(FieldProblem(f"{pointer}/{index}", "unknown", _UNUSABLE))
        elif row.mime_type not in accepted:
            values = {"name": row.original_filename, "kinds": list_extensions(kinds)}
            problems.append(FieldProblem(f"{pointer}/{index}", "type_not_allowed", NOT_TAKEN, values))
    return [rows[public_id] for public_id in public_ids if public_id in rows], problems


def _is_claimable(ctx: RequestContext, row: Attachment) -> bool:
    return (
        row.uploaded_by_user_id == ctx.caller.user_id
        and row.is_temporary
        and row.checksum is not None
        and row.workflow_history_id is None
        and (row.expires_at is None or row.expires_at > ctx.now)
    )


async def _make_permanent(
    session: AsyncSession, rows: list[Attachment], *, history_id: str | None
) -> list[AttachmentRow]:
    for row in rows:
        row.is_temporary, row.expires_at, row.workflow_history_id = False, None, history_id
    await session.flush()
    return [repository.as_row(row) for row in rows]


AccessRule = Callable[[RequestContext, AsyncSession, int], Awaitable[bool]]


class AccessRules:
    """Without any rule, nobody reads a permanent file."""

    def __init__(self) -> None:
        self._rules: list[AccessRule] = []

    def add(self, rule: AccessRule) -> None:
        self._rules.append(rule)

    async def allow(self, ctx: RequestContext, session: AsyncSession, *, attachment_id: int) -> bool:
        for rule in self._rules:
            if await rule(ctx, session, attachment_id):
                return True
        return False


class FileUnavailable(DomainError):
    """The file's row exists, but its content is missing, for example after a restore from an incomplete backup."""

    kind, code = ErrorKind.GONE, "FILE_UNAVAILABLE"
    says = Text("ไฟล์ไม่พร้อมใช้งาน", "The file is not available.")
    recovery = (Text("ติดต่อผู้ดูแลระบบ", "Contact the administrator."),)


async def find(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, rules: AccessRules) -> AttachmentRow:
    """:raises NotFound:"""
    row = await repository.by_public_id(session, public_id)
    if row is None or row.checksum is None:
        raise NotFound(f"There is no attachment {public_id}.")
    if row.is_temporary:
        allowed = row.uploaded_by_user_id == ctx.caller.user_id
    else:
        allowed = await rules.allow(ctx, session, attachment_id=row.id)
    if not allowed:
        raise NotFound(f"There is no attachment {public_id}.")
    return repository.as_row(row)
