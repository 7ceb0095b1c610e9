"""
What surrounds every request: its trace id, the size limit, the security headers, compression, one log line, one measurement.

It is plain ASGI, so that no stream is buffered and the trace id reaches every task that the request starts.
"""

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
UNCOUNTED: Final = ("/health/", "/metrics", "/static/")  # they take no slot
# Bytes that a client should have quoted; the framework fails at those that are no UTF-8.
_OUTSIDE_ASCII: Final = re.compile(rb"[^\x00-\x7f]")
_RFA_ALIAS: Final = re.compile(r"\A/api/v1/rfa(?=/|\Z)")  # rewritten before limits, labels and routes read the path
_HOST_PREFIX: Final = b"__Host-"
_HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
CLIENT_GONE: Final = 499  # as nginx logs it; nobody gets this answer
LEAST_RATE: Final = 1024  # bytes of a body in a second
LISTEN_AFTER: Final = 0.25  # seconds; most requests are answered by then, and listening costs them nothing

LEAST_COMPRESSED: Final = 1024  # bytes; below, the headers outweigh what is saved
COMPRESSED_IN_THREAD: Final = 128 * 1024  # bytes; more would hold up other requests
COMPRESSION_LEVEL: Final = 4
_COMPRESSIBLE: Final = (b"application/json", b"text/html", b"text/plain", b"application/yaml")

PAGE_POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-src 'self' blob:; frame-ancestors 'none'"
)
# A browser shows a PDF with a plug-in of its own, inside what it counts as the file's page.
PREVIEW_POLICY: Final = (
    "default-src 'none'; img-src 'self'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
_ON_EVERY_ANSWER: Final = (
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
    """
    Wraps the application.

    :param upload_limit: bytes of the largest file that the upload addresses take
    :param body_timeout: seconds between two parts of a body
    """

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
        scope["query_string"] = _OUTSIDE_ASCII.sub(_quoted, scope["query_string"])
        headers = Headers(scope=scope)
        is_api = scope["path"].startswith("/api/")
        exchange = ResponseRecorder(begin_trace(headers.get("traceparent")), send, keeps=not is_api, state=scope)
        method = scope["method"]
        if method == "HEAD":  # whatever answers GET; `ResponseRecorder` leaves the body out
            scope["method"] = "GET"
        limit = body_limit(scope["method"], scope["path"], upload_limit=self.upload_limit).size
        client = ClientConnection(receive, limit, has_body=_has_body(headers), timeout=self.body_timeout)
        started = stopwatch()
        try:
            await self._answer(scope, headers, client, exchange)
        finally:
            # The server keeps a connection open for an unread body while anything refers to either end of the request, and the
            # traceback of an error does until the collector runs.
            client.end()
            exchange.end()
            scope["method"] = method
            _report(scope, exchange.status, stopwatch() - started)

    async def _answer(
        self, scope: Scope, headers: Headers, client: "ClientConnection", exchange: "ResponseRecorder"
    ) -> None:
        request = Request(scope, client.receive)
        if _declared(headers) > client.limit:
            refusal = RequestTooLarge(values={"limit": client.limit})
            await problem_response(request, refusal)(scope, client.receive, exchange.send)
            return
        try:
            is_small = not client.has_body or 0 < _declared(headers) <= WITHOUT_TOKEN.size
            if scope["path"].startswith("/api/") and scope["path"] not in PUBLIC_PATHS and not is_small:
                require_token(request)
            if not scope["path"].startswith(UNCOUNTED):
                await client.await_body()
                exchange.slot = await self.admission.enter()
            if not scope["path"].startswith(BEFORE_SETUP):
                await wiring(request, IdentityWiring).first_run.require_over()
            await self.app(scope, client.receive, exchange.send)
        except ClientGone:
            if exchange.status:  # it left in the middle of its answer, or what follows the answer came to look
                return
            await Response(status_code=CLIENT_GONE)(scope, client.receive, exchange.send)
        except Exception as error:
            if exchange.status:  # too late for an answer; the server closes the connection
                raise
            response = await self.problems.answer_fault(request, error)
            await response(scope, client.receive, exchange.send)


def _quoted(byte: re.Match[bytes]) -> bytes:
    return b"%%%02X" % byte[0][0]


class ResponseRecorder:
    """
    One request on its way out: the headers that every answer carries, its compression, and the status for the log.

    :param keeps: caches on the way may keep the answer unless it says otherwise
    :param state: the request's scope; a door may leave further headers in its state, for whatever the answer will be
    """

    def __init__(self, trace: str, send: Send, *, keeps: bool, state: Scope) -> None:
        self.trace = trace
        self._scope = state
        self.keeps = keeps
        self.status = 0
        self.slot: Slot | None = None
        self._send = send
        self._is_head = state["method"] == "HEAD"
        self._held: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await record_access(self._scope, message)
            self.status = message["status"]
            if self.slot is not None:
                self.slot.leave()
            message["headers"] = [*message["headers"], *self._further(message["headers"])]
            if self._may_compress(message):
                self._held = message  # until its body shows whether it is worth it
                return
        elif self._held is not None:
            start, self._held = self._held, None
            await _compress(start, message)
            await self._send(start)
        if self._is_head and message["type"] != "http.response.start":
            await self._send({"type": "http.response.body"})
            if message.get("more_body"):
                raise ClientGone  # nobody reads the rest of a stream
            return
        await self._send(message)

    def _may_compress(self, start: Message) -> bool:
        """
        Return whether a response may be compressed, and add `Vary`.

        A strong `ETag` names bytes, so its response stays as it is. Answers to POST contain tokens beside what was sent
        (BREACH). Pages contain no CSRF token: `Sec-Fetch-Site` tells requests of other sites.
        """
        known = dict(start["headers"])
        if self._scope["method"] != "GET" or start["status"] != 200 or known.keys() & {b"etag", b"content-encoding"}:
            return False
        if not known.get(b"content-type", b"").startswith(_COMPRESSIBLE):
            return False
        start["headers"].append((b"vary", b"Accept-Encoding"))
        return accepts_gzip(Headers(scope=self._scope).get("accept-encoding", ""))

    def end(self) -> None:
        if self.slot is not None:
            self.slot.leave()
        del self._send

    def _further(self, given: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """What comes to the headers of an answer, which has none of these but a caching or a content policy of its own."""
        known = dict(given)
        # Files are previewed inside our own pages; nothing else may be framed at all.
        framed = known.get(b"content-type", b"").startswith((b"application/pdf", b"image/"))
        yield b"x-trace-id", self.trace.encode()
        yield from _ON_EVERY_ANSWER
        yield b"x-frame-options", b"SAMEORIGIN" if framed else b"DENY"
        if not self.keeps and b"cache-control" not in known:
            yield b"cache-control", b"no-store"
        if not self.keeps and b"content-language" not in known and b"json" in known.get(b"content-type", b""):
            yield b"content-language", language(Request(self._scope)).encode()
        for name, value in self._scope.get("state", {}).get("headers", {}).items():
            yield name.lower().encode(), value.encode()
        if b"content-security-policy" not in known:
            yield b"content-security-policy", (PREVIEW_POLICY if framed else PAGE_POLICY).encode()


async def _compress(start: Message, message: Message) -> None:
    """Compress a body that comes whole."""
    body = message.get("body", b"")
    if message.get("more_body") or len(body) < LEAST_COMPRESSED:
        return
    pack = partial(gzip.compress, body, compresslevel=COMPRESSION_LEVEL, mtime=0)
    message["body"] = await anyio.to_thread.run_sync(pack) if len(body) > COMPRESSED_IN_THREAD else pack()
    kept = [(name, value) for name, value in start["headers"] if name != b"content-length"]
    length = str(len(message["body"])).encode()
    start["headers"] = [*kept, (b"content-encoding", b"gzip"), (b"content-length", length)]


def _declared(headers: Headers) -> int:
    given = headers.get("content-length", "0")
    return int(given) if given.isdecimal() else 0


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


class ClientConnection:
    """
    What a client sends: its body, counted while it comes in, as its length need not be declared; then whether it is still there.

    :param has_body: without one there is nothing to be read before it can be listened to
    :param timeout: seconds between two parts of the body
    """

    def __init__(self, receive: Receive, limit: int, *, has_body: bool, timeout: float) -> None:
        self._receive, self.limit, self._timeout = receive, limit, timeout
        self._seen = 0
        self._began, self.has_body = stopwatch(), has_body
        self._first: Message | None = None
        self._presence = begin_presence()
        self._begins: asyncio.TimerHandle | None = None
        self._listening: asyncio.Task[Message] | None = None
        self._is_whole = False
        if not has_body:
            self._listen_soon()

    async def await_body(self) -> None:
        """
        Wait for the first part of the body: a client that sends none takes no slot.

        :raises BodyTimeout: when it does not come
        """
        if self.has_body:
            self._first = await self._next_part()
            if self._first["type"] == "http.disconnect":
                raise ClientGone

    async def _next_part(self) -> Message:
        if self._is_whole or not self.has_body:
            return await self._receive()
        now = stopwatch()
        longest = self._began + self._timeout + self._seen / LEAST_RATE - now
        try:
            async with asyncio.timeout(min(self._timeout, longest)):
                return await self._receive()
        except TimeoutError:
            raise BodyTimeout from None

    async def receive(self) -> Message:
        """
        :raises RequestTooLarge: when more came than may
        :raises BodyTimeout: when the next part does not come in time, or all came too slowly
        """
        if self._listening is not None:  # two must not ask the server at once
            if not self._is_whole:
                self._is_whole = True
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.shield(self._listening)
        message, self._first = self._first, None
        if message is None:
            with slot_released():
                message = await self._next_part()
        self._seen += len(message.get("body", b""))
        if self._seen > self.limit:
            raise RequestTooLarge(values={"limit": self.limit})
        if message["type"] == "http.request" and not message.get("more_body"):
            self._is_whole = True
            if self._begins is None:
                self._listen_soon()
        return message

    def _listen_soon(self) -> None:
        self._begins = asyncio.get_running_loop().call_later(LISTEN_AFTER, self._listen)

    def _listen(self) -> None:
        self._listening = asyncio.get_running_loop().create_task(
            _departure(self._receive, self._presence), name="client-connection"
        )

    def end(self) -> None:
        del self._receive
        self._presence.end()
        if self._begins is not None:
            self._begins.cancel()
        if self._listening is not None:
            self._listening.cancel()


async def _departure(receive: Receive, presence: ClientPresence) -> Message:
    """Return the message that the client has gone, once it has."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            presence.has_left = True
            return message


def _report(scope: Scope, status: int, seconds: float) -> None:
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
    """The route with its parameters unfilled: paths with ids in them would make a measurement of each document."""
    context = (
        scope.get("fastapi", {}).get("effective_route_context") if isinstance(scope.get("fastapi"), dict) else None
    )
    path = getattr(context, "path", None) or getattr(scope.get("route"), "path", None)
    if not path and scope["path"].startswith("/static/"):
        return "/static"
    return str(path) if path else "(unknown)"


def warn_of_untrusted_proxy(app: ASGIApp) -> ASGIApp:
    """Warn once when a request without a trusted proxy looks as if it came through one."""
    told = False

    async def handle(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal told
        if not told and scope["type"] == "http" and _came_through_a_proxy(scope):
            told = True
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
    """For browsers over TLS: HSTS on every answer, `__Host-` cookies, and none of those that another host may have set."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*((name, _host_cookie(name, value)) for name, value in message["headers"]), _HSTS]
            await send(message)

        if scope["type"] == "http":
            scope = {**scope, "headers": [(name, _own_cookies(name, value)) for name, value in scope["headers"]]}
        await self.app(scope, receive, send_secured)


def _own_cookies(name: bytes, value: bytes) -> bytes:
    crumbs = [crumb.strip() for crumb in value.split(b";")] if name == b"cookie" else []
    own = b"; ".join(crumb.removeprefix(_HOST_PREFIX) for crumb in crumbs if crumb.startswith(_HOST_PREFIX))
    return own if name == b"cookie" else value


def _host_cookie(name: bytes, value: bytes) -> bytes:
    if name != b"set-cookie":
        return value
    return _HOST_PREFIX + value + (b"" if b"; secure" in value.lower() else b"; Secure")
