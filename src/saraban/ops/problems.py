"""Turn exceptions into problem responses, and refuse input that no operation takes."""

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from saraban.identity.service import NotSignedIn
from saraban.kit import http
from saraban.kit.db import DatabaseFault, database_fault
from saraban.kit.error_text import error_text
from saraban.kit.errors import (
    ASK_ADMIN,
    CHECK_INPUT,
    RETRY,
    DiskFull,
    DomainError,
    ErrorKind,
    FieldProblem,
    Forbidden,
    Invalid,
    NotFound,
    Text,
)
from saraban.kit.problem import field_problems, status_of
from saraban.kit.schema import TOO_DEEP
from saraban.ops.body_limits import DEEPEST, body_limit, check_json

log = structlog.get_logger(__name__)

PageAnswer = Callable[[Request, DomainError, int], Awaitable[Response]]

_RETRY_SECONDS: Final = 3
_KEY: Final = "idempotency-key"
_FOR_PROGRAMS = ("/api/", "/health", "/metrics", "/openapi.json")


class MethodNotAllowed(DomainError):
    """The address exists, but not for this method (405). The `Allow` header names the methods that work."""

    kind, code = ErrorKind.NOT_FOUND, "METHOD_NOT_ALLOWED"
    says = Text("ที่อยู่นี้ไม่รองรับวิธีเรียกนี้", "This address does not take that method.")
    recovery = (Text("ดูวิธีเรียกที่ใช้ได้ในเอกสาร API", "See the API description for the methods it takes."),)


class RequestTooLarge(DomainError):
    """
    The body is larger than the address takes: 4 KB without a token, 256 KB, 2 MB for large lists, the upload limit for
    files.
    """

    kind, code = ErrorKind.TOO_LARGE, "REQUEST_TOO_LARGE"
    says = Text("ข้อมูลที่ส่งมีขนาดใหญ่เกินไป (สูงสุด {limit} ไบต์)", "What was sent is too large (at most {limit} bytes).")
    recovery = (Text("ลดขนาดข้อมูลหรือแบ่งส่งหลายครั้ง", "Send less at a time."),)


class RequestRefused(DomainError):
    """The request is not valid HTTP. Check its headers and its body against the API description."""

    kind, code = ErrorKind.INVALID, "HTTP_ERROR"
    says = Text("คำขอไม่ถูกต้อง", "The request could not be understood.")
    recovery = (CHECK_INPUT,)


class DatabaseBusy(DomainError):
    """
    Every database connection stayed in use, or other transactions kept the same rows locked. It passes; try again.
    """

    kind, code = ErrorKind.BUSY, "DATABASE_BUSY"
    says = Text("ระบบกำลังยุ่ง กรุณาลองใหม่ภายหลัง", "The system is busy. Please try again later.")
    recovery = (RETRY,)


class DatabaseLost(DomainError):
    """The database has not responded for seconds. The administrator finds the cause in the log under the trace id."""

    kind, code = ErrorKind.BUSY, "DATABASE_ERROR"
    says = Text(
        "เกิดข้อผิดพลาดในระบบ กรุณาติดต่อผู้ดูแลระบบ", "Something went wrong in the system. Please contact the administrator."
    )
    recovery = (RETRY, ASK_ADMIN)


class CommitUnknown(DomainError):
    """
    The database stopped responding while it saved the change. With an `Idempotency-Key` send the same request again
    after `Retry-After` seconds; without one, check first whether it was saved.
    """

    kind, code = ErrorKind.BUSY, "DATABASE_COMMIT_UNKNOWN"
    says = Text(
        "ฐานข้อมูลหยุดตอบระหว่างบันทึก ข้อมูลอาจถูกบันทึกแล้วหรือยังไม่ถูกบันทึก",
        "The database stopped answering while saving. The change may be saved or not.",
    )
    recovery = (Text("เปิดดูก่อนว่าบันทึกแล้วหรือไม่ หากยัง ให้ทำรายการอีกครั้ง", "See whether it was saved. If not, do it again."),)


class Unexpected(DomainError):
    """An error in Saraban. The log has it under the trace id; give the administrator that id."""

    kind, code = ErrorKind.BROKEN, "UNEXPECTED_ERROR"
    says = Text("เกิดข้อผิดพลาดที่ไม่คาดคิด กรุณาลองใหม่ภายหลัง", "Something unexpected went wrong. Please try again later.")
    recovery = (RETRY, ASK_ADMIN)


class ProblemAnswers:
    def __init__(self, page_answer: PageAnswer | None = None) -> None:
        self._page_answer = page_answer

    async def answer(
        self, request: Request, error: DomainError, *, status: int | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        code = status or status_of(error)
        if isinstance(error, CommitUnknown | http.DoneButNotShown) and _KEY in request.headers:
            error.retry_after = _RETRY_SECONDS  # only with a key: otherwise a repetition might do it twice
        # For the security log. The error itself would keep its traceback, and so the connection, alive.
        request.state.refusal = {"problem": error.code, "permission": error.values.get("permission")}
        if self._page_answer is not None and wants_page(request):
            response = await self._page_answer(request, error, code)
        else:
            response = http.problem_response(request, error, status)
        response.headers.update(headers or {})
        return response

    async def answer_fault(self, request: Request, fault: Exception) -> Response:
        return await self.answer(request, fault if isinstance(fault, DomainError) else from_fault(fault))

    async def answer_error(self, request: Request, error: Exception) -> Response:
        if isinstance(error, DomainError):
            return await self.answer(request, error)
        if isinstance(error, RequestValidationError):
            return await self.answer(request, refused_input(error))
        assert isinstance(error, HTTPException)
        problem = await _depth_problem(request, error) or from_http(error)
        status = error.status_code if status_of(problem) != error.status_code and error.status_code >= 405 else None
        return await self.answer(request, problem, status=status, headers=dict(error.headers or {}))

    def install(self, app: FastAPI) -> None:
        for kind in (DomainError, RequestValidationError, HTTPException):
            app.add_exception_handler(kind, self.answer_error)


async def _depth_problem(request: Request, error: HTTPException) -> Invalid | None:
    if not isinstance(error.__cause__, RecursionError):
        return None
    # The request has the body already, so this does not wait.
    return Invalid("the body is nested too deep", fields=[too_deep(await request.body())])


def wants_page(request: Request) -> bool:
    if request.url.path.startswith(_FOR_PROGRAMS):
        return False
    accept = request.headers.get("accept", "*/*")
    if "hx-request" in request.headers or "text/html" in accept:
        return True
    # `curl` and link checkers accept anything; for an existing page they get what a browser would.
    is_page = request.scope.get("endpoint") is not None and not request.url.path.startswith("/static")
    return is_page and request.method in {"GET", "HEAD"} and "*/*" in accept


def refused_input(error: RequestValidationError) -> Invalid:
    fields = field_problems(error.errors())
    places = ", ".join(f"{field.pointer or 'body'}: {field.text.say('en', field.values)}" for field in fields)
    return Invalid(places, fields=fields)


def from_http(error: HTTPException) -> DomainError:
    if isinstance(error.__cause__, DomainError):  # raised while reading the body
        return error.__cause__
    match error.status_code:
        case HTTPStatus.BAD_REQUEST:
            text = Text("อ่านเนื้อหาของคำขอไม่ได้", "The body of the request could not be read.")
            return Invalid("the body could not be parsed", fields=[FieldProblem("", "malformed", text)])
        case HTTPStatus.UNAUTHORIZED:
            return NotSignedIn()
        case HTTPStatus.FORBIDDEN:
            return Forbidden()
        case HTTPStatus.NOT_FOUND:
            return NotFound()
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return MethodNotAllowed()
    return RequestRefused(str(error.detail)) if error.status_code < 500 else Unexpected()


def from_fault(error: BaseException) -> DomainError:
    """Log the error and return one that discloses nothing."""
    fault = database_fault(error)
    if fault in {DatabaseFault.POOL, DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT}:
        log.warning("database_busy", fault=fault, error=type(error).__name__)
        return DatabaseBusy(retry_after=2)
    if fault is DatabaseFault.FULL:
        log.error("disk_full", error=error_text(error))
        return DiskFull()
    log.error("database_lost" if fault else "unexpected_error", exc_info=_exc_info(error))
    if fault is DatabaseFault.COMMIT:
        return CommitUnknown()
    if fault:
        return DatabaseLost(retry_after=_RETRY_SECONDS)
    return Unexpected("An unexpected fault; the log has it under the trace id.")


def _exc_info(error: BaseException) -> tuple[type[BaseException], BaseException, TracebackType | None]:
    return (type(error), error, error.__traceback__)


# After so many brackets and quotes the search ends, because it must stay cheap.
_MOST_MARKS: Final = 100_000
_MARK: Final = re.compile(rb'\\.|["{}\[\]]', re.DOTALL)
# The form of our field names. Other text from the sender is not repeated.
_FIELD: Final = re.compile(rb"[A-Za-z][A-Za-z0-9]{0,63}")
_JSON: Final = re.compile(r"application/([\w.-]+\+)?json")
_REPLACEMENT = "\ufffd"  # replaces bytes that are not UTF-8
_MALFORMED = Text("ไม่ใช่ข้อความ UTF-8 ที่ถูกต้อง", "This is no valid UTF-8.")
_UNKNOWN = Text("ไม่รู้จักพารามิเตอร์นี้", "There is no such parameter.")


async def check_request(request: Request) -> None:
    """:raises Invalid, BodyNotJson:"""
    _check_query(request)
    await http.check_texts(request)
    _check_content_type(request)
    check_json(getattr(request, "_json", None), body_limit(request.method, request.scope["path"]).values)


def _check_query(request: Request) -> None:
    """:raises Invalid: naming each unknown or unreadable parameter"""
    if not request.query_params:
        return
    unreadable = [name for name, value in request.query_params.multi_items() if _REPLACEMENT in value]
    if unreadable:
        raise Invalid(fields=[FieldProblem(f"query:{name[:50]}", "malformed", _MALFORMED) for name in unreadable[:20]])
    known = _query_parameters(request)
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if unknown:
        fields = [FieldProblem(f"query:{name[:50]}", "unknown_field", _UNKNOWN) for name in unknown[:20]]
        raise Invalid("; ".join(f"{field.pointer}: {_UNKNOWN.en}" for field in fields), fields=fields)


class BodyNotJson(DomainError):
    """The operation takes JSON, and the request's `Content-Type` names another format."""

    kind, code = ErrorKind.UNSUPPORTED, "BODY_NOT_JSON"
    says = Text("ต้องส่งข้อมูลเป็น application/json", "Send the body as application/json.")
    recovery = (Text("ตั้ง Content-Type เป็น application/json", "Set the Content-Type to application/json."),)


def _check_content_type(request: Request) -> None:
    """:raises BodyNotJson:"""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type and getattr(_route(request), "body_field", None) is not None and not _JSON.fullmatch(media_type):
        raise BodyNotJson


def _query_parameters(request: Request) -> set[str]:
    # The fields of a query model are plain fields.
    ignored = (params.Path, params.Header, params.Cookie)
    return {
        parameter.alias
        for parameter in get_flat_params(_route(request).dependant)
        if not isinstance(parameter.field_info, ignored)
    }


def _route(request: Request) -> Any:
    return request.scope.get("fastapi", {}).get("effective_route_context") or request.scope["route"]


def too_deep(body: bytes) -> FieldProblem:
    """Name the outermost member, if possible."""
    return FieldProblem(_deep_pointer(body), "too_large", TOO_DEEP)


def _deep_pointer(body: bytes) -> str:
    depth, is_quoted, start, name = 0, False, 0, b""
    for count, match in enumerate(_MARK.finditer(body)):
        mark = match[0]
        if mark == b'"':
            if is_quoted and depth == 1:  # a member's name, or a string value, which no bracket follows
                name = body[start : match.start()]
            is_quoted, start = not is_quoted, match.end()
        elif is_quoted or mark.startswith(b"\\"):
            continue
        else:
            depth += 1 if mark in b"{[" else -1
        if depth > DEEPEST:
            return f"/{name.decode()}" if _FIELD.fullmatch(name) else ""
        if count > _MOST_MARKS:
            break
    return ""
