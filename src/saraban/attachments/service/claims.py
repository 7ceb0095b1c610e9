"""The second phase: a document or a workflow step takes temporary files, in its own transaction."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments import repository
from saraban.attachments.domain.attachment import AttachmentRow
from saraban.attachments.models import Attachment
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text

MAX_PER_STEP = 20
STEP_FIELD = "/attachmentPublicIds"

_UNUSABLE = Text(
    "ไม่พบไฟล์นี้ในไฟล์ที่คุณอัปโหลดไว้ หรือไฟล์หมดอายุหรือถูกใช้ไปแล้ว",
    "This is not a file you uploaded, or it has expired or is already in use.",
)
_TWICE = Text("ระบุไฟล์เดียวกันซ้ำ", "The same file is named twice.")
_TOO_MANY = Text("แนบไฟล์ได้ไม่เกิน {limit} ไฟล์ต่อครั้ง", "At most {limit} files can be attached at once.")


class InvalidAttachments(DomainError):
    """A file that should go with a step is not the caller's own fresh upload, is named twice, or there are too many."""

    kind, code = ErrorKind.INVALID, "INVALID_ATTACHMENTS"
    says = Text("ไฟล์แนบบางไฟล์ไม่สามารถผูกกับขั้นตอนนี้ได้", "Some of the files cannot be attached to this step.")
    recovery = (Text("อัปโหลดไฟล์ใหม่แล้วลองอีกครั้ง", "Upload the files again and retry."),)


async def claim(
    ctx: RequestContext, session: AsyncSession, *, public_ids: Sequence[UUID], pointer: str
) -> list[AttachmentRow]:
    """
    Make the caller's uploads permanent, in the order given.

    :param pointer: of the list in the request, such as `/attachmentPublicIds`
    :raises Invalid: naming each id that is not the caller's own, temporary and unexpired upload
    """
    rows, problems = await _usable(ctx, session, public_ids, pointer)
    if problems:
        raise Invalid(f"{pointer}: some files cannot be attached.", fields=problems)
    return await _keep(session, rows, history_id=None)


async def attach_to_step(
    ctx: RequestContext, session: AsyncSession, *, public_ids: Sequence[UUID], history_id: UUID | str
) -> list[AttachmentRow]:
    """
    Make the caller's uploads permanent as the evidence of one workflow step.

    :raises InvalidAttachments: when one is not the caller's own, temporary and unexpired upload, or there are over 20
    """
    if len(public_ids) > MAX_PER_STEP:
        raise InvalidAttachments(fields=[FieldProblem(STEP_FIELD, "too_many", _TOO_MANY, {"limit": MAX_PER_STEP})])
    rows, problems = await _usable(ctx, session, public_ids, pointer=STEP_FIELD)
    if problems:
        raise InvalidAttachments(fields=problems)
    return await _keep(session, rows, history_id=str(history_id))


async def step_attachments(
    session: AsyncSession, history_ids: Collection[UUID | str]
) -> dict[str, list[AttachmentRow]]:
    """Return the files of each step, by the text of its id; steps without files are left out."""
    found: dict[str, list[AttachmentRow]] = {}
    for row in await repository.of_steps(session, history_ids=[str(history_id) for history_id in history_ids]):
        found.setdefault(str(row.workflow_history_id), []).append(repository.as_row(row))
    return found


async def _usable(
    ctx: RequestContext, session: AsyncSession, public_ids: Sequence[UUID], pointer: str
) -> tuple[list[Attachment], list[FieldProblem]]:
    found = await repository.lock(session, public_ids=set(public_ids)) if public_ids else {}
    problems = []
    for index, public_id in enumerate(public_ids):
        row = found.get(public_id)
        if public_id in public_ids[:index]:
            problems.append(FieldProblem(f"{pointer}/{index}", "duplicate", _TWICE))
        elif row is None or not _free(ctx, row):
            problems.append(FieldProblem(f"{pointer}/{index}", "unknown", _UNUSABLE))
    return [found[public_id] for public_id in public_ids if public_id in found], problems


def _free(ctx: RequestContext, row: Attachment) -> bool:
    return (
        row.uploaded_by_user_id == ctx.caller.user_id
        and row.is_temporary
        and row.checksum is not None
        and row.workflow_history_id is None
        and (row.expires_at is None or row.expires_at > ctx.now)
    )


async def _keep(session: AsyncSession, rows: list[Attachment], *, history_id: str | None) -> list[AttachmentRow]:
    for row in rows:
        row.is_temporary, row.expires_at, row.workflow_history_id = False, None, history_id
    await session.flush()
    return [repository.as_row(row) for row in rows]
