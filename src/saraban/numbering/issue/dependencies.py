"""Dependencies of numbering endpoints."""

from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import Counter
from starlette.responses import Response

from saraban.identity.dependencies import request_context
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import NotSignedIn
from saraban.kit.db import DatabaseFault, database_fault
from saraban.kit.errors import DomainError, ErrorKind, Invalid, Text
from saraban.kit.http import Wiring, client_address, wiring
from saraban.kit.rate_limits import RateLimiter, RateLimitResult, RateLimitRule
from saraban.numbering.issue.domain import NumberingFailed
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.allocator import Allocator, NumberServices

REFUSED = Counter("docnum_rate_limited_total", "Operations refused because somebody asked too often", ["policy"])


class RateLimited(DomainError):
    """The account, its address, or all callers together have used up this minute's operations."""

    kind, code = ErrorKind.THROTTLED, "RATE_LIMITED"
    says = Text(
        "มีคำขอมากเกินไป กรุณารอ {seconds} วินาทีแล้วลองใหม่",
        "Too many requests. Please wait {seconds} seconds and try again.",
    )
    recovery = (
        Text("รอแล้วลองใหม่ ระบบยังไม่ได้ออกเลขที่", "Wait and try again; no number was issued."),
        Text("ระบบที่ออกเลขจำนวนมากควรใช้บัญชีบริการ", "A program that issues many numbers should use a service account."),
    )


@dataclass(frozen=True, slots=True)
class NumberRateLimits:
    """Operations per minute; 0 means no limit. `looks`: previews and reads per account."""

    limiter: RateLimiter
    user: int
    address: int
    everybody: int
    looks: int

    async def draw(self, ctx: RequestContext) -> RateLimitResult | None:
        """Count a number; an account's own limit replaces the others. None for an exempt account."""
        account = str(ctx.caller.public_id)
        if ctx.caller.draws_per_minute is not None:
            rules = [RateLimitRule("account", account, ctx.caller.draws_per_minute)]
        else:
            rules = [
                RateLimitRule("user", account, self.user),
                RateLimitRule("address", ctx.address, self.address),
                RateLimitRule("all", "", self.everybody),
            ]
        return await self._take(rules)

    async def look(self, ctx: RequestContext) -> RateLimitResult | None:
        """Count a preview or a read, which spends no issue quota."""
        if ctx.caller.draws_per_minute == 0:
            return None
        return await self._take([RateLimitRule("looks", str(ctx.caller.public_id), self.looks)])

    async def _take(self, rules: list[RateLimitRule]) -> RateLimitResult | None:
        active_rules = [rule for rule in rules if rule.limit]
        if not active_rules:
            return None
        result = await self.limiter.take(active_rules)
        if result.refused is not None:
            REFUSED.labels(policy=result.refused.policy).inc()
        return result


@dataclass(frozen=True, kw_only=True)
class NumberWiring(Wiring):
    allocator: Allocator
    rates: NumberRateLimits
    reservation_life: timedelta


def allocator(request: Request) -> Allocator:
    return wiring(request, NumberWiring).allocator


async def number_services(request: Request) -> NumberServices:
    wired = wiring(request, NumberWiring)
    return NumberServices(wired.db, wired.allocator, wired.idempotency)


Numbers = Annotated[NumberServices, Depends(number_services)]


async def limit_issuing(request: Request) -> None:
    """
    Count a request before anything is read or locked (REQ-OPS-01); a repeated key counts too.

    :raises RateLimited: with the seconds to wait; no number is issued
    """
    await _apply_limit(request, await wiring(request, NumberWiring).rates.draw(await request_context(request)))


async def limit_reading(request: Request) -> None:
    await _apply_limit(request, await wiring(request, NumberWiring).rates.look(await request_context(request)))


async def _apply_limit(request: Request, result: RateLimitResult | None) -> None:
    """:raises RateLimited: when a rule is used up"""
    if result is None:
        return
    request.state.headers = result.headers  # on every response, also a refusal
    if result.refused is not None:
        refusal = RateLimited(values={"seconds": result.reset}, retry_after=result.reset)
        await _record_refusal(request, refusal)  # routes outside numbering have no `RecordedRoute`
        raise refusal


ISSUE_LIMIT = [Depends(limit_issuing)]
READ_LIMIT = [Depends(limit_reading)]


class RecordedRoute(APIRoute):
    """Record every refusal of a numbering call by a signed-in caller."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_recorded(request: Request) -> Response:
            try:
                return await handle(request)
            except DomainError as refusal:
                _defer_record(request, refusal)
                raise
            except RequestValidationError as refusal:
                _defer_record(request, Invalid(f"{len(refusal.errors())} fields of the request are not valid."))
                raise
            except Exception as fault:
                # An unreachable database fails already while the caller is authenticated (REQ-LCK-08).
                if database_fault(fault) is not DatabaseFault.CONNECTION:
                    raise
                failed = NumberingFailed(retry_after=3)
                _defer_record(request, failed)
                raise failed from fault

        return handle_recorded


def _defer_record(request: Request, refusal: DomainError) -> None:
    """Record the refusal after the session is released: a burst would exhaust the connections."""
    stack: AsyncExitStack = request.scope["fastapi_inner_astack"]  # closes after the endpoint's dependencies
    stack.push_async_callback(_record_refusal, request, refusal)


async def _record_refusal(request: Request, refusal: DomainError) -> None:
    """Unauthenticated calls are only counted, because rows are kept for seven years."""
    caller = getattr(request.state, "caller", None)
    if caller is None and (isinstance(refusal, NotSignedIn) or not getattr(request.state, "has_token", False)):
        monitoring.UNAUTHENTICATED.inc()
        return
    wired = wiring(request, NumberWiring)
    await wired.allocator.failures.refused(
        refusal,
        context={"request": f"{request.method} {request.url.path}"},
        user_id=caller.user_id if caller else None,
        address=client_address(request),
        now=wired.clock.now(),
    )
