"""
The addresses that every register of documents has. A subtype adds its own `POST` and says what things are called.

Each door below only opens: it passes the request to a verb of `documents.core.service` with the subtype's register.
"""

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from saraban.documents.core import service as core
from saraban.documents.core.dependencies import Following, IfMatch, Searching, document, page_of
from saraban.documents.core.schemas import Cancellation, DocumentChanges, DocumentHistory, NewRevision, RevisionList
from saraban.documents.core.service import DocumentKind
from saraban.identity.dependencies import guarded
from saraban.identity.domain.caller import Caller
from saraban.kit.http import Address, Db, IdempotencyKey, Now, PageCursor, PageLimit, PathId, ReadSession, to_response
from saraban.kit.schema import Schema
from saraban.numbering.issue.dependencies import ISSUE_LIMIT, Numbers

READ = "document.view"


@dataclass(frozen=True, slots=True)
class RouteTexts:
    """What the OpenAPI document says of a register."""

    tag: str
    many: str
    one: str
    cancel: str = "Cancel with a reason"


def register_routes(register: DocumentKind, *, page: type[Schema], words: RouteTexts) -> APIRouter:
    """Return the router of `/<path>` with what reads, lists, changes, revises, cancels and tells the history."""
    router = APIRouter(prefix=f"/{register.kind.path}", tags=[words.tag])
    _reading(router, register, page, words)
    _drafting(router, register)
    _revising(router, register)
    _ending(router, register, words)
    return router


# The permission is the register's, so it cannot stand in an annotation that a type checker reads: hence defaults.


def _reading(router: APIRouter, register: DocumentKind, page: type[Schema], words: RouteTexts) -> None:
    @router.get("", response_model=page, summary=f"The register of {words.many}")
    async def listing(
        session: ReadSession,
        now: Now,
        search: Searching,
        cursor: PageCursor = None,
        limit: PageLimit = 20,
        caller: Caller = guarded(READ),
    ) -> Response:
        """Newest first. Drafts are their originator's; what is issued is also its recipients' and the contract's parties'."""
        found = await core.listing(
            session, register, caller=caller, search=search, cursor=cursor, limit=limit, now=now.now(), zone=now.zone
        )
        return page_of(found)

    @router.get("/{publicId}", response_model=register.envelope, summary=f"One {words.one}")
    async def read(
        public_id: PathId,
        session: ReadSession,
        now: Now,
        caller: Caller = guarded(READ),
    ) -> Response:
        """Answers 404 also for what the caller may not know of."""
        answer = await core.read(session, register, caller=caller, public_id=public_id, now=now.now(), zone=now.zone)
        return document(answer)

    @router.get("/{publicId}/history", summary="Everything that happened, newest first")
    async def history(
        public_id: PathId,
        session: ReadSession,
        caller: Caller = guarded(READ),
    ) -> DocumentHistory:
        return await core.history(session, register, caller=caller, public_id=public_id)


def _drafting(router: APIRouter, register: DocumentKind) -> None:
    async def edit(
        public_id: PathId,
        body: DocumentChanges,
        db: Db,
        now: Now,
        address: Address,
        if_match: IfMatch = None,
        caller: Caller = guarded(register.kind.edit),
    ) -> Response:
        """Only a draft, and nothing that its number prints. With `If-Match`, only the version that was read."""
        moment = now.now()
        answer = await db.transact(
            lambda session: core.edit(
                session,
                register,
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

    edit.__annotations__["body"] = register.changes
    router.patch("/{publicId}", response_model=register.envelope, summary="Change a draft")(edit)


def _revising(router: APIRouter, register: DocumentKind) -> None:
    @router.get("/{publicId}/revisions", response_model=register.revisions, summary="The revisions, newest first")
    async def revisions(
        public_id: PathId,
        session: ReadSession,
        now: Now,
        caller: Caller = guarded(READ),
    ) -> RevisionList:
        return await core.revisions(session, register, caller=caller, public_id=public_id, zone=now.zone)

    @router.post(
        "/{publicId}/revisions", status_code=201, response_model=register.envelope, summary="Issue the next revision"
    )
    async def revise(
        public_id: PathId,
        body: NewRevision,
        db: Db,
        now: Now,
        address: Address,
        key: IdempotencyKey,
        caller: Caller = guarded(register.kind.create),
    ) -> Response:
        """Once the current revision has its final answer: the number is printed again with the next label."""
        answer = await core.revise(
            db,
            register,
            caller=caller,
            public_id=public_id,
            order=body,
            now=now.now(),
            zone=now.zone,
            address=address,
            key=key,
        )
        return to_response(answer)


def _ending(router: APIRouter, register: DocumentKind, words: RouteTexts) -> None:
    @router.post("/{publicId}/cancel", response_model=register.envelope, summary=words.cancel)
    async def cancel(
        public_id: PathId,
        body: Cancellation,
        db: Db,
        followers: Following,
        now: Now,
        address: Address,
        key: IdempotencyKey,
        caller: Caller = guarded(READ),
    ) -> Response:
        """The number stays in the ledger as cancelled and is never issued again. There is no way back."""
        answer = await core.cancel(
            db,
            register,
            followers,
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
        "/{publicId}/renumber",
        dependencies=ISSUE_LIMIT,
        response_model=register.envelope,
        summary="Give it another number",
    )
    async def renumber(
        public_id: PathId,
        body: Cancellation,
        db: Db,
        numbers: Numbers,
        now: Now,
        address: Address,
        key: IdempotencyKey,
        caller: Caller = guarded("numbering.manage_formats"),
    ) -> Response:
        """For project administrators: the next number by the format in force. The old one still finds the document."""
        answer = await core.renumber(
            db,
            numbers,
            register,
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
        "/{publicId}/withdraw-revision",
        response_model=register.envelope,
        summary="Withdraw the draft of the next revision",
    )
    async def withdraw_revision(
        public_id: PathId,
        body: Cancellation,
        db: Db,
        now: Now,
        address: Address,
        key: IdempotencyKey,
        caller: Caller = guarded(register.kind.edit),
    ) -> Response:
        """The document stands at the revision before it again; the label may be printed on a later revision."""
        answer = await core.withdraw_revision(
            db,
            register,
            caller=caller,
            public_id=public_id,
            reason=body.reason,
            now=now.now(),
            zone=now.zone,
            address=address,
            key=key,
        )
        return to_response(answer)
