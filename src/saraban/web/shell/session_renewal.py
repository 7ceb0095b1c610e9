"""
Keeps a visitor signed in: an access token that has run out is renewed on the way in, and the new cookies go out with the
answer, whatever it is.

Only pages read the refresh cookie; the API takes the access cookie alone.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from saraban.identity import service as identity
from saraban.identity.dependencies import ACCESS_COOKIE, DEVICE_COOKIE, REFRESH_COOKIE, refuse_cross_site
from saraban.identity.service import DEVICE_COOKIE_LIFE, Device, NotSignedIn, OpenedSession, SessionEnded
from saraban.kit.http import client_address

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose visitor need not notice that tokens are short-lived."""

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = await answer(await _with_renewed_session(request))
            set_session_cookies(request, response)
            return response

        return handle


async def _with_renewed_session(request: Request) -> Request:
    refresh_token = request.cookies.get(REFRESH_COOKIE)
    if not refresh_token or "authorization" in request.headers or _is_signed_in(request):
        return request
    refuse_cross_site(request)
    try:
        opened = await identity.refresh(
            request.app.state.db,
            issuer=request.app.state.tokens,
            refresh_token=refresh_token,
            device=device_of(request),
        )
    except SessionEnded:
        return request
    request.state.opened = opened
    _replace_cookie(request, opened)
    return Request(request.scope, request.receive)


def _is_signed_in(request: Request) -> bool:
    try:
        request.app.state.tokens.subject(request.cookies.get(ACCESS_COOKIE, ""))
    except NotSignedIn:
        return False
    return True


def _replace_cookie(request: Request, opened: OpenedSession) -> None:
    """The endpoint reads its caller from the cookie header, so the new token is put there."""
    jar = dict(request.cookies) | {ACCESS_COOKIE: opened.access_token}
    crumbs = "; ".join(f"{name}={value}" for name, value in jar.items())
    others = [(name, value) for name, value in request.scope["headers"] if name != b"cookie"]
    request.scope["headers"] = [*others, (b"cookie", crumbs.encode("latin-1", "replace"))]


def device_of(request: Request) -> Device:
    cookie = request.cookies.get(DEVICE_COOKIE, "")
    return Device(client_address(request), request.headers.get("user-agent", ""), cookie)


def set_session_cookies(request: Request, response: Response) -> None:
    """Send the cookies of a session that was opened or renewed during this request."""
    opened: OpenedSession | None = getattr(request.state, "opened", None)
    if opened is None:
        return
    life = request.app.state.tokens.refresh_life
    secure = request.url.scheme == "https"
    for name, value, seconds in (
        (ACCESS_COOKIE, opened.access_token, opened.expires_in),
        (REFRESH_COOKIE, opened.refresh_token, int(life.total_seconds())),
        (DEVICE_COOKIE, opened.device_cookie, int(DEVICE_COOKIE_LIFE.total_seconds())),
    ):
        if not value:
            continue
        response.set_cookie(name, value, max_age=seconds, path="/", httponly=True, secure=secure, samesite="lax")


def delete_session_cookies(response: Response) -> None:
    """Take the session's cookies away; the browser stays known to the throttle."""
    for name in (ACCESS_COOKIE, REFRESH_COOKIE):
        response.delete_cookie(name, path="/", httponly=True, samesite="lax")
