"""
The set-up page of an empty installation: first Super Admin, organization and project.

It needs the token that the server printed, and is closed once an account exists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import FileWiring
from saraban.documents.core.dependencies import DocumentWiring
from saraban.documents.demo.service import DemoServices
from saraban.documents.demo.service.loader import DemoLoader
from saraban.identity import service as identity
from saraban.identity.dependencies import Attempts, Throttle, Tokens, refuse_cross_site
from saraban.identity.service import SETUP_PATH, AlreadySetUp, FirstAdministrator
from saraban.kit.clock import Clock
from saraban.kit.errors import REQUIRED, DomainError, FieldProblem, Invalid
from saraban.kit.http import Address, Db, Now, wiring
from saraban.setup import service as setup
from saraban.setup.domain.master_rows import MasterCodeTaken
from saraban.setup.schemas.new_project import NewProjectIn
from saraban.web.projects.new_project import NO_PROJECT, order_of
from saraban.web.shell.form_state import EMPTY_FORM, FormState, FormValues
from saraban.web.shell.forms import has_own_page, read_form, text
from saraban.web.shell.page import NotSetUpPage, PageModel, render
from saraban.web.shell.session import HOME, SessionWiring, device_of, set_session_cookies
from saraban.workflow.runtime.dependencies import InstanceWiring

router = APIRouter(include_in_schema=False)

OF_ADDRESS: Final = 60
MINUTES: Final = 15
DEMO: Final = "demo"
_REQUIRED: Final = ("username", "email", "password", "organization", "organization-name")
_FIELDS: Final = {
    "username": "username",
    "email": "email",
    "organization": "organization_code",
    "organization-name": "organization_name",
    "organization-name-en": "organization_name_en",
    "firstName": "first_name",
    "lastName": "last_name",
}


@dataclass(frozen=True, kw_only=True)
class FirstRunWiring(SessionWiring, FileWiring, InstanceWiring, DocumentWiring):
    @property
    def demo(self) -> DemoLoader:
        services = DemoServices(
            self.documents, self.storage, self.uploads, self.subjects, self.transitions, self.clock.zone
        )
        return DemoLoader(self.clock, services)


class SetUpPage(PageModel, template="projects/set_up.html"):
    token: str
    previews: Sequence[setup.ProjectPreview]
    has_demo: bool


def token_in(typed: str) -> str:
    """Return the token, also from a pasted link."""
    return typed.strip().rpartition("token=")[2]


@router.get(SETUP_PATH)
async def show(
    request: Request,
    db: Db,
    attempts: Attempts,
    address: Address,
    clock: Now,
    token: Annotated[str, Query(max_length=500)] = "",
) -> Response:
    if await wiring(request, FirstRunWiring).first_run.is_over():
        return RedirectResponse("/login", status_code=303)
    if not token:
        return render(request, NotSetUpPage(), status=200)
    try:
        await identity.count_attempt(attempts, "setup", address, OF_ADDRESS, minutes=MINUTES)
        async with db.reading() as session:
            await identity.require_setup_token(session, token=token_in(token), now=clock.now())
    except DomainError as error:
        return _show_closed(request, error)
    return _form(request, token_in(token))


@router.post(SETUP_PATH)
async def set_up(
    request: Request,
    db: Db,
    attempts: Attempts,
    throttle: Throttle,
    tokens: Tokens,
    address: Address,
    clock: Now,
    form: Annotated[FormData, Depends(read_form)],
) -> Response:
    refuse_cross_site(request)
    token = token_in(text(form, "token") or "")
    try:
        await identity.count_attempt(attempts, "setup", address, OF_ADDRESS, minutes=MINUTES)
        async with db.reading() as session:
            await identity.require_setup_token(session, token=token, now=clock.now())
        first, order = _read(form)
        wired = wiring(request, FirstRunWiring)
        demo = wired.demo if wired.allows_demo and text(form, "start") == DEMO else None
        await db.transact(_set_up_project, first, order, demo, token=token, clock=clock, address=address)
    except (Invalid, MasterCodeTaken, setup.ProjectConflict) as error:
        return _form(request, token, form, error)
    except DomainError as error:
        if has_own_page(error):
            raise
        return _show_closed(request, error)
    if demo is not None:
        await demo.load_documents()
    request.state.opened = await identity.log_in(
        db,
        issuer=tokens,
        throttle=throttle,
        username=first.username,
        password=first.password,
        device=device_of(request),
    )
    response = RedirectResponse(HOME, status_code=303)
    set_session_cookies(request, response)
    return response


async def _set_up_project(
    first: FirstAdministrator,
    session: AsyncSession,
    order: NewProjectIn | None,
    demo: DemoLoader | None,
    *,
    token: str,
    clock: Clock,
    address: str,
) -> None:
    await setup.begin(session, first, order, token=token, clock=clock, address=address)
    if demo is not None:
        await demo.load_project(session, update_shared=True)


def _read(form: FormValues) -> tuple[FirstAdministrator, NewProjectIn | None]:
    """:raises Invalid: with all faults of the form"""
    password = form.get("password")
    typed = {field: text(form, name) or "" for name, field in _FIELDS.items()}
    first = FirstAdministrator(password=password if isinstance(password, str) else "", **typed)
    missing = [name for name in _REQUIRED if not form.get(name)]
    faults = [FieldProblem(f"/{name}", "required", REQUIRED) for name in missing]
    others = [fault for fault in _faults(first.check) if fault.pointer.removeprefix("/") not in missing]
    order: list[NewProjectIn] = []
    if text(form, "start") not in {None, NO_PROJECT, DEMO}:
        others += _faults(lambda: order.append(order_of(form)))
    if faults or others:
        raise Invalid(fields=[*faults, *others])
    return first, next(iter(order), None)


def _faults(rule: Callable[[], object]) -> Sequence[FieldProblem]:
    try:
        rule()
    except Invalid as fault:
        return fault.fields
    return ()


def _form(request: Request, token: str, form: FormValues = EMPTY_FORM, error: DomainError | None = None) -> Response:
    page = SetUpPage(
        token=token,
        state=FormState(form, error),
        previews=setup.previews(),
        has_demo=wiring(request, FirstRunWiring).allows_demo,
    )
    return render(request, page)


def _show_closed(request: Request, error: DomainError) -> Response:
    """Show why the page is closed, and how to open it."""
    return render(request, NotSetUpPage(is_over=isinstance(error, AlreadySetUp), state=FormState(error=error)))
