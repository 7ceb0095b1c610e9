"""Webhooks of projects and people over HTTP."""

from uuid import UUID

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.http import (
    Db,
    Idempotent,
    IfMatch,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    read_after_commit,
    respond,
)
from saraban.kit.operation import Operation, Receipt
from saraban.kit.pagination import Page
from saraban.kit.schema import PageOut
from saraban.webhooks import schemas, service

router = APIRouter(tags=["Webhooks"])


@router.post(
    "/projects/{publicId}/webhooks", status_code=201, response_model=schemas.WebhookSecretOut, summary="Add a webhook"
)
async def create(
    public_id: PathId, body: schemas.WebhookIn, ctx: KeyedContext, db: Db, idempotency: Idempotent
) -> Response:
    """
    Returns the secret that signs the messages. A request repeated with the same
    `Idempotency-Key` returns it as long as nobody has changed the webhook. For callers who
    may edit the project.
    """
    operation = Operation.of(ctx, f"POST /projects/{public_id}/webhooks", body)
    return await _secret_response(ctx, db, await idempotency.run(operation, _create, ctx, public_id, body), status=201)


@router.post(
    "/notifications/webhooks",
    status_code=201,
    response_model=schemas.WebhookSecretOut,
    summary="Add a webhook of your own",
)
async def create_own(body: schemas.OwnWebhookIn, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    The webhook receives the notices for which you chose the channel webhook in your
    notification settings. Returns its secret; a request repeated with the same
    `Idempotency-Key` returns it as long as nobody has changed the webhook.
    """
    operation = Operation.of(ctx, "POST /notifications/webhooks", body)
    return await _secret_response(ctx, db, await idempotency.run(operation, _create_own, ctx, body), status=201)


@router.get("/notifications/webhooks", summary="List your own webhooks")
async def listing_own(
    ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> PageOut[schemas.WebhookOut]:
    """Newest first, for you only. Read, change and remove them like those of a project."""
    return _page(await service.listing_own(ctx, session, cursor=cursor, limit=limit))


@router.get("/projects/{publicId}/webhooks", summary="List a project's webhooks")
async def listing(
    public_id: PathId, ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> PageOut[schemas.WebhookOut]:
    """Newest first. For callers who may edit the project."""
    return _page(await service.listing(ctx, session, project_public_id=public_id, cursor=cursor, limit=limit))


@router.get("/webhooks/{publicId}", summary="Read a webhook")
async def read(public_id: PathId, ctx: Context, session: ReadSession, response: Response) -> schemas.WebhookOut:
    """The secret is not returned."""
    row = await service.read(ctx, session, public_id=public_id)
    response.headers["ETag"] = service.etag(row)
    return _out(row)


@router.patch("/webhooks/{publicId}", summary="Change a webhook")
async def change(
    public_id: PathId, body: schemas.WebhookChangeIn, ctx: Context, db: Db, response: Response, if_match: IfMatch = None
) -> schemas.WebhookOut:
    """A disabled webhook receives nothing, and events in the meantime are not sent later."""
    row = await db.transact(service.change, ctx, public_id=public_id, change=body, if_match=if_match)
    response.headers["ETag"] = service.etag(row)
    return _out(row)


@router.delete("/webhooks/{publicId}", status_code=204, summary="Remove a webhook")
async def remove(public_id: PathId, ctx: Context, db: Db) -> None:
    """Messages that were not delivered yet are not sent."""
    await db.transact(service.remove, ctx, public_id=public_id)


@router.post(
    "/webhooks/{publicId}/rotate-secret",
    response_model=schemas.WebhookSecretOut,
    summary="Change the secret of a webhook",
)
async def rotate(
    public_id: PathId, ctx: KeyedContext, db: Db, idempotency: Idempotent, if_match: IfMatch = None
) -> Response:
    """
    For 24 hours messages are signed with both secrets. If you rotate again, each earlier
    secret keeps its 24 hours; while three earlier secrets are valid, the answer is 409 with
    the time of the next rotation. A request repeated with the same `Idempotency-Key` returns
    the new secret as long as nobody has changed the webhook.
    """
    operation = Operation.of(ctx, f"POST /webhooks/{public_id}/rotate-secret", {})
    return await _secret_response(ctx, db, await idempotency.run(operation, _rotate, ctx, public_id, if_match))


@router.post("/webhooks/{publicId}/test", status_code=202, summary="Try a webhook")
async def test(public_id: PathId, ctx: Context, db: Db) -> schemas.TestOut:
    """Queues a test message. Read the outcomes a moment later."""
    message = await db.transact(service.test, ctx, public_id=public_id)
    return schemas.TestOut(message_public_id=message)


@router.get("/webhooks/{publicId}/outcomes", summary="What became of a webhook's messages")
async def outcomes(
    public_id: PathId, ctx: Context, session: ReadSession, cursor: PageCursor = None, limit: PageLimit = 50
) -> PageOut[schemas.OutcomeOut]:
    """Returns each attempt of the last week, newest first."""
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
    return PageOut[schemas.OutcomeOut](items=items, next_cursor=page.next_cursor)


def _page(page: Page[service.Webhook]) -> PageOut[schemas.WebhookOut]:
    return PageOut[schemas.WebhookOut](items=[_out(row) for row in page.items], next_cursor=page.next_cursor)


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


async def _create(ctx: RequestContext, session: AsyncSession, project: UUID, body: schemas.WebhookIn) -> Receipt:
    return _receipt(await service.create(ctx, session, project, body))


async def _create_own(ctx: RequestContext, session: AsyncSession, body: schemas.OwnWebhookIn) -> Receipt:
    return _receipt(await service.create_own(ctx, session, body))


async def _rotate(ctx: RequestContext, session: AsyncSession, public_id: UUID, if_match: str | None) -> Receipt:
    return _receipt(await service.rotate(ctx, session, public_id=public_id, if_match=if_match))


def _receipt(row: service.Webhook) -> Receipt:
    return Receipt("webhook", row.public_id, {"version": row.version})


async def _secret_response(ctx: RequestContext, db: Database, receipt: Receipt, *, status: int = 200) -> Response:
    async with read_after_commit(db) as session:
        row = await service.read(ctx, session, receipt.resource_id)
    secret = service.secret_of(row.secret) if row.version == receipt.outcome["version"] else None
    body = schemas.WebhookSecretOut(**_out(row).model_dump(), secret=secret)
    location = {"Location": f"/api/v1/webhooks/{row.public_id}"} if status == 201 else {}
    return respond(body, status=status, receipt=receipt, headers=location | {"ETag": service.etag(row)})
