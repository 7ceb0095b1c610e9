"""
Log-in, passwords, language and project; keeps visitors signed in.

An expired access token is renewed before the endpoint, and every response sends the new cookies. Only pages read the
refresh cookie; the API accepts the access cookie alone.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from fastapi import APIRouter, Form, Path, Query, Request
from fastapi.routing import APIRoute
from starlette.responses import HTMLResponse, RedirectResponse, Response

from saraban.identity import service as identity
from saraban.identity.dependencies import (
    ACCESS_COOKIE,
    DEVICE_COOKIE,
    REFRESH_COOKIE,
    Attempts,
    Context,
    CurrentCaller,
    IdentityWiring,
    Throttle,
    Tokens,
    count_refresh,
    current_caller,
    log_in_throttle,
    refuse_cross_site,
    request_context,
    token_issuer,
)
from saraban.identity.domain.context import RequestContext
from saraban.identity.schemas import SessionOut
from saraban.identity.service import (
    DEVICE_COOKIE_LIFE,
    Device,
    InvitationEnded,
    LogInThrottled,
    NotSignedIn,
    OpenedSession,
    PasswordsBusy,
    SessionEnded,
    WrongCredentials,
    people,
)
from saraban.kit.addresses import split_url
from saraban.kit.errors import DomainError, NotFound, invalid
from saraban.kit.http import Address, Db, Now, ReadSession, client_address, wiring
from saraban.kit.ids import trace_id
from saraban.kit.problem import status_of, to_problem
from saraban.projects import service as projects
from saraban.web.shell.form_state import FormState
from saraban.web.shell.forms import FormRefused, Shown, has_own_page
from saraban.web.shell.page import (
    PROJECT_COOKIE,
    CurrentPage,
    PageModel,
    language_of,
    remember_language,
    remember_project,
    render,
    set_retry_after,
)

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route that renews an expired access token."""

    names_document_types: ClassVar[bool] = True

    def get_route_handler(self) -> Handler:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                response = await answer(await _renew_session(request))
            except FormRefused as refused:
                response = refused.answer
            set_session_cookies(request, response)
            return response

        return handle


class ListRoute(PageRoute):
    """A route without documents, so the names of document types are not read."""

    names_document_types = False


async def _renew_session(request: Request) -> Request:
    refresh_token = request.cookies.get(REFRESH_COOKIE)
    if not refresh_token or "authorization" in request.headers or await _is_signed_in(request):
        return request
    refuse_cross_site(request)
    await count_refresh(request, refresh_token)
    wired = wiring(request, IdentityWiring)
    try:
        opened = await identity.refresh(
            wired.db,
            issuer=wired.tokens,
            refresh_token=refresh_token,
            device=device_of(request),
        )
    except SessionEnded:
        return request
    request.state.opened = opened
    _replace_cookie(request, opened)
    return Request(request.scope, request.receive)


async def _is_signed_in(request: Request) -> bool:
    try:
        await current_caller(request)  # cached for the request
    except NotSignedIn:
        return False
    return True


def _replace_cookie(request: Request, opened: OpenedSession) -> None:
    """The endpoint reads the caller from the cookie header, so put the new token there."""
    jar = dict(request.cookies) | {ACCESS_COOKIE: opened.access_token}
    crumbs = "; ".join(f"{name}={value}" for name, value in jar.items())
    others = [(name, value) for name, value in request.scope["headers"] if name != b"cookie"]
    request.scope["headers"] = [*others, (b"cookie", crumbs.encode("latin-1", "replace"))]


def device_of(request: Request) -> Device:
    cookie = request.cookies.get(DEVICE_COOKIE, "")
    return Device(client_address(request), request.headers.get("user-agent", ""), cookie)


def set_session_cookies(request: Request, response: Response) -> None:
    """Set the cookies of a session opened or renewed by this request."""
    opened: OpenedSession | None = getattr(request.state, "opened", None)
    if opened is None:
        return
    life = wiring(request, IdentityWiring).tokens.refresh_life
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
    """Delete the session's cookies, but not the throttle's device cookie."""
    for name in (ACCESS_COOKIE, REFRESH_COOKIE):
        response.delete_cookie(name, path="/", httponly=True, samesite="lax")


router = APIRouter(include_in_schema=False)
guarded = APIRouter(include_in_schema=False, route_class=PageRoute)

HOME = "/inbox"


@dataclass(frozen=True, kw_only=True)
class SessionWiring(IdentityWiring):
    allows_demo: bool


class LogInPage(PageModel, template="shell/login.html"):
    next: str
    username: str
    problem: Mapping[str, object] | None
    locked_for: int
    shows_demo: bool
    mails_links: bool
    is_reset: bool


def inside(address: str) -> str:
    """Return the address if it is a page of ours, else the home page: no open redirects."""
    parts = split_url(address)
    if parts is None or parts.netloc or not address.startswith("/") or address.startswith(("//", "/\\")):
        return HOME
    return address if address.isprintable() and parts.path not in {"/login", "/logout", "/language"} else HOME


@router.get("/login")
async def login_page(
    request: Request,
    next: Annotated[str, Query(max_length=2000)] = HOME,
    username: Annotated[str, Query(max_length=50)] = "",
) -> Response:
    if await _is_signed_in(request):
        return RedirectResponse(inside(next), status_code=303)
    return _form(request, next=inside(next), username=username)


@router.post("/login")
async def log_in(
    request: Request,
    db: Db,
    tokens: Tokens,
    throttle: Throttle,
    clock: Now,
    username: Annotated[str, Form(max_length=50)] = "",
    password: Annotated[str, Form(max_length=128)] = "",
    next: Annotated[str, Form(max_length=2000)] = HOME,
) -> Response:
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
        ctx = RequestContext(caller, clock.now(), clock.zone, client_address(request))
        chosen = await identity.chosen_language(ctx, session)
        project = await identity.chosen_project(ctx, session)
    if chosen:
        remember_language(response, chosen)
    if project:
        remember_project(response, str(project))
    else:
        response.delete_cookie(PROJECT_COOKIE, path="/")
    return response


@router.post("/forgot-password")
async def forgot_password(
    request: Request,
    db: Db,
    attempts: Attempts,
    throttle: Throttle,
    clock: Now,
    identifier: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Mail a link. The response is the same whether or not the account exists."""
    refuse_cross_site(request)
    if wiring(request, IdentityWiring).links.are_mailed:
        await identity.request_reset(
            db,
            limiter=attempts,
            identifier=identifier,
            now=clock.now(),
            address=client_address(request),
            least_seconds=throttle.rules.least,
        )
    return _form(request, next=HOME, is_reset=True)


@router.post("/logout")
async def log_out(request: Request, db: Db, address: Address, clock: Now) -> Response:
    refuse_cross_site(request)
    token = request.cookies.get(REFRESH_COOKIE)
    if token:
        await db.transact(identity.log_out, token, address=address, now=clock.now())
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    response.headers["Clear-Site-Data"] = '"cache"'
    return response


@router.post("/language")
async def choose_language(
    request: Request,
    db: Db,
    lang: Annotated[str, Form(pattern="^(th|en)$")],
    next: Annotated[str, Form(max_length=2000)] = "/login",
) -> Response:
    """Set the language cookie, and store it with the account of a signed-in caller."""
    refuse_cross_site(request)
    target = next if next == "/login" else inside(next)
    response = RedirectResponse(target, status_code=303)
    remember_language(response, lang)
    try:
        ctx = await request_context(request)
    except NotSignedIn:
        return response
    await db.transact(identity.choose_language, ctx, language=lang)
    return response


@guarded.post("/project")
async def choose_project(
    ctx: Context,
    db: Db,
    project: Annotated[UUID, Form()],
    next: Annotated[str, Form(max_length=2000)] = HOME,
) -> Response:
    """
    Store the current project with the account, for other devices too.
    :raises NotFound: for a project that the caller may not see
    """
    async with db.reading() as session:
        await projects.read_project(ctx, session, public_id=project)
    await db.transact(identity.choose_project, ctx, project=project)
    response = RedirectResponse(inside(next), status_code=303)
    remember_project(response, str(project))
    return response


@guarded.post("/session/renewal", status_code=204)
async def renew(_caller: CurrentCaller) -> Response:
    """Scripts call this before they repeat an upload: the route renews the cookies."""
    return Response(status_code=204)


@guarded.get("/")
async def home(_caller: CurrentCaller) -> Response:
    return RedirectResponse(HOME, status_code=303)


def _form(
    request: Request, *, next: str, username: str = "", error: DomainError | None = None, is_reset: bool = False
) -> HTMLResponse:
    problem = to_problem(error, language=language_of(request), trace_id=trace_id()) if error else None
    wired = wiring(request, SessionWiring)
    response = render(
        request,
        LogInPage(
            next=next,
            username=username,
            problem=problem,
            locked_for=max(1, round(error.retry_after)) if error and error.retry_after else 0,
            shows_demo=wired.allows_demo,
            mails_links=wired.links.are_mailed,
            is_reset=is_reset,
        ),
        status=status_of(error) if error else 200,
    )
    set_retry_after(response, error)
    return response


ACCOUNT_PAGE = "/account/password"

Token = Annotated[str, Path(max_length=200)]
Typed = Annotated[str, Form(max_length=1000)]


class InvitationPage(PageModel, template="people/invitation.html"):
    person: identity.Invitation | None


class PasswordPage(PageModel, template="people/password.html"):
    pass


@router.get("/invitations/{token}")
async def invitation(request: Request, token: Token, db: Db, clock: Now) -> Response:
    return await _show_invitation(request, token, db, clock)


@router.post("/invitations/{token}")
async def accept(
    request: Request,
    token: Token,
    db: Db,
    attempts: Attempts,
    address: Address,
    clock: Now,
    password: Typed = "",
    repeat: Typed = "",
) -> Response:
    """Set the password and sign in, replacing the browser's earlier session."""
    refuse_cross_site(request)
    try:
        _require_same(password, repeat)
        username = await identity.accept_invitation(
            db, limiter=attempts, token=token, password=password, address=address, now=clock.now()
        )
    except DomainError as error:
        if has_own_page(error):
            raise
        return await _show_invitation(request, token, db, clock, error)
    response = await log_in(request, db, token_issuer(request), log_in_throttle(request), clock, username, password)
    if getattr(request.state, "opened", None) is None:  # the log-in failed, such as for a busy server
        delete_session_cookies(response)
    return response


@guarded.get("/account/password")
async def own(page: CurrentPage, state: Shown) -> Response:
    return page.show(PasswordPage(state=state))


@guarded.post("/account/password")
async def change(
    page: CurrentPage,
    request: Request,
    db: Db,
    attempts: Attempts,
    clock: Now,
    current: Typed = "",
    password: Typed = "",
    repeat: Typed = "",
) -> Response:
    """Change the caller's password; all other sessions end."""
    try:
        _require_same(password, repeat)
        await identity.change_password(
            page.context,
            db,
            limiter=attempts,
            current=current,
            new=password,
            refresh_token=request.cookies.get(REFRESH_COOKIE, ""),
            clock=clock,
        )
    except DomainError as error:
        if has_own_page(error):
            raise
        return page.show(PasswordPage(state=FormState(error=error)))
    return RedirectResponse(f"{ACCOUNT_PAGE}?done=changed", status_code=303)


def _require_same(password: str, repeat: str) -> None:
    if password != repeat:
        raise invalid("/repeat", "differs", "รหัสผ่านสองช่องไม่ตรงกัน", "The two passwords do not match.")


async def _show_invitation(
    request: Request, token: str, db: Db, clock: Now, error: DomainError | None = None
) -> Response:
    person = None
    try:
        async with db.reading() as session:
            person = await identity.read_invitation(session, token=token, now=clock.now())
    except InvitationEnded as ended:
        error = error or ended
    return render(request, InvitationPage(person=person, state=FormState(error=error)))


SESSIONS = "/account/sessions"


class SessionsPage(PageModel, template="people/sessions.html"):
    sessions: Sequence[SessionOut]


@guarded.get(SESSIONS)
async def list_sessions(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    sessions = await people.open_sessions(page.context, session, page.caller.public_id)
    return page.show(SessionsPage(sessions=sessions or (), state=state))


@guarded.post(f"{SESSIONS}/{{which}}/end")
async def end_session(which: Literal["others", "all"] | UUID, ctx: Context, db: Db) -> Response:
    if isinstance(which, UUID):
        with suppress(NotFound):  # the session has ended meanwhile
            await db.transact(people.end_own_session, ctx, which)
    else:
        await db.transact(people.end_own_sessions, ctx, keep_current=which == "others")
    if which != "all":
        return RedirectResponse(f"{SESSIONS}?done={'others' if which == 'others' else 'one'}", status_code=303)
    response = RedirectResponse("/login", status_code=303)
    delete_session_cookies(response)
    return response
