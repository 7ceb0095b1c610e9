"""Webhooks of a project: who is told of its events, with which secret, and what became of it."""

from typing import Annotated

from fastapi import APIRouter, Header
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context
from saraban.kit.http import Db, IdempotencyKey, PageCursor, PageLimit, PathId, ReadSession, to_response
from saraban.kit.idempotency import OperationResult, Remember, answer_once
from saraban.webhooks import schemas, service

router = APIRouter(tags=["webhooks"])

IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=100, description="The `ETag` of the webhook as you have seen it.")
]


@router.post(
    "/projects/{publicId}/webhooks", status_code=201, response_model=schemas.WebhookSecretOut, summary="Add a webhook"
)
async def create(public_id: PathId, body: schemas.WebhookIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """The answer has the secret that messages are signed with, this once. For whoever may edit the project."""

    async def work(session: AsyncSession, remember: Remember) -> OperationResult:
        row = await service.create(
            ctx,
            session,
            project_public_id=public_id,
            url=body.url,
            description=body.description,
            events=body.events,
            topics=body.topics,
        )
        return await _created(row, session, remember)

    answer = await answer_once(
        db,
        key=key,
        user=ctx.caller.public_id,
        operation=f"POST /projects/{public_id}/webhooks",
        payload=body.model_dump(mode="json", by_alias=True),
        now=ctx.now,
        run=lambda remember: db.transact(lambda session: work(session, remember)),
    )
    return to_response(answer)


@router.post(
    "/notifications/webhooks",
    status_code=201,
    response_model=schemas.WebhookSecretOut,
    summary="Add a webhook of your own",
)
async def create_own(body: schemas.OwnWebhookIn, ctx: Context, db: Db, key: IdempotencyKey) -> Response:
    """It is told what you chose, among your preferences, to be told by webhook. The answer has its secret, this once."""

    async def work(session: AsyncSession, remember: Remember) -> OperationResult:
        row = await service.create_own(
            ctx,
            session,
            url=body.url,
            description=body.description,
        )
        return await _created(row, session, remember)

    answer = await answer_once(
        db,
        key=key,
        user=ctx.caller.public_id,
        operation="POST /notifications/webhooks",
        payload=body.model_dump(mode="json", by_alias=True),
        now=ctx.now,
        run=lambda remember: db.transact(lambda session: work(session, remember)),
    )
    return to_response(answer)


async def _created(row: service.Webhook, session: AsyncSession, remember: Remember) -> OperationResult:
    out = _with_secret(row).model_dump(mode="json", by_alias=True)
    answer = OperationResult(201, out, {"Location": f"/api/v1/webhooks/{row.public_id}", "ETag": service.etag(row)})
    await remember(session, answer)
    return answer


@router.get("/notifications/webhooks", summary="List your own webhooks")
async def listing_own(
    ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> schemas.WebhookPage:
    """Newest first; nobody else sees them. They are read, changed and removed like those of a project."""
    page = await service.listing_own(ctx, session, cursor=cursor, limit=limit)
    return schemas.WebhookPage(items=[_out(row) for row in page.items], next_cursor=page.next_cursor)


@router.get("/projects/{publicId}/webhooks", summary="List a project's webhooks")
async def listing(
    public_id: PathId, ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> schemas.WebhookPage:
    """Newest first. For whoever may edit the project."""
    page = await service.listing(ctx, session, project_public_id=public_id, cursor=cursor, limit=limit)
    return schemas.WebhookPage(items=[_out(row) for row in page.items], next_cursor=page.next_cursor)


@router.get("/webhooks/{publicId}", summary="Read a webhook")
async def read(public_id: PathId, ctx: Context, session: ReadSession, response: Response) -> schemas.WebhookOut:
    """Without its secret, which nobody can read again."""
    row = await service.read(ctx, session, public_id=public_id)
    response.headers["ETag"] = service.etag(row)
    return _out(row)


@router.patch("/webhooks/{publicId}", summary="Change a webhook")
async def change(
    public_id: PathId, body: schemas.WebhookChangeIn, ctx: Context, db: Db, response: Response, if_match: IfMatch = None
) -> schemas.WebhookOut:
    """What is switched off is told nothing; what happens meanwhile is not told later."""
    wanted = service.WebhookChange(**body.model_dump())
    row = await db.transact(
        lambda session: service.change(
            ctx,
            session,
            public_id=public_id,
            change=wanted,
            if_match=if_match,
        )
    )
    response.headers["ETag"] = service.etag(row)
    return _out(row)


@router.delete("/webhooks/{publicId}", status_code=204, summary="Remove a webhook")
async def remove(public_id: PathId, ctx: Context, db: Db) -> None:
    """What it was to be told and has not been yet is not sent."""
    await db.transact(lambda session: service.remove(ctx, session, public_id=public_id))


@router.post(
    "/webhooks/{publicId}/rotate-secret",
    response_model=schemas.WebhookSecretOut,
    summary="Change the secret of a webhook",
)
async def rotate(public_id: PathId, ctx: Context, db: Db, key: IdempotencyKey, if_match: IfMatch = None) -> Response:
    """
    For 24 hours messages carry signatures with both secrets. Changed again meanwhile, each earlier secret keeps its 24 hours;
    when three of them are still valid, the answer is 409 and says until when.
    """

    async def work(session: AsyncSession, remember: Remember) -> OperationResult:
        row = await service.rotate(ctx, session, public_id=public_id, if_match=if_match)
        out = _with_secret(row).model_dump(mode="json", by_alias=True)
        answer = OperationResult(200, out, {"ETag": service.etag(row)})
        await remember(session, answer)
        return answer

    answer = await answer_once(
        db,
        key=key,
        user=ctx.caller.public_id,
        operation=f"POST /webhooks/{public_id}/rotate-secret",
        payload={},
        now=ctx.now,
        run=lambda remember: db.transact(lambda session: work(session, remember)),
    )
    return to_response(answer)


@router.post("/webhooks/{publicId}/test", status_code=202, summary="Try a webhook")
async def test(public_id: PathId, ctx: Context, db: Db) -> schemas.TestOut:
    """Puts a message into the outbox that means nothing; look at the outcomes a moment later."""
    message = await db.transact(lambda session: service.test(ctx, session, public_id=public_id))
    return schemas.TestOut(message_public_id=message)


@router.get("/webhooks/{publicId}/outcomes", summary="What became of a webhook's messages")
async def outcomes(
    public_id: PathId, ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> schemas.OutcomePage:
    """Each attempt of the last week, newest first."""
    page = await service.outcomes(ctx, session, public_id=public_id, cursor=cursor, limit=limit)
    items = [
        schemas.OutcomeOut(
            public_id=row.public_id,
            message_public_id=row.event_uuid,
            type=row.name,
            delivered=row.delivered,
            status=row.status,
            error=row.error,
            milliseconds=row.milliseconds,
            at=row.created_at,
        )
        for row in page.items
    ]
    return schemas.OutcomePage(items=items, next_cursor=page.next_cursor)


def _out(row: service.Webhook) -> schemas.WebhookOut:
    return schemas.WebhookOut(
        public_id=row.public_id,
        url=row.url,
        description=row.description,
        events=row.event_names,
        topics=row.topics or [],
        is_active=row.is_active,
        version=row.version,
        off_because=row.off_because,
        failing_since=row.failing_since,
        previous_secret_until=service.earlier_until(row),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _with_secret(row: service.Webhook) -> schemas.WebhookSecretOut:
    return schemas.WebhookSecretOut(**_out(row).model_dump(), secret=row.secret)
