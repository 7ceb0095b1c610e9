"""`/document-numbering/logs/errors`: what numbering refused and where it failed, for operators."""

from typing import Annotated

from fastapi import APIRouter, Query

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import PageCursor, PageLimit, ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.dependencies import READ_LIMIT, RecordedRoute
from saraban.numbering.schemas import ErrorType, NumberErrorOut, NumberErrorsOut

router = APIRouter(route_class=RecordedRoute)


@router.get("/logs/errors", dependencies=READ_LIMIT, summary="List what numbering refused")
async def list_errors(
    session: ReadSession,
    caller: CurrentCaller,
    error_type: Annotated[ErrorType | None, Query(alias="errorType")] = None,
    username: Annotated[str | None, Query(max_length=50, description="Only calls of this account.")] = None,
    trace_id: Annotated[
        str | None, Query(alias="traceId", pattern="^[0-9a-f]{32}$", description="Only the call that answered with it.")
    ] = None,
    limit: PageLimit = 50,
    cursor: PageCursor = None,
) -> NumberErrorsOut:
    """Newest first, of every project; rows are kept for `SARABAN_NUMBER_ERROR_DAYS`."""
    page = await numbering.list_errors(
        session, caller=caller, kind=error_type, username=username, trace=trace_id, cursor=cursor, limit=limit
    )
    return NumberErrorsOut(items=[_error(row) for row in page.items], next_cursor=page.next_cursor)


def _error(row: numbering.NumberErrorRow) -> NumberErrorOut:
    kept = row.error
    return NumberErrorOut.model_validate(
        {
            "public_id": kept.public_id,
            "error_type": kept.error_type,
            "message": kept.error_message,
            "context": kept.context_data or {},
            "username": row.username,
            "address": kept.ip_address,
            "trace_id": kept.trace_id,
            "created_at": kept.created_at,
        }
    )
