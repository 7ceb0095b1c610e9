"""Where a person is signed in, and the buttons that end a session."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import Context
from saraban.identity.schemas import SessionOut
from saraban.identity.service import people
from saraban.kit.errors import NotFound
from saraban.kit.http import Db, ReadSession
from saraban.web.shell.forms import Shown
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute, delete_session_cookies

router = APIRouter(include_in_schema=False, route_class=PageRoute)

HOME = "/account/sessions"


class SessionsPage(PageModel, template="people/sessions.html"):
    sessions: Sequence[SessionOut]


@router.get(HOME)
async def show(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    sessions = await people.open_sessions(page.context, session, page.caller.public_id)
    return page.show(SessionsPage(sessions=sessions or (), state=state))


@router.post(f"{HOME}/{{which}}/end")
async def end(which: Literal["others", "all"] | UUID, ctx: Context, db: Db) -> Response:
    if isinstance(which, UUID):
        with suppress(NotFound):  # it has ended meanwhile
            await db.transact(people.end_own_session, ctx, which)
    else:
        await db.transact(people.end_own_sessions, ctx, keep_current=which == "others")
    if which != "all":
        return RedirectResponse(f"{HOME}?done={'others' if which == 'others' else 'one'}", status_code=303)
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    return response
