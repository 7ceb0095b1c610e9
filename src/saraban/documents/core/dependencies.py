"""What the endpoints of every kind share: query parameters, headers, and the answers with their ETag."""

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
        description="`ETag` of the document as it was read. It stands for the whole document, and is not the workflow's "
        "`versionNo`, which is what a transition takes.",
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
    Show the document of a receipt as it stands now, after the commit.

    :param located: with its address, as for what is new
    :param created: the document itself is new, and is shown to who wrote it without a right to read
    :param stated: what the request states, whose warnings are shown
    """
    async with read_after_commit(db) as session:
        answer = await show(ctx, session, kind, receipt, created=created)
        if stated is not None:
            doubts = await kind.warnings(ctx, session, stated, receipt.public_id)
            answer.warnings = [WarningOut.of(one, ctx.language) for one in doubts]
    headers = {"Location": f"/api/v1/{kind.rules.path}/{receipt.public_id}"} if located else {}
    return respond(answer, status=status, receipt=receipt, headers={**headers, "ETag": etag(answer)})


def page_of(page: CountedPage[Any]) -> Response:
    items = [item.model_dump(mode="json", by_alias=True) for item in page.items]
    return OrjsonResponse({"items": items, "nextCursor": page.next_cursor, "approximateCount": page.count})
