"""Authenticate requests; no connection is held while the endpoint runs (REQ-LCK-02)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.identity.service import CallerLoader, FirstRun, LogInThrottle, NotSignedIn, TokenIssuer, user_of_token
from saraban.kit.addresses import split_url
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.http import Wiring, async_dependency, client_address, idempotency_key, language, wiring
from saraban.kit.rate_limits import DAY, HOUR, RateLimiter, RateLimitRule

ACCESS_COOKIE = "saraban_access"
REFRESH_COOKIE = "saraban_refresh"
DEVICE_COOKIE = "saraban_device"

# All other routes need a caller; a test checks the route table.
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
        "/forgot-password",
        "/invitations/{token}",
        "/login",
        "/logout",
        "/language",
        "/setup",
        "/static",
    }
)

PASSWORD_PAGE = "/account/password"  # noqa: S105
_PASSWORD_PATHS = frozenset({PASSWORD_PAGE, "/api/v1/auth/password"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class CrossSiteRequest(DomainError):
    """A page of another site tried to act with the visitor's cookie."""

    kind, code = ErrorKind.FORBIDDEN, "CROSS_SITE_REQUEST"
    says = Text("คำขอมาจากเว็บไซต์อื่นจึงไม่ถูกดำเนินการ", "The request came from another site and was not carried out.")
    recovery = (Text("เปิดหน้าสารบรรณแล้วลองใหม่", "Open the page in Saraban itself and try again."),)


class PasswordChangeRequired(DomainError):
    """An administrator set the password of this account. The person has to choose another password first."""

    kind, code = ErrorKind.FORBIDDEN, "PASSWORD_CHANGE_REQUIRED"
    says = Text("ต้องเปลี่ยนรหัสผ่านที่ผู้ดูแลระบบตั้งให้ก่อน", "Change the password that an administrator set, first.")
    recovery = (Text("เปลี่ยนรหัสผ่านแล้วลองใหม่", "Change your password, then try again."),)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserLimits:
    """Requests of one user per minute; 0 is no limit."""

    searches: int
    previews: int
    refreshes: int
    exports_per_hour: int
    upload_bytes_per_day: int
    largest_upload: int  # bytes; counted for a request without `Content-Length`


@dataclass(frozen=True, slots=True)
class LinkRules:
    public_url: str
    are_mailed: bool

    def base(self, request: Request) -> str:
        return str(self.public_url or request.base_url).rstrip("/")


@dataclass(frozen=True, kw_only=True)
class IdentityWiring(Wiring):
    tokens: TokenIssuer
    callers: CallerLoader
    throttle: LogInThrottle
    limiter: RateLimiter
    user_limits: UserLimits
    links: LinkRules
    first_run: FirstRun


def token_issuer(request: Request) -> TokenIssuer:
    return wiring(request, IdentityWiring).tokens


def limiter(request: Request) -> RateLimiter:
    return wiring(request, IdentityWiring).limiter


def log_in_throttle(request: Request) -> LogInThrottle:
    return wiring(request, IdentityWiring).throttle


def invitation_base(request: Request, *, handed_over: bool = False) -> str | None:
    """Return None if the link is mailed and not `handed_over`."""
    links = wiring(request, IdentityWiring).links
    return None if links.are_mailed and not handed_over else links.base(request)


_SEARCHES = ("/search/", "/find/", "/api/v1/search/")
_EXPORTS = ("/export", "/download", "/result", "/template")
_PREVIEWS = ("/preview", "/check", "/validate", "/rehearse", "/rehearsal", "/replay", "/file")
_COUNTED_BY_NUMBERING = ("/api/v1/document-numbering/", "/numbers/")
_WRITTEN = ("", "application/json", "application/x-www-form-urlencoded")


class UserLimitReached(DomainError):
    """The user has searched, exported, previewed or renewed the session too often, or uploaded too much in a day."""

    kind, code = ErrorKind.THROTTLED, "USER_LIMIT_REACHED"
    says = Text(
        "คุณใช้งานส่วนนี้ครบตามจำนวนที่กำหนดแล้ว กรุณารอ {seconds} วินาทีแล้วลองใหม่",
        "You have reached your limit for this. Wait {seconds} seconds and try again.",
    )
    recovery = (Text("หากต้องการมากกว่านี้ ติดต่อผู้ดูแลระบบ", "If you need more, contact the administrator."),)


def policies_of(method: str, path: str, query: Collection[str], media_type: str) -> set[str]:
    """:param query: names of the parameters that are not empty"""
    policies, reads = set(), method == "GET"
    if reads and ("q" in query or f"{path}/".startswith(_SEARCHES)):
        policies.add("searches")
    if reads and (path.endswith(_EXPORTS) or (path.startswith("/api/") and path.endswith("/file"))):
        policies.add("exports")
    if not reads and media_type not in _WRITTEN:
        policies.add("uploads")
    if not reads and ("dryRun" in query or path.endswith(_PREVIEWS)) and not path.startswith(_COUNTED_BY_NUMBERING):
        policies.add("looks")
    return policies


async def count_request(request: Request, caller: Caller) -> None:
    """:raises UserLimitReached: never for service accounts without a limit of numbers"""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    nonempty = {name for name, value in request.query_params.items() if value}
    policies = policies_of(request.method, request.url.path, nonempty, media_type)
    if not policies or caller.draws_per_minute == 0:
        return
    limits = wiring(request, IdentityWiring).user_limits
    user, length = str(caller.public_id), request.headers.get("content-length", "")
    size = int(length) if length.isdecimal() else limits.largest_upload
    rules = [
        RateLimitRule("searches", user, limits.searches),
        RateLimitRule("exports", user, limits.exports_per_hour, HOUR),
        RateLimitRule("uploads", user, limits.upload_bytes_per_day, DAY, size),
        RateLimitRule("looks", user, limits.previews),
    ]
    await _count(request, [rule for rule in rules if rule.policy in policies])


async def count_refresh(request: Request, refresh_token: str) -> None:
    """:raises UserLimitReached: counted by address if the token is unknown"""
    wired = wiring(request, IdentityWiring)
    if most := wired.user_limits.refreshes:
        async with wired.db.reading() as session:
            user = await user_of_token(session, refresh_token)
        await _count(request, [RateLimitRule("refreshes", str(user or client_address(request)), most)])


async def _count(request: Request, rules: list[RateLimitRule]) -> None:
    if counted := [rule for rule in rules if rule.limit]:
        result = await limiter(request).take(counted)
        request.state.headers = result.headers  # for each response, also a refusal
        if result.refused is not None:
            raise UserLimitReached(values={"seconds": result.reset}, retry_after=result.reset)


Tokens = Annotated[TokenIssuer, Depends(async_dependency(token_issuer))]
Attempts = Annotated[RateLimiter, Depends(async_dependency(limiter))]
Throttle = Annotated[LogInThrottle, Depends(async_dependency(log_in_throttle))]


async def current_caller(request: Request) -> Caller:
    """
    Return the caller with present grants; loaded once per request.

    :raises NotSignedIn, UserLimitReached:
    :raises PasswordChangeRequired: unless the request changes the password
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        wired = wiring(request, IdentityWiring)
        access = wired.tokens.read(_presented_token(request))
        request.state.has_token = True  # set even if the database is not available
        caller = await wired.callers.load(access.session)
        wired.tokens.require_rights(access, caller)
        request.state.caller = caller  # for the access log
        await count_request(request, caller)
    if caller.must_change_password and request.url.path not in _PASSWORD_PATHS:
        raise PasswordChangeRequired
    return caller


CurrentCaller = Annotated[Caller, Depends(current_caller)]


async def request_context(request: Request) -> RequestContext:
    caller = await current_caller(request)
    clock = wiring(request, Wiring).clock
    return RequestContext(caller, clock.now(), clock.zone, client_address(request), language=language(request))


Context = Annotated[RequestContext, Depends(request_context)]


async def keyed_context(request: Request) -> RequestContext:
    ctx = await request_context(request)
    key = idempotency_key(request)
    return ctx if key is None else ctx.with_key(key)


KeyedContext = Annotated[RequestContext, Depends(keyed_context)]
LOADS_CALLER = frozenset({current_caller, request_context, keyed_context})


class _Guard:
    def __init__(self, permission: str, *, everywhere: bool) -> None:
        self.permission, self.everywhere = permission, everywhere

    async def __call__(self, ctx: Context) -> RequestContext:
        if self.everywhere:
            ctx.caller.require(self.permission, Scope())
        else:
            ctx.caller.require_somewhere(self.permission)
        return ctx


class _KeyedGuard(_Guard):
    async def __call__(self, ctx: KeyedContext) -> RequestContext:
        return await super().__call__(ctx)


def guarded(permission: str, *, everywhere: bool = False) -> Any:
    """Require `permission` anywhere, or globally; the service checks the actual scope."""
    return Depends(_Guard(permission, everywhere=everywhere))


def guarded_keyed(permission: str) -> Any:
    return Depends(_KeyedGuard(permission, everywhere=False))


def require_token(request: Request) -> None:
    """
    Check the token without the database, before the body is read.

    :raises NotSignedIn:
    """
    token_issuer(request).read(_presented_token(request))


def _presented_token(request: Request) -> str:
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
    """:raises CrossSiteRequest:"""
    if request.method in _SAFE:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    parts = split_url(origin or "")
    foreign = origin is not None and (parts is None or parts.netloc != request.headers.get("host"))
    if (site is not None and site not in {"same-origin", "none"}) or (site is None and foreign):
        raise CrossSiteRequest("A cookie is accepted only from this server's own pages.")
