"""Changing a document of any kind: it is held as it stands now, changed in one transaction, and shown as it stands then."""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.service.kind import AnyKind, DocumentHeader, DocumentKind, Draft, Row
from saraban.documents.core.service.presentation import envelopes, result
from saraban.identity.domain.context import RequestContext
from saraban.kit import etags
from saraban.kit.db import Database
from saraban.kit.errors import REFRESH, DomainError, ErrorKind, Text
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.workflow.language.subject import Envelope


class DocumentChanged(DomainError):
    """Somebody changed the document since the client read it."""

    kind, code = ErrorKind.STALE, "DOCUMENT_CHANGED"
    says = Text("มีผู้แก้ไขเอกสารนี้หลังจากที่คุณเปิดดู", "Somebody has changed this document since you opened it.")
    recovery = (REFRESH,)


class DocumentIsCancelled(DomainError):
    """A cancelled document stays as it is."""

    kind, code = ErrorKind.CONFLICT, "DOCUMENT_CANCELLED"
    says = Text("เอกสารนี้ถูกยกเลิกแล้ว", "This document has been cancelled.")
    recovery = (Text("สร้างเอกสารฉบับใหม่", "Create a new document."),)


async def hold_current(
    ctx: RequestContext, session: AsyncSession, kind: DocumentKind[Row, Draft], *, public_id: UUID
) -> tuple[Row, Envelope | None]:
    """
    Hold a document for a change and return it as it stands now; no step is taken until the change is done.

    :raises NotFound: also when the caller may not know of it
    :raises DocumentIsCancelled: when there is nothing left to change
    """
    row = await kind.find(ctx, session, public_id=public_id)
    await kind.lock(session, row)
    row = await kind.find(ctx, session, public_id=public_id)
    if row.cancelled_at is not None:
        raise DocumentIsCancelled
    found = await envelopes(ctx, session, kind, rows=[row])
    return row, found.get(row.entity_id)


def check_version(if_match: str, present: str) -> None:
    """
    :raises DocumentChanged: when `If-Match` names neither the present version nor any
    """
    if not etags.matches(if_match, present):
        raise DocumentChanged


async def change_once(
    ctx: RequestContext,
    db: Database,
    kind: AnyKind,
    change: Callable[[AsyncSession], Awaitable[DocumentHeader]],
    *,
    path: str,
    payload: Mapping[str, object],
    status: int = 200,
    located: bool = False,
) -> OperationResult:
    """
    Change a document in a transaction of its own, once for a key, and answer with the document as it stands then.

    :param path: the last part of the address, with the document's public id
    """

    async def work(session: AsyncSession, remember: Remember) -> OperationResult:
        row = await change(session)
        given = await result(ctx, session, kind, row, status=status, located=located)
        await remember(session, given)
        return given

    async def run(remember: Remember) -> OperationResult:
        return await db.transact(lambda session: work(session, remember))

    operation = f"POST /{kind.rules.path}/{path}"
    return await answer_once(
        db, key=ctx.key, user=ctx.caller.public_id, operation=operation, payload=payload, now=ctx.now, run=run
    )
