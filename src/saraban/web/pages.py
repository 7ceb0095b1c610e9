"""The routers of all pages, and the error pages."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from urllib.parse import quote

import structlog
from fastapi import Depends, FastAPI, Request
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import PASSWORD_PAGE, PasswordChangeRequired, request_context
from saraban.identity.service import NotSetUp
from saraban.kit.errors import DomainError, ErrorKind
from saraban.kit.http import check_texts, database
from saraban.kit.ids import trace_id
from saraban.kit.problem import to_problem
from saraban.web.documents import (
    document_actions,
    document_forms,
    document_page,
    drawing_edits,
    drawing_forms,
    drawing_imports,
    drawing_picker,
    drawings,
    registers,
    search,
)
from saraban.web.numbers import formats, imports, manual_number, ranges, register
from saraban.web.operations import audit, events, number_audit, system
from saraban.web.people import (
    accounts,
    my_tasks,
    notifications,
    people_import,
    project_calendar,
    review_teams,
    roles,
    why,
)
from saraban.web.projects import first_run, new_project, project_file
from saraban.web.setup import grid, overview, row_check
from saraban.web.shell import assets, session
from saraban.web.shell.page import (
    NotSetUpPage,
    PageModel,
    PageRequest,
    language_of,
    page_request,
    render,
    set_retry_after,
)
from saraban.web.shell.session import delete_session_cookies, set_session_cookies
from saraban.web.workflows import definitions, editor, migration, simulation, workflow_assignment

PageAnswer = Callable[[Request, DomainError, int], Awaitable[Response]]

# Routers with the register's name as a path parameter come last.
ROUTERS: Final = (
    session.router,
    session.guarded,
    first_run.router,
    new_project.router,
    project_file.router,
    my_tasks.router,
    search.router,
    notifications.router,
    formats.router,
    manual_number.router,
    ranges.router,
    imports.router,
    number_audit.router,  # before the page of a number
    register.router,
    editor.router,
    workflow_assignment.router,
    simulation.router,
    migration.router,
    project_calendar.router,
    review_teams.router,
    people_import.router,
    accounts.router,
    roles.router,
    why.router,
    audit.router,
    events.router,
    system.router,
    overview.router,
    grid.router,
    row_check.router,
    definitions.router,
    drawing_imports.router,
    drawing_edits.router,
    drawing_forms.router,
    drawing_picker.router,
    drawings.router,  # before registers, whose addresses are of any kind
    registers.router,
    document_forms.router,
    document_actions.router,
    document_page.router,
)
log = structlog.get_logger(__name__)


def install(app: FastAPI) -> PageAnswer:
    app.mount(assets.MOUNT, assets.StaticAssets(), name="static")
    for router in ROUTERS:
        app.include_router(router, dependencies=[Depends(check_texts)])
    return answer_failure


class FailurePage(PageModel, template="shell/failure.html", fragments=("shell/failed.html", "shell/parts/notice.html")):
    problem: Mapping[str, object]


async def answer_failure(request: Request, error: DomainError, status: int) -> Response:
    """Show an error of a page; a fragment's error goes to the notices, so no input is lost."""
    response = (
        _redirect_to_login(request)
        if error.kind is ErrorKind.UNAUTHENTICATED
        else await _render_failure(request, error, status)
    )
    set_session_cookies(request, response)
    set_retry_after(response, error)
    return response


def _redirect_to_login(request: Request) -> Response:
    current_address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = (
        f"/login?next={quote(current_address)}" if request.method == "GET" and current_address != "/" else "/login"
    )
    if "hx-request" in request.headers:
        response = Response(status_code=401, headers={"HX-Redirect": "/login"})
    else:
        response = RedirectResponse(address, status_code=303)
    delete_session_cookies(response)
    return response


async def _render_failure(request: Request, error: DomainError, status: int) -> Response:
    problem = to_problem(error, language=language_of(request), trace_id=trace_id()) | {"status": status}
    if "hx-request" in request.headers:
        response = render(request, FailurePage(problem=problem), "shell/parts/notice.html", status=status)
        response.headers["HX-Retarget"] = "#notices"
        response.headers["HX-Reswap"] = "innerHTML"
        return response
    if isinstance(error, PasswordChangeRequired):
        return RedirectResponse(PASSWORD_PAGE, status_code=303)
    if isinstance(error, NotSetUp):
        return render(request, NotSetUpPage(), status=status)
    page = await _page_of_caller(request, error)
    if page is None:
        return render(request, FailurePage(problem=problem), status=status)
    return page.show(FailurePage(problem=problem), "shell/failed.html", status=status)


async def _page_of_caller(request: Request, error: DomainError) -> PageRequest | None:
    """Return the page of a signed-in caller, so that the error page has the menu."""
    if error.kind is ErrorKind.BUSY:
        return None
    try:
        return await page_request(request, await request_context(request), database(request))
    except Exception:  # what failed may fail again, and the error page must not
        log.info("failure_without_navigation", exc_info=True)
        return None
