"""`/rfas`: requests for approval."""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from saraban.documents.core import service as core
from saraban.documents.core.dependencies import Following, IfMatch, Searching, document, page_of, sent
from saraban.documents.core.schemas import (
    Cancellation,
    DocumentChanges,
    HistoryList,
    NewRevision,
    RevisionList,
)
from saraban.documents.rfa import service as rfas
from saraban.documents.rfa.schemas import NewRfa, RfaAnswer, RfaPage
from saraban.documents.rfa.service import REGISTER
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, PageCursor, PageLimit, PathId, ReadSession
from saraban.numbering.dependencies import Numbers

router = APIRouter(prefix="/rfas", tags=["RFAs"])

Author = Annotated[Caller, guarded("rfa.create")]
Editor = Annotated[Caller, guarded("rfa.edit")]
Reader = Annotated[Caller, guarded("document.view")]


@router.post("", status_code=201, response_model=RfaAnswer, summary="Write a request for approval")
async def create(
    body: NewRfa, caller: Author, db: Db, numbers: Numbers, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Draws the number and writes the draft in one transaction. The first TO is the main recipient."""
    answer = await rfas.create(
        db, numbers, caller=caller, order=body, now=now.now(), zone=now.zone, address=address, key=key
    )
    return sent(answer)


@router.get("", response_model=RfaPage, summary="The register of RFAs")
async def listing(
    caller: Reader, session: ReadSession, now: Now, search: Searching, cursor: PageCursor = None, limit: PageLimit = 20
) -> Response:
    """Newest first. Drafts are their originator's; what is issued is also its recipients' and the contract's parties'."""
    page = await core.listing(
        session, REGISTER, caller=caller, search=search, cursor=cursor, limit=limit, now=now.now(), zone=now.zone
    )
    return page_of(page)


@router.get("/{publicId}", response_model=RfaAnswer, summary="One RFA")
async def read(public_id: PathId, caller: Reader, session: ReadSession, now: Now) -> Response:
    """Answers 404 also for what the caller may not know of."""
    answer = await core.read(session, REGISTER, caller=caller, public_id=public_id, now=now.now(), zone=now.zone)
    return document(answer)


@router.patch("/{publicId}", response_model=RfaAnswer, summary="Change a draft")
async def edit(
    public_id: PathId,
    body: DocumentChanges,
    caller: Editor,
    db: Db,
    now: Now,
    address: Address,
    if_match: IfMatch = None,
) -> Response:
    """Only a draft, and nothing that its number prints. With `If-Match`, only the version that was read."""
    moment = now.now()
    answer = await db.transact(
        lambda session: core.edit(
            session,
            REGISTER,
            caller=caller,
            public_id=public_id,
            changes=body,
            if_match=if_match,
            now=moment,
            zone=now.zone,
            address=address,
        )
    )
    return document(answer)


@router.get("/{publicId}/revisions", summary="The revisions, newest first")
async def revisions(public_id: PathId, caller: Reader, session: ReadSession, now: Now) -> RevisionList:
    return await core.revisions(session, REGISTER, caller=caller, public_id=public_id, zone=now.zone)


@router.post("/{publicId}/revisions", status_code=201, response_model=RfaAnswer, summary="Issue the next revision")
async def revise(
    public_id: PathId, body: NewRevision, caller: Author, db: Db, now: Now, address: Address, key: IdempotencyKey
) -> Response:
    """Once the current revision has its final answer: the number is printed again with the next label."""
    answer = await core.revise(
        db,
        REGISTER,
        caller=caller,
        public_id=public_id,
        order=body,
        now=now.now(),
        zone=now.zone,
        address=address,
        key=key,
    )
    return sent(answer)


@router.post("/{publicId}/cancel", response_model=RfaAnswer, summary="Cancel a draft with a reason")
async def cancel(
    public_id: PathId,
    body: Cancellation,
    caller: Reader,
    db: Db,
    followers: Following,
    now: Now,
    address: Address,
    key: IdempotencyKey,
) -> Response:
    """The number stays in the ledger as cancelled and is never issued again. There is no way back."""
    answer = await core.cancel(
        db,
        REGISTER,
        followers,
        caller=caller,
        public_id=public_id,
        reason=body.reason,
        now=now.now(),
        zone=now.zone,
        address=address,
        key=key,
    )
    return sent(answer)


@router.get("/{publicId}/history", summary="Everything that happened, newest first")
async def history(public_id: PathId, caller: Reader, session: ReadSession) -> HistoryList:
    return await core.history(session, REGISTER, caller=caller, public_id=public_id)
