"""Endpoints of `/delegations`, `/workflow/instances` and `/inbox`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import PersonRef
from saraban.kit.http import (
    Db,
    Idempotent,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    read_after_commit,
    respond,
    showing_done_work,
)
from saraban.kit.operation import Operation
from saraban.kit.schema import Items, PageOut, ShortList
from saraban.workflow.runtime import schemas
from saraban.workflow.runtime.dependencies import CountedRoute, IfMatch, InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.service import delegations, review, tasks
from saraban.workflow.runtime.service.transition_request import Command, Transitioned
from saraban.workflow.runtime.service.transitions import Transitions

router = APIRouter(route_class=CountedRoute)

DelegationIfMatch = Annotated[
    str | None,
    Header(alias="If-Match", max_length=100, description="The `ETag` of the delegation as you have seen it."),
]


@router.get("/delegations", summary="What you have lent and were lent")
async def list_delegations(
    ctx: Context,
    session: ReadSession,
    person: Annotated[
        UUID | None, Query(alias="userPublicId", description="Somebody else, for whoever manages that account.")
    ] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> PageOut[schemas.DelegationOut]:
    """Newest first, those that are over or were taken back included."""
    page = await delegations.listing(ctx, session, person=person, cursor=cursor, limit=limit)
    return PageOut[schemas.DelegationOut](items=page.items, next_cursor=page.next_cursor)


@router.post(
    "/delegations", status_code=201, response_model=schemas.DelegationOut, summary="Delegate while you are away"
)
async def delegate(body: schemas.DelegationIn, ctx: KeyedContext, db: Db, idempotency: Idempotent) -> Response:
    """
    The delegate may take the steps that you may take, and nothing else: no reading, editing or managing. Both names stand in
    the history. What is lent to you cannot be lent on.
    """
    receipt = await idempotency.run(Operation.of(ctx, "POST /delegations", body), delegations.delegate, ctx, body)
    async with read_after_commit(db) as session:
        view = await delegations.read(ctx, session, public_id=receipt.resource_id)
    headers = {"Location": f"/api/v1/delegations/{view.public_id}", "ETag": view.etag}
    return respond(view, status=201, receipt=receipt, headers=headers)


@router.get("/delegations/colleagues", summary="Whom you can delegate to")
async def list_colleagues(
    ctx: Context, session: ReadSession, q: Annotated[str, Query(max_length=100, description="A part of the name.")] = ""
) -> Items[PersonRef]:
    """The active people of your organizations, at most a hundred."""
    people = await delegations.colleagues(ctx, session, text=q)
    return Items[PersonRef](items=[PersonRef.model_validate(person) for person in people])


@router.get("/delegations/{publicId}", summary="One delegation")
async def read_delegation(
    public_id: PathId, ctx: Context, session: ReadSession, response: Response
) -> schemas.DelegationOut:
    """For both people, and for whoever manages the delegator's account."""
    view = await delegations.read(ctx, session, public_id=public_id)
    response.headers["ETag"] = view.etag
    return view


@router.delete("/delegations/{publicId}", status_code=204, summary="Take a delegation back")
async def revoke_delegation(public_id: PathId, ctx: Context, db: Db, if_match: DelegationIfMatch = None) -> None:
    """At once. Steps that were taken stay, with both names. For the delegator and whoever manages that account."""
    await db.transact(delegations.revoke, ctx, public_id=public_id, if_match=if_match)


@router.get("/workflow/instances/{publicId}", response_model=schemas.InstanceEnvelope)
async def read_instance(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects, response: Response
) -> schemas.InstanceEnvelope:
    """Where it stands, what you may do, and what it is about."""
    envelope = await tasks.find(ctx, session, subjects=subjects, public_id=public_id, now=ctx.now)
    response.headers["ETag"] = f'"{envelope.version_no}"'
    return schemas.instance_answer(envelope)


@router.post("/workflow/instances/{publicId}/transitions", response_model=schemas.TransitionedEnvelope)
async def take_step(
    public_id: PathId,
    body: schemas.TransitionIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> Response:
    """
    Takes one action. Send the `workflow.versionNo` you saw, as `clientVersionNo` or in quotes as `If-Match`, so that you
    approve what you read. The `ETag` of a document guards its editing and is not taken here. Sent again with the same
    `Idempotency-Key` it takes no second step: the answer shows the instance as it is then, and under `transition` what was done.
    """
    done = await transitions.take(ctx, public_id=public_id, command=Command.of(body, if_match))
    return await show_transitioned(ctx, transitions, done)


async def show_transitioned(ctx: RequestContext, transitions: Transitions, done: Transitioned) -> Response:
    """Respond with the instance and what the request did to it."""
    with showing_done_work():
        envelope = await transitions.show(ctx, done)
    answer = schemas.transitioned_answer(envelope, done.receipt)
    return respond(answer, receipt=done.receipt, headers={"ETag": f'"{envelope.version_no}"'})


@router.get("/workflow/instances/{publicId}/history", response_model=ShortList[schemas.HistoryOut])
async def read_history(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> ShortList[schemas.HistoryOut]:
    """Every step that was taken, the newest last."""
    steps = await tasks.history(ctx, session, subjects=subjects, public_id=public_id)
    return ShortList[schemas.HistoryOut](items=[schemas.HistoryOut.model_validate(step) for step in steps])


@router.get("/inbox", response_model=PageOut[schemas.WorkflowItem[schemas.InboxItemOut]])
async def read_inbox(
    ctx: Context, session: ReadSession, subjects: RegisteredSubjects, cursor: PageCursor = None, limit: PageLimit = 20
) -> PageOut[schemas.WorkflowItem[schemas.InboxItemOut]]:
    """What waits for you, newest first. A page may be short; go on while there is a `nextCursor`."""
    page = await tasks.list_tasks(ctx, session, subjects=subjects, cursor=cursor, limit=limit, now=ctx.now)
    items = [
        schemas.WorkflowItem.around(
            schemas.InboxItemOut(
                subject=schemas.subject_of(item.envelope),
                waiting_since=item.since,
                on_behalf_of=list(item.on_behalf_of),
            ),
            item.envelope,
        )
        for item in page.items
    ]
    return PageOut[schemas.WorkflowItem[schemas.InboxItemOut]](items=items, next_cursor=page.next_cursor)


BranchId = Annotated[UUID, Path(alias="branchPublicId", description="Public id of the branch.")]


@router.post(
    "/workflow/instances/{publicId}/branches/{branchPublicId}/answers",
    response_model=schemas.InstanceEnvelope,
    summary="Answer for a branch",
)
async def answer_branch(
    public_id: PathId,
    branch_public_id: BranchId,
    body: schemas.BranchAnswerIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> Response:
    """
    Answers for a branch of the present state's review, once. When that makes a verdict, the instance moves in the same
    moment. The version to state is the branch's: others may answer theirs meanwhile. Sent again with the same
    `Idempotency-Key` it gives no second answer, and shows the branches as they are then.
    """
    done = await review.answer(
        ctx,
        transitions,
        public_id=public_id,
        branch_public_id=branch_public_id,
        command=Command.answering(body, if_match),
    )
    # No ETag: `If-Match` of this endpoint is the version of the branch.
    with showing_done_work():
        envelope = await transitions.show(ctx, done)
    return respond(schemas.instance_answer(envelope), receipt=done.receipt)
