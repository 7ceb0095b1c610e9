"""`/workflow/instances/{publicId}/branches`: answers in a parallel review."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from starlette.responses import Response as RawResponse

from saraban.identity.dependencies import KeyedContext
from saraban.kit.http import PathId, respond
from saraban.workflow.runtime import schemas
from saraban.workflow.runtime.dependencies import IfMatch, InstanceTransitions
from saraban.workflow.runtime.schemas.review import BranchAnswerIn
from saraban.workflow.runtime.service import review

router = APIRouter()

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
    return respond(schemas.instance_answer(await transitions.show(ctx, done)), receipt=done.receipt)
