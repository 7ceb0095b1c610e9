"""What the numbering endpoints are given by the application, and the route that keeps what they refuse."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import Response

from saraban.kit.errors import DomainError, Invalid
from saraban.kit.http import client_address
from saraban.numbering.service import Allocator


def allocator(request: Request) -> Allocator:
    return request.app.state.allocator  # type: ignore[no-any-return]


Numbers = Annotated[Allocator, Depends(allocator)]


class KeptRoute(APIRoute):
    """Every call about numbering is kept, the refused ones too, whoever refuses them (ruling N15)."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def kept(request: Request) -> Response:
            try:
                return await handle(request)
            except DomainError as refusal:
                await _keep(request, refusal)
                raise
            except RequestValidationError as refusal:
                await _keep(request, Invalid(f"{len(refusal.errors())} fields of the request are not valid."))
                raise

        return kept


async def _keep(request: Request, refusal: DomainError) -> None:
    caller = getattr(request.state, "caller", None)
    await allocator(request).failures.refused(
        refusal,
        context={"request": f"{request.method} {request.url.path}"},
        user_id=caller.user_id if caller else None,
        address=client_address(request),
        now=request.app.state.clock.now(),
    )
