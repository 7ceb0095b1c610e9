"""
An upload with an `Idempotency-Key`: sent again after a timeout, it gives the first file's answer and makes no second one.

What the content is shows only when it has been read, so the key is claimed for the name, and a repetition is read to
its end, kept nowhere, and compared by checksum.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.attachments.domain.attachment import AttachmentRow
from saraban.attachments.domain.storage import Storage
from saraban.attachments.schemas import UploadedFile
from saraban.attachments.service.uploads import UploadRules, UploadStream, acceptable_file_name, upload
from saraban.identity.domain.context import RequestContext
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.errors import FieldProblem
from saraban.kit.idempotency import KeyReused, OperationResult, Remember, answer_once

OPERATION = "POST /attachments"


async def upload_once(
    ctx: RequestContext,
    db: Database,
    storage: Storage,
    *,
    name: str,
    chunks: AsyncIterator[bytes],
    rules: UploadRules,
    clock: Clock,
) -> OperationResult:
    """
    Do `upload` once for a key and give its answer to every repetition.

    :raises KeyReused: when the key came before with another name or other content
    """

    async def run(remember: Remember) -> OperationResult:
        async def keep(session: AsyncSession, row: AttachmentRow) -> None:
            await remember(session, _answer(row))

        row = await upload(ctx, db, storage, name=name, chunks=chunks, rules=rules, clock=clock, then=keep)
        return _answer(row)

    return await answer_file_once(
        ctx,
        db,
        operation=OPERATION,
        payload={"file": acceptable_file_name(name)},
        intake=UploadStream(chunks, rules.max_bytes),
        checksum="checksum",
        run=run,
    )


async def answer_file_once(
    ctx: RequestContext,
    db: Database,
    *,
    operation: str,
    payload: dict[str, str],
    intake: UploadStream,
    checksum: str,
    run: Callable[[Remember], Awaitable[OperationResult]],
) -> OperationResult:
    """
    Run an operation that takes a file once for a key, and hold the file of a repetition against the first.

    :param payload: what is known before the file is read
    :param intake: the file; `run` reads it, or this does
    :param checksum: the field of the answer that holds the file's SHA-256
    :raises KeyReused: when the key came before with another payload or other content
    """
    answer = await answer_once(
        db, key=ctx.key, user=ctx.caller.public_id, operation=operation, payload=payload, now=ctx.now, run=run
    )
    if answer.replayed:
        async for _chunk in intake.pour():
            pass
        if intake.digest.hexdigest() != answer.body[checksum]:
            raise KeyReused(fields=[FieldProblem("header:Idempotency-Key", "reused", KeyReused.says)])
    return answer


def _answer(row: AttachmentRow) -> OperationResult:
    return OperationResult(201, UploadedFile.of(row).model_dump(mode="json", by_alias=True))
