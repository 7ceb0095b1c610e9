"""
A document gets another number: the next one of its series, by the format in force now. The old one is void and remains
its alias for ever (ruling N8).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.core.repository import documents as repository
from saraban.documents.core.repository import writes
from saraban.documents.core.repository.documents import DocumentRow
from saraban.documents.core.service.draft_changes import DocumentIsCancelled, hold_current
from saraban.documents.core.service.kind import DocumentKind
from saraban.documents.core.service.presentation import etag, full
from saraban.documents.core.service.queries import find
from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.numbering import service as numbering

Row = TypeVar("Row")

RENUMBERS = "numbering.manage_formats"


@dataclass(frozen=True, slots=True)
class Renumbering:
    """
    Somebody's wish that a document be numbered anew.

    :param path: under which documents of its kind are found, as `/letters`
    """

    caller: Caller
    kind: str
    path: str
    public_id: UUID
    reason: str
    now: datetime
    address: str
    key: str | None

    @property
    def holder(self) -> numbering.Holder:
        return numbering.Holder(self.kind, self.public_id)


async def renumber(
    db: Database,
    allocator: numbering.Allocator,
    register: DocumentKind,
    *,
    caller: Caller,
    public_id: UUID,
    reason: str,
    now: datetime,
    zone: ZoneInfo,
    address: str,
    key: str | None,
) -> OperationResult:
    """
    Draw a number for a document that has one, make the old one void and link the two, in one transaction.

    :raises Forbidden: for everybody but the project's administrators
    :raises DocumentIsCancelled: when the document carries no number any more
    """
    kind = register.kind
    wish = Renumbering(caller, kind.name, f"/{kind.path}", public_id, reason, now, address, key)

    async def seen() -> tuple[DocumentRow, numbering.Plan]:
        async with db.reading() as session:
            row = await find(session, kind, caller=caller, public_id=public_id)
            return row, await _plan(session, row, caller=caller, now=now, zone=zone)

    async def change(session: AsyncSession, before: DocumentRow, issued: numbering.Issued) -> None:
        await _renumber(session, register, before, issued, wish, zone)

    async def show(session: AsyncSession) -> OperationResult:
        fresh = await find(session, kind, caller=caller, public_id=public_id)
        shown = await full(session, register, caller=caller, row=fresh, now=now, zone=zone)
        return OperationResult(200, shown.model_dump(mode="json", by_alias=True), {"ETag": etag(shown)})

    return await numbered_anew(db, allocator, wish, seen=seen, change=change, show=show)


async def numbered_anew(
    db: Database,
    allocator: numbering.Allocator,
    wish: Renumbering,
    *,
    seen: Callable[[], Awaitable[tuple[Row, numbering.Plan]]],
    change: Callable[[AsyncSession, Row, numbering.Issued], Awaitable[None]],
    show: Callable[[AsyncSession], Awaitable[OperationResult]],
) -> OperationResult:
    """
    Have a number drawn by a plan and put in the place of the one that a document carries.

    :param seen: looks the document up and plans; its refusals end the wish before a number is drawn
    :param change: puts the number in place, in the transaction that draws it
    """
    operation, payload = f"POST {wish.path}/{wish.public_id}/renumber", {"reason": wish.reason}
    user = wish.caller.public_id

    async def run(remember: Remember) -> OperationResult:
        before, plan = await seen()

        async def then(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            await change(session, before, issued)
            answer = await show(session)
            await remember(session, answer)
            return answer

        return await allocator.issue_and_write(
            plan,
            caller=wish.caller,
            holder=wish.holder,
            token=request_token(key=wish.key, user=user, operation=operation, payload=payload),
            address=wish.address,
            idempotency_key=wish.key,
            then=then,
            recall=lambda session, _issued: show(session),
        )

    return await answer_once(db, key=wish.key, user=user, operation=operation, payload=payload, now=wish.now, run=run)


async def replaced(
    session: AsyncSession, wish: Renumbering, *, number: UUID | None, printed: str, issued: numbering.Issued
) -> None:
    """
    Make the number that the document carried void, linked with the new one, and record it.

    :param number: public id of the old number as it was when the document was looked up
    """
    assert number is not None
    await numbering.replace_held_number(
        session,
        caller=wish.caller,
        holder=wish.holder,
        number=number,
        replacement=issued,
        reason=wish.reason,
        now=wish.now,
        address=wish.address,
    )
    await audit.write(
        session,
        action=f"{wish.kind}.renumber",
        caller=wish.caller,
        entity_type=wish.kind,
        entity_id=str(wish.public_id),
        details={"documentNumber": issued.number, "oldNumber": printed, "reason": wish.reason},
        address=wish.address,
        now=wish.now,
    )


async def _plan(
    session: AsyncSession, row: DocumentRow, *, caller: Caller, now: datetime, zone: ZoneInfo
) -> numbering.Plan:
    caller.require(RENUMBERS, Scope(project=row.head.project_id))
    if row.head.cancelled_at is not None or row.head.number_uuid is None:
        raise DocumentIsCancelled
    recipients = (await repository.recipients(session, document_ids=[row.head.id]))[row.head.id]
    main = next(one.organization for one in recipients if one.recipient_type == "TO")
    request = numbering.NumberRequest(
        project_public_id=row.project.public_id,
        correspondence_type_code=row.type.type_code,
        originator_organization_public_id=row.originator.public_id,
        recipient_organization_public_id=main.public_id,
        contract_public_id=row.contract.public_id if row.contract else None,
        sub_type_code=row.sub_type.sub_type_code if row.sub_type else None,
        rfa_type_code=await numbering.rfa_type_of(session, number=row.head.number_uuid),
        discipline_code=row.discipline.discipline_code if row.discipline else None,
        revision=row.revision.revision_label,
    )
    return await numbering.plan(session, caller=caller, request=request, now=now, zone=zone)


async def _renumber(
    session: AsyncSession,
    register: DocumentKind,
    seen: DocumentRow,
    issued: numbering.Issued,
    wish: Renumbering,
    zone: ZoneInfo,
) -> None:
    row, _ = await hold_current(session, register, caller=wish.caller, public_id=wish.public_id, zone=zone)
    await replaced(session, wish, number=seen.head.number_uuid, printed=row.head.correspondence_number, issued=issued)
    await writes.change_revision(session, revision_id=row.revision.id, values={"correspondence_number": issued.number})
    await writes.change_head(
        session,
        document_id=row.head.id,
        values={"correspondence_number": issued.number, "number_uuid": issued.public_id},
    )
    session.expire_all()
