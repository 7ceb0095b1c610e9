"""Endpoints that every kind of documents has."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from saraban.documents.core import service as core
from saraban.documents.core.dependencies import Documents, IfMatch, document, page_of, present
from saraban.documents.core.schemas import Cancellation, HistoryEntry, NewRevision, RevisionDetail
from saraban.documents.core.service import AnyKind, RevisionedKind
from saraban.identity.dependencies import guarded, guarded_keyed
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import PathId, ReadSession, Received
from saraban.kit.operation import Receipt
from saraban.kit.schema import ShortList
from saraban.numbering.issue.dependencies import ISSUE_LIMIT
from saraban.workflow.runtime.schemas import WorkflowItem

READ = "document.view"


@dataclass(frozen=True, slots=True)
class RouteTexts:
    """Texts of a kind of documents in the OpenAPI document."""

    tag: str
    many: str
    one: str
    create: str
    created: str = "Issues the number and writes the draft in one transaction. The first TO is the main recipient."
    readers: str = (
        "Newest first. The originator sees drafts; recipients and parties of the contract also see issued documents."
    )
    cancel: str = "Cancel with a reason"


def document_routes(kind: AnyKind, *, texts: RouteTexts, read: str = READ) -> APIRouter:
    """:param read: the permission to read"""
    router = APIRouter(prefix=f"/{kind.rules.path}", tags=[texts.tag])
    _read_routes(router, kind, texts, read)
    _draft_routes(router, kind, texts)
    if isinstance(kind, RevisionedKind):
        _revision_routes(router, kind)
    _end_routes(router, kind, texts, read)
    return router


# The permission depends on the kind, which an annotation cannot contain: hence the defaults.


def _read_routes(router: APIRouter, kind: AnyKind, texts: RouteTexts, permission: str) -> None:
    @router.get(
        "", response_model=kind.register_page, summary=f"The register of {texts.many}", description=texts.readers
    )
    async def listing(
        session: ReadSession,
        search: Annotated[Any, Depends(Received("search", Annotated[kind.search, Query()]))],
        ctx: RequestContext = guarded(permission),
    ) -> Response:
        return page_of(await core.listing(ctx, session, kind, search=search, counted=True))

    @router.get("/{publicId}", response_model=kind.envelope, summary=f"One {texts.one}")
    async def read(public_id: PathId, session: ReadSession, ctx: RequestContext = guarded(permission)) -> Response:
        """Returns 404 also for a document that the caller may not see."""
        answer = await core.read(ctx, session, kind, public_id)
        return document(answer)

    @router.get("/{publicId}/history", summary="Everything that happened, newest first")
    async def history(
        public_id: PathId, session: ReadSession, ctx: RequestContext = guarded(permission)
    ) -> ShortList[HistoryEntry]:
        return await core.history(ctx, session, kind, public_id)


def _draft_routes(router: APIRouter, kind: AnyKind, texts: RouteTexts) -> None:
    @router.post(
        "",
        dependencies=ISSUE_LIMIT,
        status_code=201,
        response_model=kind.envelope,
        summary=texts.create,
        description=texts.created,
    )
    async def create(
        body: Annotated[Any, Depends(Received("body", kind.new))],
        services: Documents,
        ctx: RequestContext = guarded_keyed(kind.rules.create),
    ) -> Response:
        receipt = await core.create(ctx, services, kind, body)
        return await present(ctx, services.db, kind, receipt, status=201, located=True, created=True, stated=body)

    @router.patch("/{publicId}", response_model=kind.envelope, summary="Change a draft")
    async def edit(
        public_id: PathId,
        body: Annotated[Any, Depends(Received("body", kind.changes))],
        services: Documents,
        if_match: IfMatch = None,
        ctx: RequestContext = guarded(kind.rules.edit),
    ) -> Response:
        """
        Changes a draft. Fields printed in its number cannot be changed. With `If-Match`, the change applies only to that version.
        """
        await core.edit(ctx, services, kind, public_id, body, if_match)
        receipt = Receipt(kind.rules.name, public_id)
        return await present(ctx, services.db, kind, receipt, stated=body)


def _revision_routes(router: APIRouter, kind: RevisionedKind) -> None:
    @router.get("/{publicId}/revisions", response_model=kind.revisions, summary="The revisions, newest first")
    async def revisions(
        public_id: PathId, session: ReadSession, ctx: RequestContext = guarded(READ)
    ) -> ShortList[WorkflowItem[RevisionDetail]]:
        return await core.list_revisions(ctx, session, kind, public_id)

    @router.post(
        "/{publicId}/revisions", status_code=201, response_model=kind.envelope, summary="Issue the next revision"
    )
    async def revise(
        public_id: PathId,
        body: NewRevision,
        services: Documents,
        ctx: RequestContext = guarded_keyed(kind.rules.create),
    ) -> Response:
        """
        Requires the final response to the current revision. The new revision is a draft; its number is printed with the next label.
        """
        receipt = await core.revise(ctx, services, kind, public_id, body)
        return await present(ctx, services.db, kind, receipt, status=201, located=True, stated=body)

    @router.post(
        "/{publicId}/withdraw-revision",
        response_model=kind.envelope,
        summary="Withdraw the draft of the next revision",
    )
    async def withdraw_revision(
        public_id: PathId,
        body: Cancellation,
        services: Documents,
        ctx: RequestContext = guarded_keyed(kind.rules.edit),
    ) -> Response:
        """The previous revision becomes current again. A later revision may reuse the label."""
        receipt = await core.withdraw_revision(ctx, services, kind, public_id, body.reason)
        return await present(ctx, services.db, kind, receipt)


def _end_routes(router: APIRouter, kind: AnyKind, texts: RouteTexts, permission: str) -> None:
    @router.post("/{publicId}/cancel", response_model=kind.envelope, summary=texts.cancel)
    async def cancel(
        public_id: PathId, body: Cancellation, services: Documents, ctx: RequestContext = guarded_keyed(permission)
    ) -> Response:
        """The number stays in the number register as cancelled and is never issued again. You cannot undo this."""
        receipt = await core.cancel(ctx, services, kind, public_id, body.reason)
        return await present(ctx, services.db, kind, receipt)

    @router.post(
        "/{publicId}/renumber",
        dependencies=ISSUE_LIMIT,
        response_model=kind.envelope,
        summary="Give it another number",
    )
    async def renumber(
        public_id: PathId,
        body: Cancellation,
        services: Documents,
        ctx: RequestContext = guarded_keyed(core.RENUMBERS),
    ) -> Response:
        """
        For project administrators. Issues the next number of the active format; the old number becomes void and still finds the
        document.
        """
        receipt = await core.renumber(ctx, services, kind, public_id, body.reason)
        return await present(ctx, services.db, kind, receipt)
