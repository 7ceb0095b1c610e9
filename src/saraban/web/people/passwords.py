"""Choosing a password: by the link of an invitation, or one's own in place of the present one."""

from dataclasses import dataclass
from typing import Annotated, ClassVar
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from saraban.identity import service as identity
from saraban.identity.dependencies import REFRESH_COOKIE, Attempts, refuse_cross_site
from saraban.identity.service import InvitationEnded
from saraban.kit.errors import DomainError, invalid
from saraban.kit.http import Address, Db, Now
from saraban.web.shell import language as languages
from saraban.web.shell.forms import form_errors, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, render, set_retry_after
from saraban.web.shell.session_renewal import PageRoute, delete_session_cookies

router = APIRouter(include_in_schema=False)
guarded = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/account")

OWN = "/account/password"

Token = Annotated[str, Path(max_length=200)]
Typed = Annotated[str, Form(max_length=1000)]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationPage(PageModel):
    template: ClassVar[str] = "people/invitation.html"

    person: identity.Invitation | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage(PageModel):
    template: ClassVar[str] = "people/password.html"

    done: str


@router.get("/invitations/{token}")
async def invitation(request: Request, token: Token, db: Db, clock: Now) -> Response:
    """The form for a first password; works without being signed in."""
    return await _invited(request, token, db, clock)


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
    """Sets the password and goes on to the log-in; whoever was signed in here before is not any more."""
    refuse_cross_site(request)
    try:
        _require_same(password, repeat)
        username = await identity.accept_invitation(
            db, limiter=attempts, token=token, password=password, address=address, now=clock.now()
        )
    except DomainError as error:
        if has_own_page(error):
            raise
        return await _invited(request, token, db, clock, error)
    response = RedirectResponse(f"/login?{urlencode({'username': username, 'done': 'password'})}", status_code=303)
    delete_session_cookies(response)
    return response


@guarded.get("/password")
async def own(page: CurrentPage, done: Annotated[str, Query(max_length=20)] = "") -> Response:
    """The form for another password."""
    return _own(page, done=done)


@guarded.post("/password")
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
    """Replaces the own password; the session of this browser goes on, the others end."""
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
        return _own(page, error=error)
    return RedirectResponse(f"{OWN}?done=changed", status_code=303)


def _require_same(password: str, repeat: str) -> None:
    if password != repeat:
        raise invalid("/repeat", "differs", "รหัสผ่านสองช่องไม่ตรงกัน", "The two passwords do not match.")


async def _invited(request: Request, token: str, db: Db, clock: Now, error: DomainError | None = None) -> Response:
    person = None
    try:
        async with db.reading() as session:
            person = await identity.read_invitation(session, token=token, now=clock.now())
    except InvitationEnded as ended:
        error = error or ended
    language = languages.of(request)
    response = render(request, InvitationPage(person=person, faults=form_errors(error, language)))
    set_retry_after(response, error)
    return response


def _own(page: PageRequest, *, done: str = "", error: DomainError | None = None) -> Response:
    faults = form_errors(error, page.language)
    response = page.show(PasswordPage(done=done, faults=faults))
    set_retry_after(response, error)
    return response
