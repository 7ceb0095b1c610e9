"""ASGI middleware of each request; it buffers no stream."""

import asyncio
import gzip
import ipaddress
import logging
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

import anyio.to_thread
import structlog
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from saraban.identity.dependencies import PUBLIC_PATHS, IdentityWiring, require_token
from saraban.kit.admission import Admission, Slot, slot_released
from saraban.kit.clock import stopwatch
from saraban.kit.departure import ClientGone, ClientPresence, begin_presence
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.http import accepts_gzip, language, problem_response, wiring
from saraban.kit.ids import begin_trace
from saraban.ops import metrics
from saraban.ops.body_limits import WITHOUT_TOKEN, body_limit
from saraban.ops.problems import ProblemAnswers, RequestTooLarge
from saraban.ops.security_log import record_access

log = structlog.get_logger("saraban.access")
_access = logging.getLogger("saraban.access")
proxy_log = structlog.get_logger("saraban.proxies")

BEFORE_SETUP: Final = ("/health/", "/metrics", "/static/", "/setup", "/language")
UNCOUNTED: Final = ("/health/", "/metrics", "/static/")  # without a slot of admission
# Bytes that a client should have quoted; the framework fails if they are not UTF-8.
_OUTSIDE_ASCII: Final = re.compile(rb"[^\x00-\x7f]")
_RFA_ALIAS: Final = re.compile(r"\A/api/v1/rfa(?=/|\Z)")  # rewritten before limits, labels and routes use the path
_HOST_PREFIX: Final = b"__Host-"
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
CLIENT_GONE: Final = 499  # as in nginx; for the log only
LEAST_RATE: Final = 1024  # bytes of a body per second
LISTEN_AFTER: Final = 0.25  # seconds; most requests have ended by then

LEAST_COMPRESSED: Final = 1024  # bytes; less is not worth it
COMPRESSED_IN_THREAD: Final = 128 * 1024  # bytes; more would block other requests
COMPRESSION_LEVEL: Final = 4
_COMPRESSIBLE: Final = (b"application/json", b"text/html", b"text/plain", b"application/yaml")

PAGE_POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-src 'self' blob:; frame-ancestors 'none'"
)
# A browser shows a PDF with a plug-in inside the file's page.
PREVIEW_POLICY: Final = (
    "default-src 'none'; img-src 'self'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
_DEFAULT_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)


class BodyTimeout(DomainError):
    """The body did not arrive in time (408): its bytes stopped coming, or came too slowly. Send the request again."""

    kind, code = ErrorKind.TIMEOUT, "BODY_TIMEOUT"
    says = Text("ข้อมูลที่ส่งมาไม่ครบภายในเวลาที่กำหนด", "What was sent did not arrive in time.")
    recovery = (Text("ตรวจสอบการเชื่อมต่อแล้วส่งใหม่", "Check the connection, then send it again."),)


class RequestMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        *,
        upload_limit: int,
        problems: ProblemAnswers,
        admission: Admission,
        body_timeout: float = 20.0,
    ) -> None:
        self.app = app
        self.upload_limit, self.body_timeout = upload_limit, body_timeout
        self.problems, self.admission = problems, admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope["path"] = _RFA_ALIAS.sub("/api/v1/rfas", scope["path"])
        scope["query_string"] = _OUTSIDE_ASCII.sub(_quote_byte, scope["query_string"])
        headers = Headers(scope=scope)
        is_api = scope["path"].startswith("/api/")
        exchange = ResponseRecorder(begin_trace(headers.get("traceparent")), send, keeps=not is_api, state=scope)
        method = scope["method"]
        if method == "HEAD":  # `ResponseRecorder` omits the body
            scope["method"] = "GET"
        limit = body_limit(scope["method"], scope["path"], upload_limit=self.upload_limit).size
        client = ClientConnection(receive, limit, has_body=_has_body(headers), timeout=self.body_timeout)
        started = stopwatch()
        try:
            await self._answer(scope, headers, client, exchange)
        finally:
            # The server keeps a connection with an unread body open while any object refers to the request, and a
            # traceback does until the garbage collection.
            client.end()
            exchange.end()
            scope["method"] = method
            _log_request(scope, exchange.status, stopwatch() - started)

    async def _answer(
        self, scope: Scope, headers: Headers, client: "ClientConnection", exchange: "ResponseRecorder"
    ) -> None:
        request = Request(scope, client.receive)
        if _declared_length(headers) > client.limit:
            refusal = RequestTooLarge(values={"limit": client.limit})
            await problem_response(request, refusal)(scope, client.receive, exchange.send)
            return
        try:
            is_small = not client.has_body or 0 < _declared_length(headers) <= WITHOUT_TOKEN.size
            if scope["path"].startswith("/api/") and scope["path"] not in PUBLIC_PATHS and not is_small:
                require_token(request)
            if not scope["path"].startswith(UNCOUNTED):
                await client.await_body()
                exchange.slot = await self.admission.enter()
            if not scope["path"].startswith(BEFORE_SETUP):
                await wiring(request, IdentityWiring).first_run.require_over()
            await self.app(scope, client.receive, exchange.send)
        except ClientGone:
            if exchange.status:  # it left during the response, or a task after it noticed
                return
            await Response(status_code=CLIENT_GONE)(scope, client.receive, exchange.send)
        except Exception as error:
            if exchange.status:  # too late for a response; the server closes the connection
                raise
            response = await self.problems.answer_fault(request, error)
            await response(scope, client.receive, exchange.send)


def _quote_byte(byte: re.Match[bytes]) -> bytes:
    return b"%%%02X" % byte[0][0]


class ResponseRecorder:
    def __init__(self, trace: str, send: Send, *, keeps: bool, state: Scope) -> None:
        self.trace = trace
        self._scope = state
        self.keeps = keeps
        self.status = 0
        self.slot: Slot | None = None
        self._send = send
        self._is_head = state["method"] == "HEAD"
        self._held_start: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await record_access(self._scope, message)
            self.status = message["status"]
            if self.slot is not None:
                self.slot.leave()
            message["headers"] = [*message["headers"], *self._missing_headers(message["headers"])]
            if self._may_compress(message):
                self._held_start = message  # until the length of its body is known
                return
        elif self._held_start is not None:
            start, self._held_start = self._held_start, None
            await _compress(start, message)
            await self._send(start)
        if self._is_head and message["type"] != "http.response.start":
            await self._send({"type": "http.response.body"})
            if message.get("more_body"):
                raise ClientGone  # a HEAD response has no stream
            return
        await self._send(message)

    def _may_compress(self, start: Message) -> bool:
        """Return whether to compress; responses to POST contain tokens (BREACH)."""
        headers = dict(start["headers"])
        if self._scope["method"] != "GET" or start["status"] != 200 or headers.keys() & {b"etag", b"content-encoding"}:
            return False
        if not headers.get(b"content-type", b"").startswith(_COMPRESSIBLE):
            return False
        start["headers"].append((b"vary", b"Accept-Encoding"))
        return accepts_gzip(Headers(scope=self._scope).get("accept-encoding", ""))

    def end(self) -> None:
        if self.slot is not None:
            self.slot.leave()
        del self._send

    def _missing_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        present = dict(headers)
        # Only files are framed, as previews in our own pages.
        framed = present.get(b"content-type", b"").startswith((b"application/pdf", b"image/"))
        yield b"x-trace-id", self.trace.encode()
        yield from _DEFAULT_HEADERS
        yield b"x-frame-options", b"SAMEORIGIN" if framed else b"DENY"
        if not self.keeps and b"cache-control" not in present:
            yield b"cache-control", b"no-store"
        if not self.keeps and b"content-language" not in present and b"json" in present.get(b"content-type", b""):
            yield b"content-language", language(Request(self._scope)).encode()
        for name, value in self._scope.get("state", {}).get("headers", {}).items():
            yield name.lower().encode(), value.encode()
        if b"content-security-policy" not in present:
            yield b"content-security-policy", (PREVIEW_POLICY if framed else PAGE_POLICY).encode()


async def _compress(start: Message, message: Message) -> None:
    body = message.get("body", b"")
    if message.get("more_body") or len(body) < LEAST_COMPRESSED:
        return
    pack = partial(gzip.compress, body, compresslevel=COMPRESSION_LEVEL, mtime=0)
    message["body"] = await anyio.to_thread.run_sync(pack) if len(body) > COMPRESSED_IN_THREAD else pack()
    headers = [(name, value) for name, value in start["headers"] if name != b"content-length"]
    length = str(len(message["body"])).encode()
    start["headers"] = [*headers, (b"content-encoding", b"gzip"), (b"content-length", length)]


def _declared_length(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdecimal() else 0


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


class ClientConnection:
    """Counts the bytes of the body, then detects that the client has left."""

    def __init__(self, receive: Receive, limit: int, *, has_body: bool, timeout: float) -> None:
        self._receive, self.limit, self._timeout = receive, limit, timeout
        self._received_bytes = 0
        self._began, self.has_body = stopwatch(), has_body
        self._first: Message | None = None
        self._presence = begin_presence()
        self._listen_timer: asyncio.TimerHandle | None = None
        self._listener: asyncio.Task[Message] | None = None
        self._is_complete = False
        if not has_body:
            self._listen_soon()

    async def await_body(self) -> None:
        """:raises BodyTimeout:"""
        if self.has_body:
            self._first = await self._next_part()
            if self._first["type"] == "http.disconnect":
                raise ClientGone

    async def _next_part(self) -> Message:
        if self._is_complete or not self.has_body:
            return await self._receive()
        now = stopwatch()
        longest = self._began + self._timeout + self._received_bytes / LEAST_RATE - now
        try:
            async with asyncio.timeout(min(self._timeout, longest)):
                return await self._receive()
        except TimeoutError:
            raise BodyTimeout from None

    async def receive(self) -> Message:
        """:raises RequestTooLarge, BodyTimeout:"""
        if self._listener is not None:  # two calls of `_receive` must not run at once
            if not self._is_complete:
                self._is_complete = True
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.shield(self._listener)
        message, self._first = self._first, None
        if message is None:
            with slot_released():
                message = await self._next_part()
        self._received_bytes += len(message.get("body", b""))
        if self._received_bytes > self.limit:
            raise RequestTooLarge(values={"limit": self.limit})
        if message["type"] == "http.request" and not message.get("more_body"):
            self._is_complete = True
            if self._listen_timer is None:
                self._listen_soon()
        return message

    def _listen_soon(self) -> None:
        self._listen_timer = asyncio.get_running_loop().call_later(LISTEN_AFTER, self._listen)

    def _listen(self) -> None:
        self._listener = asyncio.get_running_loop().create_task(
            _wait_for_disconnect(self._receive, self._presence), name="client-connection"
        )

    def end(self) -> None:
        del self._receive
        self._presence.end()
        if self._listen_timer is not None:
            self._listen_timer.cancel()
        if self._listener is not None:
            self._listener.cancel()


async def _wait_for_disconnect(receive: Receive, presence: ClientPresence) -> Message:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            presence.has_left = True
            return message


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    route = _template(scope)
    metrics.observe(method=scope["method"], route=route, status=status or 500, seconds=seconds)
    if not _access.isEnabledFor(logging.INFO):
        return
    caller = scope.get("state", {}).get("caller")
    log.info(
        "request",
        method=scope["method"],
        route=route,
        status=status or 500,
        milliseconds=round(seconds * 1000, 1),
        user=str(caller.public_id) if caller is not None else None,
        address=scope["client"][0] if scope.get("client") else None,
    )


def _template(scope: Scope) -> str:
    """Return the template: a path with ids would be a metric label for each document."""
    context = (
        scope.get("fastapi", {}).get("effective_route_context") if isinstance(scope.get("fastapi"), dict) else None
    )
    path = getattr(context, "path", None) or getattr(scope.get("route"), "path", None)
    if not path and scope["path"].startswith("/static/"):
        return "/static"
    return str(path) if path else "(unknown)"


def warn_of_untrusted_proxy(app: ASGIApp) -> ASGIApp:
    has_warned = False

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal has_warned
        if not has_warned and scope["type"] == "http" and _came_through_a_proxy(scope):
            has_warned = True
            proxy_log.warning("proxy.not_trusted", address=scope["client"][0], set="SARABAN_TRUSTED_PROXIES")
        await app(scope, receive, send)

    return handle


def _came_through_a_proxy(scope: Scope) -> bool:
    if not scope.get("client") or not any(name == b"x-forwarded-for" for name, _ in scope["headers"]):
        return False
    try:
        return ipaddress.ip_address(scope["client"][0]).is_private  # loopback is too
    except ValueError:
        return False


class HostCookies:
    """Over TLS: add HSTS, prefix cookies with `__Host-`, and ignore other cookies."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*((name, _host_cookie(name, value)) for name, value in message["headers"]), _HSTS]
            await send(message)

        if scope["type"] == "http":
            scope = {**scope, "headers": [(name, _strip_host_prefix(name, value)) for name, value in scope["headers"]]}
        await self.app(scope, receive, send_secured)


def _strip_host_prefix(name: bytes, value: bytes) -> bytes:
    crumbs = [crumb.strip() for crumb in value.split(b";")] if name == b"cookie" else []
    host_cookies = b"; ".join(crumb.removeprefix(_HOST_PREFIX) for crumb in crumbs if crumb.startswith(_HOST_PREFIX))
    return host_cookies if name == b"cookie" else value


def _host_cookie(name: bytes, value: bytes) -> bytes:
    if name != b"set-cookie":
        return value
    return _HOST_PREFIX + value + (b"" if b"; secure" in value.lower() else b"; Secure")
