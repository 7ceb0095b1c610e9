"""What the operations on numbers share: one transaction, and one answer for an `Idempotency-Key`."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.caller import Caller
from saraban.kit.db import Database
from saraban.kit.http import OrjsonResponse
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.numbering import service as numbering
from saraban.numbering.schemas import NumberOut, NumberStateOut


async def once(
    db: Database,
    *,
    caller: Caller,
    operation: str,
    body: BaseModel,
    key: str | None,
    now: datetime,
    work: Callable[[AsyncSession], Awaitable[BaseModel]],
    status: int = 200,
) -> Response:
    """Do the work and keep its answer in one transaction."""

    async def run(remember: Remember) -> OperationResult:
        async def step(session: AsyncSession) -> OperationResult:
            answer = OperationResult(status, (await work(session)).model_dump(mode="json", by_alias=True))
            await remember(session, answer)
            return answer

        return await db.transact(step)

    return await replied(db, caller=caller, operation=operation, body=body, key=key, now=now, run=run)


async def replied(
    db: Database,
    *,
    caller: Caller,
    operation: str,
    body: BaseModel,
    key: str | None,
    now: datetime,
    run: Callable[[Remember], Awaitable[OperationResult]],
) -> Response:
    answer = await answer_once(
        db, key=key, user=caller.public_id, operation=operation, payload=payload_of(body), now=now, run=run
    )
    headers = {"Idempotent-Replay": "true"} if answer.replayed else {}
    return OrjsonResponse(answer.body, status_code=answer.status, headers=headers)


def payload_of(body: BaseModel) -> dict[str, Any]:
    return body.model_dump(mode="json", by_alias=True)


def request_of(body: BaseModel) -> numbering.NumberRequest:
    """Return what a body asks a number for; fields of its own operation are left out."""
    known = numbering.NumberRequest.__dataclass_fields__
    return numbering.NumberRequest(**{name: value for name, value in body.model_dump().items() if name in known})


def number_out(issued: numbering.Issued) -> NumberOut:
    return NumberOut(**_number(issued))


def life_out(issued: numbering.Issued) -> NumberStateOut:
    return NumberStateOut.model_validate({**_number(issued), "status": issued.status})


def _number(issued: numbering.Issued) -> dict[str, Any]:
    return {
        "public_id": issued.public_id,
        "document_number": issued.number,
        "sequence": issued.sequence,
        "year": issued.year,
        "template": issued.template,
    }
