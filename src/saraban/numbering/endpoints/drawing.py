"""`/document-numbering/generate` and `/preview`: draw a number, look at the next one."""

from typing import Any

from fastapi import APIRouter, Response

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import (
    Address,
    Db,
    IdempotencyKey,
    Now,
    OrjsonResponse,
    ReadSession,
)
from saraban.kit.idempotency import OperationResult, Remember, answer_once, request_token
from saraban.numbering import service as numbering
from saraban.numbering.dependencies import ISSUE_LIMIT, READ_LIMIT, Numbers, RecordedRoute
from saraban.numbering.schemas import (
    GenerateIn,
    NumberOut,
    PreviewOut,
)

router = APIRouter(route_class=RecordedRoute)
_GENERATE = "POST /document-numbering/generate"


@router.post("/generate", dependencies=ISSUE_LIMIT, status_code=201, response_model=NumberOut, summary="Draw a number")
async def generate(
    body: GenerateIn,
    caller: CurrentCaller,
    db: Db,
    now: Now,
    numbers: Numbers,
    address: Address,
    key: IdempotencyKey,
) -> Response:
    """
    Draws the next number of the series. It is final: it stands in the ledger whether or not a document follows.

    With an `Idempotency-Key` the same request gives the same number however often it is sent.
    """
    moment = now.now()
    payload = body.model_dump(mode="json", by_alias=True)
    token = request_token(key=key, user=caller.public_id, operation=_GENERATE, payload=payload)

    async def draw(remember: Remember) -> OperationResult:
        plan = await numbering.plan_apart(db, caller=caller, request=_request(body), now=moment, zone=now.zone)

        async def keep(session: Any, issued: numbering.Issued) -> None:
            await remember(session, OperationResult(201, _number(issued)))

        issued = await numbers.draw(
            plan,
            caller=caller,
            token=token,
            address=address,
            idempotency_key=key,
            remember=keep if key is not None else None,
        )
        return OperationResult(201, _number(issued))

    answer = await answer_once(
        db, key=key, user=caller.public_id, operation=_GENERATE, payload=payload, now=moment, run=draw
    )
    headers = {"Idempotent-Replay": "true"} if answer.replayed else {}
    return OrjsonResponse(answer.body, status_code=answer.status, headers=headers)


@router.post("/preview", dependencies=READ_LIMIT, summary="Show the next number without drawing it")
async def preview(body: GenerateIn, session: ReadSession, caller: CurrentCaller, now: Now) -> PreviewOut:
    """Consumes nothing; somebody else may draw the shown number first."""
    plan = await numbering.plan(session, caller=caller, request=_request(body), now=now.now(), zone=now.zone)
    next_one = await numbering.preview(session, plan=plan)
    return PreviewOut(
        document_number=next_one.number,
        sequence=next_one.sequence,
        year=plan.year,
        template=plan.template.text,
        format_source=plan.source,
        number_format=numbering.FormatChoice.of_plan(plan).shown(),
    )


def _request(body: GenerateIn) -> numbering.NumberRequest:
    return numbering.NumberRequest(**body.model_dump())


def _number(issued: numbering.Issued) -> dict[str, Any]:
    out = NumberOut(
        public_id=issued.public_id,
        document_number=issued.number,
        sequence=issued.sequence,
        year=issued.year,
        template=issued.template,
    )
    return out.model_dump(mode="json", by_alias=True)
