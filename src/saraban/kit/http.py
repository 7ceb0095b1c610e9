"""
HTTP helpers: read session, language, problem responses, and headers for retries.

Only `dependencies`, `endpoints`, `web`, `ops` and `app` may import it.
"""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, BinaryIO, Final, Generic, Literal, ParamSpec, TypeVar
from uuid import UUID

import orjson
import structlog
from fastapi import Depends, Header, Path, Query, Request
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.datastructures import FormData
from starlette.responses import JSONResponse, Response, StreamingResponse

from saraban.kit.child_processes import CHILDREN
from saraban.kit.clock import Clock
from saraban.kit.db import Database
from saraban.kit.departure import ClientGone
from saraban.kit.errors import DomainError, ErrorKind, Text, invalid
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import trace_id
from saraban.kit.json import Json
from saraban.kit.operation import Receipt
from saraban.kit.pagination import MAX_PAGE
from saraban.kit.problem import MEDIA_TYPE, status_of, to_problem
from saraban.kit.text import check_marks

log = structlog.get_logger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


def async_dependency(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Run a non-blocking dependency in the event loop: FastAPI's thread pool costs 0.5 ms."""

    @wraps(function)
    async def called(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    return called


class OrjsonResponse(JSONResponse):
    def render(self, content: object) -> bytes:
        return orjson.dumps(content)


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Objects that `bootstrap` creates for the endpoints. Each feature extends it in its dependencies."""

    db: Database
    clock: Clock
    idempotency: Idempotency


W = TypeVar("W", bound=Wiring)


def wiring(request: Request, part: type[W]) -> W:
    system = request.app.state
    if not isinstance(system, part):
        raise TypeError(f"{part.__name__} is not wired before the lifespan of the application begins")
    return system


class Received(Generic[T]):
    """
    A dependency that reads a type known only at run time.
    :param annotation: for FastAPI, such as a model, or a model annotated with `Query()`
    """

    def __init__(self, name: str, annotation: object) -> None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.name = name
        self.__signature__ = inspect.Signature([inspect.Parameter(name, kind, annotation=annotation)])

    async def __call__(self, **values: T) -> T:
        return values[self.name]


def database(request: Request) -> Database:
    return wiring(request, Wiring).db


def clock(request: Request) -> Clock:
    return wiring(request, Wiring).clock


def idempotency(request: Request) -> Idempotency:
    return wiring(request, Wiring).idempotency


async def read_session(request: Request) -> AsyncIterator[AsyncSession]:
    async with database(request).reading() as session:
        yield session


def language(request: Request) -> str:
    """Return `th` or `en` from the `lang` cookie, then `Accept-Language`, then Thai."""
    chosen = request.cookies.get("lang")
    if chosen in {"th", "en"}:
        return chosen
    preferences = [_language_preference(part) for part in request.headers.get("accept-language", "").split(",")]
    supported = [(quality, tag) for quality, tag in preferences if tag in {"th", "en"} and quality > 0]
    # `max` returns the first of equals, in the order of the header.
    return max(supported, key=lambda preference: preference[0])[1] if supported else "th"


def _language_preference(part: str) -> tuple[float, str]:
    tag, _, rest = part.partition(";")
    try:
        quality = float(rest.strip().removeprefix("q=")) if rest else 1.0
    except ValueError:
        quality = 0.0
    return quality, tag.strip().lower()[:2]


_REFUSED = re.compile(r"\s*q\s*=\s*0(\.0*)?\s*", re.IGNORECASE)


def accepts_gzip(accept_encoding: str) -> bool:
    parts = (part.partition(";") for part in accept_encoding.split(","))
    weights = {coding.strip().lower(): weight for coding, _, weight in parts}
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and not _REFUSED.fullmatch(weight)


def client_address(request: Request) -> str:
    """The server has resolved trusted proxies."""
    return request.client.host if request.client else ""


_MOST_PARAMETER: Final = 4_000  # characters; a field may allow fewer


async def check_texts(request: Request) -> None:
    """
    Check the path, the query and the parsed form.
    :raises Invalid: for a parameter that is too long, or a run of combining marks
    """
    parameters = [(f"path:{name}", str(value)) for name, value in request.path_params.items()]
    parameters += [(f"query:{name[:50]}", value) for name, value in request.query_params.multi_items()]
    for pointer, text in parameters:
        if len(text) > _MOST_PARAMETER:
            th, en = "ยาวเกินไป (สูงสุด {most} ตัวอักษร)", "This is too long (at most {most} characters)."
            raise invalid(pointer, "too_long", th, en, most=_MOST_PARAMETER)
        check_marks(text, pointer)
    check_form(getattr(request, "_form", None) or FormData())


def check_form(form: FormData) -> FormData:
    """:raises Invalid: for a run of combining marks in a field or a file name"""
    for name, value in form.multi_items():
        check_marks(value if isinstance(value, str) else value.filename or "", f"/{name[:50]}")
    return form


_KEY_LENGTH: Final = 128
_KEY_FORM: Final = "^[!-~]([ -~]*[!-~])?$"
_KEY_SAYS: Final = "Your own name for this request, by which it can be sent again: 1 to 128 printable ASCII characters."
# For the OpenAPI. FastAPI ignores an empty header, whose sender would believe the request is protected.
KEY_PARAMETER: Final[Mapping[str, object]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": _KEY_LENGTH, "pattern": _KEY_FORM},
    "description": _KEY_SAYS,
}


def idempotency_key(request: Request) -> str | None:
    """:raises Invalid:"""
    key = request.headers.get("idempotency-key")
    if key is not None and (len(key) > _KEY_LENGTH or not re.fullmatch(_KEY_FORM, key)):
        raise invalid(
            "header:Idempotency-Key",
            "malformed",
            "Idempotency-Key ต้องเป็นอักขระ ASCII ที่พิมพ์ได้ 1-128 ตัว",
            "The Idempotency-Key must be 1 to 128 printable ASCII characters.",
        )
    return key


def respond(
    model: BaseModel, *, status: int = 200, receipt: Receipt | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Send a model; `receipt` adds the header `Idempotent-Replay` to a repeated request."""
    repeated = {"Idempotent-Replay": "true"} if receipt is not None and receipt.repeated else {}
    body = model.model_dump_json(by_alias=True)
    return Response(body, status_code=status, headers={**(headers or {}), **repeated}, media_type="application/json")


class DoneButNotShown(DomainError):
    """The request was carried out, but its result could not be read afterwards. Do not send it again."""

    kind, code = ErrorKind.BUSY, "DONE_BUT_NOT_SHOWN"
    says = Text("ดำเนินการเสร็จแล้ว แต่ยังแสดงผลไม่ได้", "It is done, but the result cannot be shown now.")
    recovery = (
        Text("อย่าส่งซ้ำ ให้เปิดดูรายการนั้นภายหลัง", "Do not send it again; look at the resource later."),
        Text(
            "คำขอที่มี Idempotency-Key ส่งซ้ำด้วย key เดิมได้ ระบบจะแสดงผลโดยไม่ดำเนินการซ้ำ",
            "A request with an Idempotency-Key may be sent again with it: it is shown, and not done twice.",
        ),
    )


@contextmanager
def showing_done_work() -> Iterator[None]:
    """
    Distinguish errors after the commit: a client that retries would repeat the work.
    :raises DoneButNotShown: for an unexpected error
    """
    try:
        yield
    except (DomainError, ClientGone):
        raise
    except Exception as error:
        log.exception("done_but_not_shown")
        raise DoneButNotShown from error


@asynccontextmanager
async def read_after_commit(db: Database) -> AsyncIterator[AsyncSession]:
    with showing_done_work():
        async with db.reading() as session:
            yield session


def problem_response(request: Request, error: DomainError, status: int | None = None) -> Response:
    """:param status: replaces the status of the error's kind"""
    headers = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after is not None else {}
    if status_of(error) == 401:
        headers["WWW-Authenticate"] = "Bearer"
    headers["Content-Language"] = language(request)
    body = to_problem(error, language=language(request), trace_id=trace_id())
    if status is not None:
        body |= {"status": status, "title": HTTPStatus(status).phrase}
    return OrjsonResponse(body, status_code=status or status_of(error), media_type=MEDIA_TYPE, headers=headers)


ReadSession = Annotated[AsyncSession, Depends(read_session, scope="function")]
Db = Annotated[Database, Depends(async_dependency(database))]
Idempotent = Annotated[Idempotency, Depends(async_dependency(idempotency))]
Now = Annotated[Clock, Depends(async_dependency(clock))]
Language = Annotated[str, Depends(async_dependency(language))]
Address = Annotated[str, Depends(async_dependency(client_address))]
PathId = Annotated[UUID, Path(alias="publicId", description="The `publicId` of the thing.")]
IfMatch = Annotated[
    str | None, Header(alias="If-Match", max_length=100, description="The `ETag`, as you have seen it.")
]
PageLimit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Rows of one page.")]
NamedSheet = Annotated[
    str | None, Query(max_length=100, description="The sheet to read, if several have the headings.")
]
PageCursor = Annotated[str | None, Query(max_length=400, description="`nextCursor` of the page before.")]
WorkbookFormat = Annotated[Literal["xlsx", "csv"], Query(alias="format")]
_CHUNK = 1 << 16
MEDIA = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "csv": "text/csv; charset=utf-8",
    "zip": "application/zip",
}
SHEETS: Final = {  # that are imported
    MEDIA["xlsx"]: "xlsx",
    "application/vnd.ms-excel.sheet.macroenabled.12": "xlsm",
    "application/vnd.ms-excel": "xls",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "text/csv": "csv",
}
BINARY: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The sheet.",
        "content": {
            kind.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}}
            for form, kind in MEDIA.items()
            if form != "zip"
        },
    }
}


class NotAWorkbook(DomainError):
    """The body is not a spreadsheet, or its content type is not one of the supported formats."""

    kind, code = ErrorKind.UNSUPPORTED, "NOT_A_WORKBOOK"
    says = Text("ต้องส่งไฟล์ {known}", "Send a sheet: {known}.")
    recovery = (Text("ตั้ง Content-Type ให้ตรงกับรูปแบบของไฟล์", "Set the Content-Type to the one of its format."),)


def sheet_body(description: str) -> dict[str, Json]:
    content: dict[str, Json] = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in SHEETS}
    return {"requestBody": {"required": True, "description": description, "content": content}}


async def read_sent_sheet(request: Request, read: Callable[[FilePath], T]) -> T:
    """
    Read the body as a file, in a child process.
    :raises NotAWorkbook: for another content type
    :raises FileReadersBusy:
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type not in SHEETS:
        raise NotAWorkbook(values={"known": ", ".join(form.upper() for form in SHEETS.values())})
    content = await request.body()

    def work() -> T:
        with TemporaryDirectory(prefix="saraban-") as folder:
            path = FilePath(folder) / f"rows.{SHEETS[media_type]}"
            path.write_bytes(content)
            return read(path)

    return await CHILDREN.run(request.state.caller.public_id, work)


async def written_file(name: str, write: Callable[[FilePath], Awaitable[object]]) -> Response:
    """Write a file and send it. The folder is removed first; the open file can still be read."""
    with TemporaryDirectory(prefix="saraban-") as folder:
        path = FilePath(folder) / name
        await write(path)
        size, file = path.stat().st_size, path.open("rb")
    headers = {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(size),
    }
    return StreamingResponse(_chunks(file), media_type=MEDIA[path.suffix[1:]], headers=headers)


def stored_workbook(chunks: AsyncIterator[bytes], name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-store"}
    return StreamingResponse(chunks, media_type=MEDIA["xlsx"], headers=headers)


def _chunks(sheet: BinaryIO) -> Iterator[bytes]:
    with sheet:
        while chunk := sheet.read(_CHUNK):
            yield chunk
