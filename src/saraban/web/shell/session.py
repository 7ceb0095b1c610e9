"""Log-in, log-out, renewal and the choice of language."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from saraban.identity import service as identity
from saraban.identity.dependencies import (
    ACCESS_COOKIE,
    REFRESH_COOKIE,
    CurrentCaller,
    Throttle,
    Tokens,
    refuse_cross_site,
)
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import LogInThrottled, NotSignedIn, PasswordsBusy, WrongCredentials
from saraban.kit.errors import DomainError
from saraban.kit.http import Address, Db, Now
from saraban.kit.problem import status_of, to_problem
from saraban.kit.trace import trace_id
from saraban.web.shell import language as languages
from saraban.web.shell.page import PROJECT_COOKIE, PageModel, remember_language, render, set_retry_after
from saraban.web.shell.session_renewal import PageRoute, delete_session_cookies, device_of, set_session_cookies

router = APIRouter(include_in_schema=False)
guarded = APIRouter(include_in_schema=False, route_class=PageRoute)

HOME = "/inbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInPage(PageModel):
    template: ClassVar[str] = "shell/login.html"

    next: str
    username: str
    done: str
    problem: Mapping[str, Any] | None
    locked_for: int
    shows_demo: bool


def inside(address: str) -> str:
    """Return an address of our own pages, whatever was sent: nobody is led elsewhere after logging in."""
    parts = urlsplit(address)
    ours = (
        address.startswith("/") and not address.startswith(("//", "/\\")) and not parts.netloc and address.isprintable()
    )
    return address if ours and parts.path not in {"/login", "/logout", "/language"} else HOME


@router.get("/login")
async def login_page(
    request: Request,
    tokens: Tokens,
    next: Annotated[str, Query(max_length=2000)] = HOME,
    username: Annotated[str, Query(max_length=50)] = "",
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """The form; whoever is signed in already goes on."""
    try:
        tokens.subject(request.cookies.get(ACCESS_COOKIE, ""))
    except NotSignedIn:
        return _form(request, next=inside(next), username=username, done=done)
    return RedirectResponse(inside(next), status_code=303)


@router.post("/login")
async def log_in(
    request: Request,
    db: Db,
    tokens: Tokens,
    throttle: Throttle,
    address: Address,
    clock: Now,
    username: Annotated[str, Form(max_length=50)] = "",
    password: Annotated[str, Form(max_length=128)] = "",
    next: Annotated[str, Form(max_length=2000)] = HOME,
) -> Response:
    """Opens a session in two HttpOnly cookies."""
    refuse_cross_site(request)
    try:
        opened = await identity.log_in(
            db, issuer=tokens, throttle=throttle, username=username, password=password, device=device_of(request)
        )
    except (WrongCredentials, LogInThrottled, PasswordsBusy) as error:
        return _form(request, next=inside(next), username=username, error=error)
    request.state.opened = opened
    response = RedirectResponse(inside(next), status_code=303)
    set_session_cookies(request, response)
    async with db.reading() as session:
        caller = await identity.load_caller(session, public_id=opened.public_id)
        ctx = RequestContext(caller, clock.now(), clock.zone, address)
        chosen = await identity.chosen_language(ctx, session)
    if chosen:
        remember_language(response, chosen)
    return response


@router.post("/logout")
async def log_out(request: Request, db: Db, address: Address, clock: Now) -> Response:
    """Ends the session on this device; doing it twice is no error."""
    refuse_cross_site(request)
    token = request.cookies.get(REFRESH_COOKIE)
    if token:
        await db.transact(
            lambda session: identity.log_out(session, refresh_token=token, address=address, now=clock.now())
        )
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@router.post("/language")
async def choose_language(
    request: Request,
    db: Db,
    tokens: Tokens,
    address: Address,
    clock: Now,
    lang: Annotated[str, Form(pattern="^(th|en)$")],
    next: Annotated[str, Form(max_length=2000)] = "/login",
) -> Response:
    """Switches the language here, and remembers it with the account of whoever is signed in."""
    refuse_cross_site(request)
    target = next if next == "/login" else inside(next)
    response = RedirectResponse(target, status_code=303)
    remember_language(response, lang)
    try:
        subject = tokens.subject(request.cookies.get(ACCESS_COOKIE, ""))
        async with db.reading() as session:
            caller = await identity.load_caller(session, public_id=subject)
    except NotSignedIn:
        return response
    ctx = RequestContext(caller, clock.now(), clock.zone, address)
    await db.transact(lambda session: identity.choose_language(ctx, session, language=lang))
    return response


@guarded.post("/project")
async def choose_project(
    _caller: CurrentCaller,
    project: Annotated[str, Form(max_length=40)] = "",
    next: Annotated[str, Form(max_length=2000)] = HOME,
) -> Response:
    """Limits registers and new documents to one project; whether the caller takes part in it is asked there."""
    response = RedirectResponse(inside(next), status_code=303)
    if project:
        response.set_cookie(PROJECT_COOKIE, project, max_age=30 * 86400, path="/", httponly=True, samesite="lax")
    else:
        response.delete_cookie(PROJECT_COOKIE, path="/")
    return response


@guarded.post("/session/renewal", status_code=204)
async def renew(_caller: CurrentCaller) -> Response:
    """Scripts call it before they try an upload again: coming here renews the cookies."""
    return Response(status_code=204)


@guarded.get("/")
async def home(_caller: CurrentCaller) -> Response:
    """The day begins with what waits."""
    return RedirectResponse(HOME, status_code=303)


def _form(
    request: Request, *, next: str, username: str = "", done: str = "", error: DomainError | None = None
) -> HTMLResponse:
    problem = to_problem(error, language=languages.of(request), trace_id=trace_id()) if error else None
    settings = request.app.state.settings
    response = render(
        request,
        LogInPage(
            next=next,
            username=username,
            done=done,
            problem=problem,
            locked_for=max(1, round(error.retry_after)) if error and error.retry_after else 0,
            shows_demo=settings.env != "production",
        ),
        status=status_of(error) if error else 200,
    )
    set_retry_after(response, error)
    return response
