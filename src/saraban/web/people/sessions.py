"""Where a person is signed in, and the buttons that end a session."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, ClassVar

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import Context
from saraban.identity.schemas import SessionOut
from saraban.identity.service import people
from saraban.kit.errors import NotFound
from saraban.kit.http import Db, PathId, ReadSession
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


@router.post(f"{HOME}/end-others")
async def end_others(ctx: Context, db: Db) -> Response:
    await db.transact(lambda session: people.end_own_sessions(ctx, session, keep_current=True))
    return RedirectResponse(f"{HOME}?done=others", status_code=303)


@router.post(f"{HOME}/end-all")
async def end_all(ctx: Context, db: Db) -> Response:
    await db.transact(lambda session: people.end_own_sessions(ctx, session, keep_current=False))
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    return response


@router.post(f"{HOME}/{{publicId}}/end")
async def end(public_id: PathId, ctx: Context, db: Db) -> Response:
    with suppress(NotFound):  # it has ended meanwhile
        await db.transact(lambda session: people.end_own_session(ctx, session, public_id))
    return RedirectResponse(f"{HOME}?done=ended", status_code=303)
