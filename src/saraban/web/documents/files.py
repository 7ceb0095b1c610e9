"""Files as links on pages: the way there renews the session, then the API's own guarded address answers."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import CurrentCaller
from saraban.web.shell.session_renewal import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

CONTENT = "/api/v1/attachments/{public_id}/content"


@router.get("/files/{public_id}")
async def file(public_id: UUID, _caller: CurrentCaller, inline: Annotated[str, Query(max_length=5)] = "") -> Response:
    """Leads to the file; whether the caller may read it is decided there."""
    address = CONTENT.format(public_id=public_id)
    return RedirectResponse(f"{address}?inline=true" if inline == "1" else address, status_code=307)
