"""What the endpoints of every kind share: query parameters, headers, and the answers with their ETag."""

from dataclasses import replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, Header, Query, Request
from starlette.responses import Response

from saraban.documents.core.service import AnyKind, DocumentSearch, DocumentServices, etag, show
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import Invalid, invalid
from saraban.kit.http import OrjsonResponse, async_dependency, read_after_commit, respond
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page
from saraban.kit.schema import Day
from saraban.kit.text import control_character
from saraban.workflow.runtime.schemas import WorkflowEnvelope

IfMatch = Annotated[
    str | None,
    Header(
        max_length=200,
        description="`ETag` of the document as it was read. It stands for the whole document, and is not the workflow's "
        "`versionNo`, which is what a transition takes.",
    ),
]


def document_services(request: Request) -> DocumentServices:
    return request.app.state.documents  # type: ignore[no-any-return]


Documents = Annotated[DocumentServices, Depends(async_dependency(document_services))]


def search_text(
    q: Annotated[str | None, Query(max_length=200, description="Part of the number or the subject.")] = None,
) -> str | None:
    if q is not None and control_character(q) is not None:
        raise _unprintable("query:q")
    return q


SearchText = Annotated[str | None, Depends(async_dependency(search_text))]
DueBefore = Annotated[Day | None, Query(alias="dueBefore", description="Due before this day, finished or not.")]
Overdue = Annotated[bool, Query(description="Only what is not finished and was due before today.")]


def search_days(
    due_before: DueBefore = None,
    overdue: Overdue = False,
    created_from: Annotated[Day | None, Query(alias="createdFrom")] = None,
    created_to: Annotated[Day | None, Query(alias="createdTo")] = None,
) -> DocumentSearch:
    return DocumentSearch(due_before=due_before, overdue=overdue, created_from=created_from, created_to=created_to)


def search_documents(
    q: SearchText,
    days: Annotated[DocumentSearch, Depends(async_dependency(search_days))],
    project_public_id: Annotated[UUID | None, Query(alias="projectPublicId")] = None,
    correspondence_type_code: Annotated[str | None, Query(alias="correspondenceTypeCode", max_length=50)] = None,
    status: Annotated[str | None, Query(max_length=50, description="Workflow state.")] = None,
    originator: Annotated[UUID | None, Query(alias="originatorOrganizationPublicId")] = None,
    recipient: Annotated[UUID | None, Query(alias="recipientOrganizationPublicId")] = None,
    mine: Annotated[bool, Query(description="Only what I wrote.")] = False,
) -> DocumentSearch:
    return replace(
        days,
        project=project_public_id,
        type_code=correspondence_type_code,
        status=status,
        originator=originator,
        recipient=recipient,
        text=q,
        mine=mine,
    )


def _unprintable(pointer: str) -> Invalid:
    return invalid(
        pointer,
        "control_character",
        "มีอักขระควบคุมที่ใช้ไม่ได้",
        "There is a character that cannot be used.",
    )


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
) -> Response:
    """
    Show the document of a receipt as it stands now, after the commit.

    :param located: with its address, as for what is new
    :param created: the document itself is new, and is shown to who wrote it without a right to read
    """
    async with read_after_commit(db) as session:
        answer = await show(ctx, session, kind, receipt, created=created)
    headers = {"Location": f"/api/v1/{kind.rules.path}/{receipt.public_id}"} if located else {}
    return respond(answer, status=status, receipt=receipt, headers={**headers, "ETag": etag(answer)})


def page_of(page: Page[Any]) -> Response:
    items = [item.model_dump(mode="json", by_alias=True) for item in page.items]
    return OrjsonResponse({"items": items, "nextCursor": page.next_cursor})
