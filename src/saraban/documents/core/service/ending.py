"""What ends a document, or the draft of a revision: once for a key, with the document as it stands then for an answer."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.presentation import etag, full
from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult, Remember, answer_once


async def ended_once(
    db: Database,
    register: DocumentKind,
    *,
    caller: Caller,
    public_id: UUID,
    verb: str,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    key: str | None,
    end: Callable[[AsyncSession], Awaitable[DocumentRow]],
) -> OperationResult:
    """
    Do `end` in a transaction of its own.

    :param verb: the last part of its address
    """

    async def run(remember: Remember) -> OperationResult:
        async def work(session: AsyncSession) -> OperationResult:
            row = await end(session)
            answer = await full(session, register, caller=caller, row=row, now=now, zone=zone)
            given = OperationResult(200, answer.model_dump(mode="json", by_alias=True), {"ETag": etag(answer)})
            await remember(session, given)
            return given

        return await db.transact(work)

    operation, payload = f"POST /{register.kind.path}/{public_id}/{verb}", {"reason": reason}
    return await answer_once(db, key=key, user=caller.public_id, operation=operation, payload=payload, now=now, run=run)
