"""What the endpoints of numbers get from the application: the allocator, rate limits, and the route that records refusals."""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from saraban.identity.dependencies import Context
from saraban.identity.service import NotSignedIn
from saraban.kit.db import DatabaseFault, database_fault
from saraban.kit.errors import DomainError, Invalid
from saraban.kit.http import async_dependency, client_address
from saraban.kit.rate_limits import RateLimitResult
from saraban.numbering.issue.domain import NumberingFailed
from saraban.numbering.issue.service import metrics
from saraban.numbering.issue.service.allocator import Allocator
from saraban.numbering.issue.service.rate_limits import NumberRateLimits, RateLimited, require_within_limits


def allocator(request: Request) -> Allocator:
    return request.app.state.allocator  # type: ignore[no-any-return]


Numbers = Annotated[Allocator, Depends(async_dependency(allocator))]


async def limit_issuing(request: Request, ctx: Context) -> None:
    """
    Count a request for a number against the limits, before anything is read or locked (REQ-OPS-01).

    A request that is repeated with its key counts too: it asks the server for as much.

    :raises RateLimited: with the seconds to wait; no number is issued
    """
    await _told(request, await _rates(request).draw(ctx))


async def limit_reading(request: Request, ctx: Context) -> None:
    """Count a preview or a read; these have a wide limit of their own."""
    await _told(request, await _rates(request).look(ctx))


def _rates(request: Request) -> NumberRateLimits:
    return request.app.state.rates  # type: ignore[no-any-return]


async def _told(request: Request, result: RateLimitResult | None) -> None:
    if result is not None:
        request.state.headers = result.headers  # on every answer, a refusal too
    try:
        require_within_limits(result)
    except RateLimited as refusal:
        await _keep(request, refusal)  # doors outside numbering have no `KeptRoute`
        raise


ISSUE_LIMIT = [Depends(limit_issuing)]
READ_LIMIT = [Depends(limit_reading)]


class RecordedRoute(APIRoute):
    """Every refusal of a call about numbering is kept, whoever refuses it, if the caller is signed in."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def kept(request: Request) -> Response:
            try:
                return await handle(request)
            except DomainError as refusal:
                _keep_later(request, refusal)
                raise
            except RequestValidationError as refusal:
                _keep_later(request, Invalid(f"{len(refusal.errors())} fields of the request are not valid."))
                raise
            except Exception as fault:
                # A database that is away is met at the door already, where the caller is read (REQ-LCK-08).
                if database_fault(fault) is not DatabaseFault.CONNECTION:
                    raise
                failed = NumberingFailed()
                _keep_later(request, failed)
                raise failed from fault

        return kept


def _keep_later(request: Request, refusal: DomainError) -> None:
    """
    Keep the refusal before it is answered, and after the request has given its session back.

    Where a burst of requests is refused, each would hold a connection and wait for another.
    """
    stack: AsyncExitStack = request.scope["fastapi_inner_astack"]  # closed after what the endpoint was given
    stack.push_async_callback(_keep, request, refusal)


async def _keep(request: Request, refusal: DomainError) -> None:
    """Rows are not for strangers to write: they are kept for seven years."""
    caller = getattr(request.state, "caller", None)
    if caller is None and (isinstance(refusal, NotSignedIn) or not getattr(request.state, "has_token", False)):
        metrics.UNAUTHENTICATED.inc()
        return
    await allocator(request).failures.refused(
        refusal,
        context={"request": f"{request.method} {request.url.path}"},
        user_id=caller.user_id if caller else None,
        address=client_address(request),
        now=request.app.state.clock.now(),
    )
