"""The bell and the list behind it."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Db, Now, PageCursor, ReadSession
from saraban.notifications import service as notifications
from saraban.web.kinds import BY_NAME
from saraban.web.page import ThisPage
from saraban.web.visit import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
IN_BELL = 6


@router.get("/notifications")
async def listing(
    page: ThisPage, session: ReadSession, cursor: PageCursor = None, unread: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """Everything the reader was told, or only what is unread."""
    found = await notifications.listing(
        session,
        caller=page.caller,
        language=page.language,
        unread=True if unread == "1" else None,
        cursor=cursor,
        limit=ROWS,
    )
    template = "parts/notification_rows.html" if page.is_fragment and cursor else "notifications.html"
    return page.show(
        template, items=found.items, next_cursor=found.next_cursor, by_name=BY_NAME, only_unread=unread == "1"
    )


@router.get("/notifications/bell")
async def bell(page: ThisPage, session: ReadSession) -> Response:
    """The newest few, for the drop-down."""
    found = await notifications.listing(session, caller=page.caller, language=page.language, limit=IN_BELL)
    count = await notifications.unread_count(session, caller=page.caller)
    return page.show("parts/bell.html", items=found.items, count=count, by_name=BY_NAME)


@router.post("/notifications/read-all")
async def read_all(caller: CurrentCaller, db: Db, clock: Now) -> Response:
    now = clock.now()
    await db.transact(lambda session: notifications.read_all(session, caller=caller, now=now))
    return RedirectResponse("/notifications", status_code=303)


@router.post("/notifications/{public_id}/open")
async def open_one(
    public_id: UUID, caller: CurrentCaller, db: Db, to: Annotated[str, Form(max_length=200)] = "/notifications"
) -> Response:
    """Marks it read and goes to what it is about."""
    await db.transact(lambda session: notifications.read(session, caller=caller, public_id=public_id))
    kind, _, _ = to.removeprefix("/").partition("/")
    known = {web.path for web in BY_NAME.values()}
    return RedirectResponse(to if to.startswith("/") and kind in known else "/notifications", status_code=303)
