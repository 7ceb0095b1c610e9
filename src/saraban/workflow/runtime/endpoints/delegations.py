"""`/delegations`: who acts for whom while away."""

from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.kit.http import Db, Idempotent, PageCursor, PageLimit, PathId, ReadSession, read_after_commit, respond
from saraban.kit.operation import Operation
from saraban.workflow.runtime.schemas import delegations as schemas
from saraban.workflow.runtime.service import delegations as service

router = APIRouter(prefix="/delegations")

IfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=100, description="The `ETag` of the delegation as you have seen it."),
]


@router.get("", summary="What you have lent and were lent")
async def list_delegations(
    ctx: Context,
    session: ReadSession,
    person: Annotated[
        UUID | None, Query(alias="userPublicId", description="Somebody else, for whoever manages that account.")
    ] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> schemas.DelegationPage:
    """Newest first, those that are over or were taken back included."""
    page = await service.listing(ctx, session, person=person, cursor=cursor, limit=limit)
    return schemas.DelegationPage(items=[_out(one) for one in page.items], next_cursor=page.next_cursor)


@router.post("", status_code=201, response_model=schemas.DelegationOut, summary="Delegate while you are away")
async def delegate(body: schemas.DelegationIn, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    The delegate may take the steps that you may take, and nothing else: no reading, editing or managing. Both names stand in
    the history. What is lent to you cannot be lent on.
    """
    work = partial(service.delegate, ctx, wanted=service.NewDelegation(**body.model_dump()))
    receipt = await idempotency.run(Operation.of(ctx, "POST /delegations", body), work)
    async with read_after_commit(db) as session:
        view = await service.read(ctx, session, public_id=receipt.resource_id)
    headers = {"Location": f"/api/v1/delegations/{view.public_id}", "ETag": view.etag}
    return respond(_out(view), status=201, receipt=receipt, headers=headers)


@router.get("/colleagues", summary="Whom you can delegate to")
async def list_colleagues(
    ctx: Context, session: ReadSession, q: Annotated[str, Query(max_length=100, description="A part of the name.")] = ""
) -> schemas.ColleagueList:
    """The active people of your organizations, at most a hundred."""
    found = await service.colleagues(ctx, session, text=q)
    return schemas.ColleagueList(items=[schemas.DelegationPersonOut.model_validate(one) for one in found])


@router.get("/{publicId}", summary="One delegation")
async def read_delegation(
    public_id: PathId, ctx: Context, session: ReadSession, response: Response
) -> schemas.DelegationOut:
    """For both people, and for whoever manages the delegator's account."""
    view = await service.read(ctx, session, public_id=public_id)
    response.headers["ETag"] = view.etag
    return _out(view)


@router.delete("/{publicId}", status_code=204, summary="Take a delegation back")
async def revoke_delegation(public_id: PathId, ctx: Context, db: Db, if_match: IfMatch = None) -> None:
    """At once. Steps that were taken stay, with both names. For the delegator and whoever manages that account."""
    await db.transact(lambda session: service.revoke(ctx, session, public_id=public_id, if_match=if_match))


def _out(view: service.DelegationView) -> schemas.DelegationOut:
    return schemas.DelegationOut.model_validate(view)
