"""`/workflow/instances` and `/inbox`: where documents stand, transitions, answers in a review, histories, what waits."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import PageCursor, PageLimit, PathId, ReadSession, respond, showing_done_work
from saraban.workflow.runtime import schemas
from saraban.workflow.runtime.dependencies import IfMatch, InstanceTransitions, RegisteredSubjects
from saraban.workflow.runtime.schemas.review import BranchAnswerIn
from saraban.workflow.runtime.service import review, tasks
from saraban.workflow.runtime.service.transition_request import Command, Transitioned
from saraban.workflow.runtime.service.transitions import Transitions

router = APIRouter()


@router.get("/workflow/instances/{publicId}", response_model=schemas.InstanceEnvelope)
async def read_instance(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects, response: Response
) -> schemas.InstanceEnvelope:
    """Where it stands, what you may do, and what it is about."""
    found = await tasks.find(ctx, session, subjects=subjects, public_id=public_id, now=ctx.now)
    response.headers["ETag"] = f'"{found.version_no}"'
    return schemas.instance_answer(found)


@router.post("/workflow/instances/{publicId}/transitions", response_model=schemas.TransitionedEnvelope)
async def take_step(
    public_id: PathId,
    body: schemas.TransitionIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
    """
    Takes one action. Send the `workflow.versionNo` you saw, as `clientVersionNo` or in quotes as `If-Match`, so that you
    approve what you read. The `ETag` of a document guards its editing and is not taken here. Sent again with the same
    `Idempotency-Key` it takes no second step: the answer shows the instance as it is then, and under `transition` what was done.
    """
    command = Command(
        action=body.action,
        comment=body.comment or None,
        payload=body.payload,
        attachment_public_ids=tuple(body.attachment_public_ids),
        client_version_no=body.client_version_no,
        if_match=if_match,
        response_code=body.response_code,
        on_behalf_of=body.on_behalf_of,
    )
    return await show_transitioned(ctx, transitions, await transitions.take(ctx, public_id=public_id, command=command))


async def show_transitioned(ctx: RequestContext, transitions: Transitions, done: Transitioned) -> RawResponse:
    """Answer with the instance as it is now, and what was done to it."""
    with showing_done_work():
        envelope = await transitions.show(ctx, done)
    shown = schemas.transitioned_answer(envelope, done.receipt)
    return respond(shown, receipt=done.receipt, headers={"ETag": f'"{envelope.version_no}"'})


@router.get("/workflow/instances/{publicId}/history", response_model=schemas.WorkflowHistoryList)
async def read_history(
    public_id: PathId, ctx: Context, session: ReadSession, subjects: RegisteredSubjects
) -> schemas.WorkflowHistoryList:
    """Every step that was taken, the newest last."""
    steps = await tasks.history(ctx, session, subjects=subjects, public_id=public_id)
    return schemas.WorkflowHistoryList(items=[schemas.HistoryOut.model_validate(step) for step in steps])


@router.get("/inbox", response_model=schemas.InboxPage)
async def read_inbox(
    ctx: Context, session: ReadSession, subjects: RegisteredSubjects, cursor: PageCursor = None, limit: PageLimit = 20
) -> schemas.InboxPage:
    """What waits for you, newest first. A page may be short; go on while there is a `nextCursor`."""
    page = await tasks.list_tasks(ctx, session, subjects=subjects, cursor=cursor, limit=limit, now=ctx.now)
    items = [
        schemas.WorkflowItem.around(
            schemas.InboxItemOut(
                subject=schemas.subject_of(item.envelope),
                waiting_since=item.since,
                on_behalf_of=[schemas.RepresentedOut.model_validate(person) for person in item.on_behalf_of],
            ),
            item.envelope,
        )
        for item in page.items
    ]
    return schemas.InboxPage(items=items, next_cursor=page.next_cursor)


BranchId = Annotated[UUID, Path(alias="branchPublicId", description="Public id of the branch.")]


@router.post(
    "/workflow/instances/{publicId}/branches/{branchPublicId}/answers",
    response_model=schemas.InstanceEnvelope,
    summary="Answer for a branch",
)
async def answer_branch(
    public_id: PathId,
    branch_public_id: BranchId,
    body: BranchAnswerIn,
    ctx: KeyedContext,
    transitions: InstanceTransitions,
    if_match: IfMatch,
) -> RawResponse:
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
        reply=review.BranchAnswer(
            code=body.answer,
            comment=body.comment or None,
            attachment_public_ids=tuple(body.attachment_public_ids),
            client_version_no=body.client_version_no,
            if_match=if_match,
            on_behalf_of=body.on_behalf_of,
        ),
    )
    # No ETag: the instance's version is not what this address is guarded by.
    with showing_done_work():
        envelope = await transitions.show(ctx, done)
    return respond(schemas.instance_answer(envelope), receipt=done.receipt)
