"""`/circulations`: sheets that one organization passes round among its own people."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from saraban.documents.circulation import service as circulations
from saraban.documents.circulation.domain.visibility import VIEW
from saraban.documents.circulation.schemas import AssigneeResponse as GivenResponse
from saraban.documents.circulation.schemas import CirculationAnswer, CirculationChanges, CirculationPage, NewCirculation
from saraban.documents.circulation.service import CirculationSearch
from saraban.documents.core.dependencies import DueBefore, IfMatch, Overdue, SearchText, page_of
from saraban.documents.core.schemas import Cancellation, DocumentHistory
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import (
    Address,
    Db,
    IdempotencyKey,
    Now,
    OrjsonResponse,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
    async_dependency,
    to_response,
)
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers
from saraban.workflow.runtime.schemas import WorkflowEnvelope

router = APIRouter(prefix="/circulations", tags=["Circulations"])

SheetEnvelope = WorkflowEnvelope[CirculationAnswer]

Author = Annotated[Caller, guarded("circulation.create")]
Reader = Annotated[Caller, guarded(VIEW)]
Administrator = Annotated[Caller, guarded("numbering.manage_formats")]


def search(
    q: SearchText,
    project: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
    status: Annotated[str | None, Query(max_length=50, description="Workflow state.")] = None,
    correspondence: Annotated[UUID | None, Query(alias="correspondencePublicId")] = None,
    due_before: DueBefore = None,
    overdue: Overdue = False,
    mine: Annotated[bool, Query(description="Only what I wrote or have a part in.")] = False,
) -> CirculationSearch:
    return CirculationSearch(
        project=project,
        status=status,
        correspondence=correspondence,
        text=q,
        due_before=due_before,
        overdue=overdue,
        mine=mine,
    )


Searching = Annotated[CirculationSearch, Depends(async_dependency(search))]


def _document(answer: SheetEnvelope) -> Response:
    body = answer.model_dump(mode="json", by_alias=True)
    return OrjsonResponse(body, headers={"ETag": circulations.etag(answer)})


@router.post(
    "", dependencies=ISSUE_LIMIT, status_code=201, response_model=SheetEnvelope, summary="Write a circulation sheet"
)
async def create(
    body: NewCirculation, caller: Author, db: Db, numbers: Numbers, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Draws the number and writes the draft in one transaction. Assignees are active members of the organization."""
    answer = await circulations.create(
        db, numbers, caller=caller, order=body, now=now.now(), zone=now.zone, address=address, key=key
    )
    return to_response(answer)


@router.get("", response_model=CirculationPage, summary="The sheets of your organizations")
async def listing(
    caller: Reader, session: ReadSession, now: Now, search: Searching, cursor: PageCursor = None, limit: PageLimit = 20
) -> Response:
    """Newest first."""
    page = await circulations.listing(
        session, caller=caller, search=search, cursor=cursor, limit=limit, now=now.now(), zone=now.zone
    )
    return page_of(page)


@router.get("/{publicId}", response_model=SheetEnvelope, summary="One sheet")
async def read(public_id: PathId, caller: Reader, session: ReadSession, now: Now) -> Response:
    """Answers 404 also for a sheet of another organization."""
    answer = await circulations.read(session, caller=caller, public_id=public_id, now=now.now(), zone=now.zone)
    return _document(answer)


@router.patch("/{publicId}", response_model=SheetEnvelope, summary="Change a draft sheet")
async def edit(
    public_id: PathId,
    body: CirculationChanges,
    caller: Author,
    db: Db,
    now: Now,
    address: Address,
    if_match: IfMatch = None,
) -> Response:
    """Only a draft. With `If-Match`, only the version that was read."""
    moment = now.now()
    answer = await db.transact(
        lambda session: circulations.edit(
            session,
            caller=caller,
            public_id=public_id,
            changes=body,
            if_match=if_match,
            now=moment,
            zone=now.zone,
            address=address,
        )
    )
    return _document(answer)


@router.post("/{publicId}/responses", status_code=201, response_model=SheetEnvelope, summary="Give your answer")
async def respond(
    public_id: PathId, body: GivenResponse, caller: Reader, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """By whom the sheet names, once, while it is being passed round."""
    answer = await circulations.respond(
        db,
        caller=caller,
        public_id=public_id,
        response=body,
        now=now.now(),
        zone=now.zone,
        address=address,
        key=key,
    )
    return to_response(answer)


@router.post("/{publicId}/cancel", response_model=SheetEnvelope, summary="Cancel with a reason")
async def cancel(
    public_id: PathId, body: Cancellation, caller: Reader, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Answers that were given stay; open parts are closed."""
    answer = await circulations.cancel(
        db,
        caller=caller,
        public_id=public_id,
        reason=body.reason,
        now=now.now(),
        zone=now.zone,
        address=address,
        key=key,
    )
    return to_response(answer)


@router.post(
    "/{publicId}/renumber", dependencies=ISSUE_LIMIT, response_model=SheetEnvelope, summary="Give it another number"
)
async def renumber(
    public_id: PathId,
    body: Cancellation,
    caller: Administrator,
    db: Db,
    numbers: Numbers,
    now: Now,
    address: Address,
    key: IdempotencyKey,
) -> Response:
    """
    For project administrators who may see the sheet: the next number by the format in force. The old one still finds it.
    """
    answer = await circulations.renumber(
        db,
        numbers,
        caller=caller,
        public_id=public_id,
        reason=body.reason,
        now=now.now(),
        zone=now.zone,
        address=address,
        key=key,
    )
    return to_response(answer)


@router.get("/{publicId}/history", summary="Everything that happened, newest first")
async def history(public_id: PathId, caller: Reader, session: ReadSession) -> DocumentHistory:
    return await circulations.history(session, caller=caller, public_id=public_id)
