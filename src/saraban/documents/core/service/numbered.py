"""
The one way in which a new document comes to be: checked first, then its number and its rows in one transaction.

Whatever happens on the way, a request with the same `Idempotency-Key` makes one document (ruling N9).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.kit.ids import new_id
from saraban.numbering import service as numbering


@dataclass(frozen=True, slots=True)
class Order:
    """
    A checked order for a document that lacks only its number.

    :param write: adds the rows in the transaction that draws the number; it may run again after a collision
    :param recall: gives the answer for a document that an earlier attempt has committed
    :param reservation: the token of a number that was reserved for it; None: draw one
    :param fields: this kind's own names of the fields that a number is reserved for
    """

    plan: numbering.Plan
    write: Callable[[AsyncSession, numbering.Issued, UUID], Awaitable[OperationResult]]
    recall: Callable[[AsyncSession, numbering.Issued], Awaitable[OperationResult]]
    reservation: UUID | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


Prepare = Callable[[AsyncSession], Awaitable[Order]]


async def issue(
    db: Database,
    allocator: numbering.Allocator,
    *,
    kind: str,
    path: str,
    caller: Caller,
    payload: object,
    prepare: Prepare,
    now: datetime,
    address: str,
    key: str | None,
) -> OperationResult:
    """
    Write a document with its number, or give the answer of the request that wrote it already.

    :param prepare: reads and checks, before any lock
    """

    operation = f"POST {path}"

    async def run(remember: Remember) -> OperationResult:
        async with db.reading() as session:
            order = await prepare(session)
        holder = numbering.Holder(kind, new_id())
        if order.reservation is not None:
            return await _take_up(
                db, order, order.reservation, caller=caller, holder=holder, remember=remember, now=now, address=address
            )
        token = request_token(key=key, user=caller.public_id, operation=operation, payload=payload)

        async def then(session: AsyncSession, issued: numbering.Issued) -> OperationResult:
            answer = await order.write(session, issued, holder.public_id)
            await remember(session, answer)
            return answer

        return await allocator.issue_and_write(
            order.plan,
            caller=caller,
            holder=holder,
            token=token,
            address=address,
            idempotency_key=key,
            then=then,
            recall=order.recall,
        )

    return await answer_once(db, key=key, user=caller.public_id, operation=operation, payload=payload, now=now, run=run)


async def _take_up(
    db: Database,
    order: Order,
    reservation: UUID,
    *,
    caller: Caller,
    holder: numbering.Holder,
    remember: Remember,
    now: datetime,
    address: str,
) -> OperationResult:
    """Write the document with the number that was reserved for it, in one transaction."""

    async def work(session: AsyncSession) -> OperationResult:
        issued = await numbering.bind_reservation(
            session,
            caller=caller,
            token=reservation,
            plan=order.plan,
            holder=holder,
            fields=order.fields,
            now=now,
            address=address,
        )
        answer = await order.write(session, issued, holder.public_id)
        await remember(session, answer)
        return answer

    return await db.transact(work)
