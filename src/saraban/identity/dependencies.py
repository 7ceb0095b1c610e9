"""
Who is asking, for every HTTP door: a bearer token, or the HttpOnly cookie of the pages.

The caller is loaded on a connection that is given back before the endpoint runs: whoever then waits for a lock holds
none (REQ-LCK-02).
"""

from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.service import CallerLoader, LogInThrottle, NotSignedIn, TokenIssuer
from saraban.kit.clock import Clock
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.http import async_dependency, client_address, idempotency_key
from saraban.kit.rate_limits import RateLimiter

ACCESS_COOKIE = "saraban_access"
REFRESH_COOKIE = "saraban_refresh"
DEVICE_COOKIE = "saraban_device"

# Everything else needs a caller; a test walks the route table.
PUBLIC_PATHS = frozenset(
    {
        "/api/v1/auth/login",
        "/api/v1/auth/refresh",
        "/api/v1/auth/logout",
        "/health/live",
        "/health/ready",
        "/metrics",
        "/openapi.json",
        "/docs/errors",
        "/invitations/{token}",
        "/login",
        "/logout",
        "/language",
        "/setup",
        "/static",
    }
)

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class CrossSiteRequest(DomainError):
    """A page of another site tried to act with the visitor's cookie."""

    kind, code = ErrorKind.FORBIDDEN, "CROSS_SITE_REQUEST"
    says = Text("คำขอมาจากเว็บไซต์อื่นจึงไม่ถูกดำเนินการ", "The request came from another site and was not carried out.")
    recovery = (Text("เปิดหน้าสารบรรณแล้วลองใหม่", "Open the page in Saraban itself and try again."),)


def token_issuer(request: Request) -> TokenIssuer:
    return request.app.state.tokens  # type: ignore[no-any-return]


def limiter(request: Request) -> RateLimiter:
    return request.app.state.rates.limiter  # type: ignore[no-any-return]


def log_in_throttle(request: Request) -> LogInThrottle:
    return request.app.state.throttle  # type: ignore[no-any-return]


def invitation_base(request: Request) -> str | None:
    """Return what stands before the path of a link that is shown; None where links are mailed."""
    settings = request.app.state.settings
    return None if settings.mails_invitations else str(settings.public_url or request.base_url).rstrip("/")


Tokens = Annotated[TokenIssuer, Depends(async_dependency(token_issuer))]
Attempts = Annotated[RateLimiter, Depends(async_dependency(limiter))]
Throttle = Annotated[LogInThrottle, Depends(async_dependency(log_in_throttle))]


async def current_caller(request: Request) -> Caller:
    """
    Return the signed-in caller, with the grants of this moment, read once for a request.

    Like the contexts below it takes nothing but the request: each dependency of a dependency costs as much as reading a body.

    :raises NotSignedIn: without a usable token, or when the account has been closed since
    """
    known: Caller | None = getattr(request.state, "caller", None)
    if known is not None:
        return known
    callers: CallerLoader = request.app.state.callers
    subject = token_issuer(request).subject(_presented(request))
    request.state.has_token = True  # known even where the database cannot say whose it is
    caller = await callers.load(subject)
    request.state.caller = caller  # the access log names who asked
    return caller


CurrentCaller = Annotated[Caller, Depends(current_caller)]


async def request_context(request: Request) -> RequestContext:
    """Return the context of a request of somebody who is signed in."""
    caller = await current_caller(request)
    clock: Clock = request.app.state.clock
    return RequestContext(caller, clock.now(), clock.zone, client_address(request))


Context = Annotated[RequestContext, Depends(request_context)]


async def keyed_context(request: Request) -> RequestContext:
    """Return the context of a request that may be repeated under its `Idempotency-Key`."""
    ctx = await request_context(request)
    key = idempotency_key(request)
    return ctx if key is None else ctx.with_key(key)


KeyedContext = Annotated[RequestContext, Depends(keyed_context)]
LOADS_CALLER = frozenset({current_caller, request_context, keyed_context})


def guarded(permission: str, *, everywhere: bool = False) -> Any:
    """Return a context whose caller has `permission` somewhere, or `everywhere`; the service decides about the thing itself."""

    async def holder(ctx: Context) -> RequestContext:
        ctx.caller.require(permission, Scope()) if everywhere else ctx.caller.require_somewhere(permission)
        return ctx

    return Depends(holder)


def guarded_keyed(permission: str) -> Any:
    """Return the same for a request that may be repeated under its `Idempotency-Key`."""

    async def holder(ctx: KeyedContext) -> RequestContext:
        ctx.caller.require_somewhere(permission)
        return ctx

    return Depends(holder)


def _presented(request: Request) -> str:
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise NotSignedIn("The Authorization header must be `Bearer <token>`.")
        return token.strip()
    cookie = request.cookies.get(ACCESS_COOKIE)
    if not cookie:
        raise NotSignedIn("There is no access token.")
    refuse_cross_site(request)
    return cookie


def refuse_cross_site(request: Request) -> None:
    """
    Stop a request that another site made a browser send with our cookie.

    :raises CrossSiteRequest: when the browser says that the request did not start on our own pages
    """
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if (site is not None and site not in {"same-origin", "none"}) or (site is None and foreign):
        raise CrossSiteRequest("A cookie is accepted only from this server's own pages.")
