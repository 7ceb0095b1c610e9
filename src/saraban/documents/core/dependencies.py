"""Shared parameters and responses of document endpoints."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from starlette.responses import Response

from saraban.documents.core.service import AnyKind, CountedPage, DocumentServices, etag, show
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.http import OrjsonResponse, Wiring, async_dependency, read_after_commit, respond, wiring
from saraban.kit.operation import Receipt
from saraban.kit.schema import Schema, WarningOut
from saraban.workflow.runtime.schemas import WorkflowEnvelope

IfMatch = Annotated[
    str | None,
    Header(
        max_length=200,
        description="`ETag` of the document that you read. It covers the whole document; it is not the workflow's "
        "`versionNo`, which transitions take.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class DocumentWiring(Wiring):
    documents: DocumentServices


def document_services(request: Request) -> DocumentServices:
    return wiring(request, DocumentWiring).documents


Documents = Annotated[DocumentServices, Depends(async_dependency(document_services))]


def document(answer: WorkflowEnvelope[Any]) -> Response:
    return respond(answer, headers={"ETag": etag(answer)})


async def present(
    ctx: RequestContext,
    db: Database,
    kind: AnyKind,
    receipt: Receipt,
    *,
    status: int = 200,
    located: bool = False,
    created: bool = False,
    stated: Schema | None = None,
) -> Response:
    """
    Respond with the document of a receipt, read after the commit.

    :param located: add the `Location` header
    :param created: its author sees the new document even without the right to read
    :param stated: request body, for its warnings
    """
    async with read_after_commit(db) as session:
        answer = await show(ctx, session, kind, receipt, created=created)
        if stated is not None:
            warnings = await kind.warnings(ctx, session, stated, receipt.public_id)
            answer.warnings = [WarningOut.of(warning, ctx.language) for warning in warnings]
    headers = {"Location": f"/api/v1/{kind.rules.path}/{receipt.public_id}"} if located else {}
    return respond(answer, status=status, receipt=receipt, headers={**headers, "ETag": etag(answer)})


def page_of(page: CountedPage[Any]) -> Response:
    items = [item.model_dump(mode="json", by_alias=True) for item in page.items]
    return OrjsonResponse({"items": items, "nextCursor": page.next_cursor, "approximateCount": page.count})
