"""Where a person is signed in, and the buttons that end a session."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import Context
from saraban.identity.schemas import SessionOut
from saraban.identity.service import people
from saraban.kit.errors import NotFound
from saraban.kit.http import Db, ReadSession
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute, delete_session_cookies

router = APIRouter(include_in_schema=False, route_class=PageRoute)

HOME = "/account/sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsPage(PageModel):
    template: ClassVar[str] = "people/sessions.html"

    sessions: Sequence[SessionOut]
    done: str


@router.get(HOME)
async def show(page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=10)] = "") -> Response:
    sessions = await people.open_sessions(page.context, session, page.caller.public_id)
    return page.show(SessionsPage(sessions=sessions or (), done=done))


@router.post(f"{HOME}/{{which}}/end")
async def end(which: Literal["others", "all"] | UUID, ctx: Context, db: Db) -> Response:
    if isinstance(which, UUID):
        with suppress(NotFound):  # it has ended meanwhile
            await db.transact(lambda session: people.end_own_session(ctx, session, which))
    else:
        await db.transact(lambda session: people.end_own_sessions(ctx, session, keep_current=which == "others"))
    if which != "all":
        return RedirectResponse(f"{HOME}?done={'others' if which == 'others' else 'one'}", status_code=303)
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    return response
