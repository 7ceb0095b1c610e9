"""What a person sees instead of a problem document: the same facts, as a page, a fragment, or the way to the log-in."""

from urllib.parse import quote

import structlog
from fastapi import Request
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import current_caller
from saraban.identity.service import NotSetUp
from saraban.kit.errors import DomainError, ErrorKind
from saraban.kit.problem import to_problem
from saraban.kit.trace import trace_id
from saraban.web import language as languages
from saraban.web.page import Page, page, render, tell_when_to_retry
from saraban.web.visit import forget, keep

log = structlog.get_logger(__name__)


async def answer(request: Request, error: DomainError, status: int) -> Response:
    """Answer an exception of a page; fragments go to the place for notices, so that nothing is lost."""
    response = _to_login(request) if error.kind is ErrorKind.UNAUTHENTICATED else await _told(request, error, status)
    keep(request, response)
    tell_when_to_retry(response, error)
    return response


def _to_login(request: Request) -> Response:
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    address = f"/login?next={quote(here)}" if request.method == "GET" and here != "/" else "/login"
    if "hx-request" in request.headers:
        response = Response(status_code=401, headers={"HX-Redirect": "/login"})
    else:
        response = RedirectResponse(address, status_code=303)
    forget(response)
    return response


async def _told(request: Request, error: DomainError, status: int) -> Response:
    problem = to_problem(error, language=languages.of(request), trace_id=trace_id()) | {"status": status}
    if "hx-request" in request.headers:
        response = render(request, "parts/notice.html", status=status, problem=problem)
        response.headers["HX-Retarget"] = "#notices"
        response.headers["HX-Reswap"] = "innerHTML"
        return response
    if isinstance(error, NotSetUp):
        return render(request, "setup.html", status=status)
    known = await _signed_in(request, error)
    if known is None:
        return render(request, "failure.html", status=status, problem=problem)
    return known.show("failed.html", status=status, problem=problem)


async def _signed_in(request: Request, error: DomainError) -> Page | None:
    """Give the page of somebody who is signed in, so that the ways on stay where they are."""
    if error.kind is ErrorKind.BUSY:
        return None
    try:
        return await page(request, await current_caller(request), request.app.state.db)
    except Exception:  # whatever has failed may fail again, and the answer must not
        log.info("failure_without_navigation", exc_info=True)
        return None
