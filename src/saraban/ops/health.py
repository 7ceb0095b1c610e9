"""Liveness, readiness, metrics, and the page of error codes."""

import asyncio
import hmac
import math
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, cast

import sqlalchemy as sa
import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel, Field
from redis.asyncio import Redis
from starlette.responses import Response

from saraban.events import service as events
from saraban.kit import revisions
from saraban.kit.db import Database, database_fault
from saraban.kit.errors import DomainError, ErrorKind, Text
from saraban.kit.http import Db, OrjsonResponse, Wiring, client_address, wiring
from saraban.kit.private_files import probe_folder
from saraban.kit.redis import REDIS_ERRORS, probe_write
from saraban.kit.schema import Schema
from saraban.ops import error_catalogue, metrics

log = structlog.get_logger(__name__)
HEARTBEAT_LATE = 60.0  # seconds
LEAST_FREE_BYTES = 50 * 1024 * 1024  # the default upload limit


class DependencyDown(Exception):
    """Its text is public: it must not contain hosts or secrets."""


class DependencyOff(Exception):
    pass


@dataclass(frozen=True)
class Dependency:
    """`check` returns a sentence or raises; without an essential one the process cannot serve."""

    name: str
    check: Callable[[], Awaitable[str]]
    essential: bool


@dataclass(frozen=True, slots=True)
class Probes:
    db: Database
    redis: Redis | None
    lock_masters: Sequence[Redis]
    files: Path

    def dependencies(self) -> list[Dependency]:
        return [
            Dependency("database", self.check_database, essential=True),
            Dependency("migrations", self.check_migrations, essential=True),
            Dependency("storage", self.check_storage, essential=True),
            Dependency("redis", self.check_redis, essential=False),
        ]

    async def check_database(self) -> str:
        await self.db.ping()
        if self.db.is_sqlite:
            await asyncio.to_thread(_require_free_space, Path(self.db.url.database or ".").parent)
        return "answers"

    async def check_migrations(self) -> str:
        current = cast("str | None", await _scalar(self.db, "SELECT version_num FROM alembic_version"))
        newest = await asyncio.to_thread(revisions.newest)
        await asyncio.to_thread(revisions.refuse_unknown, current)
        if current != newest:
            raise DependencyDown(
                f"the database stands at {current}, this version needs {newest}: run `saraban migrate`"
            )
        return f"at {current}"

    async def check_storage(self) -> str:
        return await asyncio.to_thread(_check_folder, self.files)

    async def check_redis(self) -> str:
        servers = [_write_fault("it", self.redis)] if self.redis else []
        servers += [_write_fault(f"lock master {place}", master) for place, master in enumerate(self.lock_masters, 1)]
        if not servers:
            raise DependencyOff("not set up; the database alone keeps numbers unique")
        if faults := "; ".join(filter(None, await asyncio.gather(*servers))):
            raise DependencyDown(faults)
        return "takes writes"


class RunningWorker(Protocol):
    @property
    def is_running(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class WorkerProbe:
    db: Database
    worker: RunningWorker | None

    def dependency(self) -> Dependency:
        return Dependency("worker", self.check_heartbeat, essential=False)

    async def check_heartbeat(self) -> str:
        if self.worker is not None and not self.worker.is_running:
            raise DependencyDown("it has stopped; restart the server")
        age = await events.heartbeat_age(self.db)
        if age > HEARTBEAT_LATE:
            silence = "yet" if math.isinf(age) else f"for {age:.0f} s"
            raise DependencyDown(f"no heartbeat of any worker {silence}; start `saraban worker`")
        return f"{'runs inside this server; ' if self.worker else ''}last heartbeat {age:.0f} s ago"


async def _write_fault(name: str, redis: Redis) -> str:
    """Return a public reason; only the log names the host."""
    try:
        await probe_write(redis)
    except REDIS_ERRORS as fault:
        options = redis.connection_pool.connection_kwargs
        server = f"{options.get('host', options.get('path'))}:{options.get('port', '')}"
        log.warning("redis.takes_no_writes", server=server, error=f"{type(fault).__name__}: {fault}"[:300])
        code = str(fault).partition(" ")[0]
        return f"{name} takes no writes ({code if code.isupper() else type(fault).__name__})"
    return ""


async def database_version(db: Database) -> str:
    return str(await _scalar(db, "SELECT sqlite_version()" if db.is_sqlite else "SELECT VERSION()"))


async def connection_limit(db: Database) -> int:
    limits = "IF(@@max_user_connections, LEAST(@@max_user_connections, @@max_connections), @@max_connections)"
    return int(str(await _scalar(db, f"SELECT {limits}")))


async def _scalar(db: Database, statement: str) -> object:
    async with db.engine.connect() as connection:
        return await connection.scalar(sa.text(statement))


def _require_free_space(folder: Path) -> None:
    if shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
        raise DependencyDown("less than 50 MB are free")


def _check_folder(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        probe_folder(folder)
    except OSError as fault:
        raise DependencyDown(f"the folder cannot be written ({fault.strerror})") from fault
    _require_free_space(folder)
    return "can be written"


router = APIRouter(tags=["Operations"])

PROBE_TIMEOUT_SECONDS = 3.0


class DependencyReport(Schema):
    status: Literal["up", "down", "off"]
    reason: str = Field(examples=["answers"])


class Readiness(Schema):
    status: Literal["ready", "degraded", "down"]
    dependencies: dict[str, DependencyReport] = Field(examples=[{"database": {"status": "up", "reason": "answers"}}])


class Alive(Schema):
    status: Literal["alive"] = "alive"


@dataclass(frozen=True, kw_only=True)
class OpsWiring(Wiring):
    settings: BaseModel
    metrics_token: str
    storage_folder: Path
    handlers: events.Handlers
    dependencies: list[Dependency]


@router.get("/health/live", summary="Is the process alive")
async def live() -> Alive:
    """Responds while the event loop runs; it checks nothing else."""
    return Alive()


@router.get("/health/ready", summary="Can it serve, and which dependency is down", response_model=Readiness)
async def ready(request: Request) -> Response:
    """
    503 while the database, its migrations or the file storage is down. Without Redis or a worker the status is
    `degraded`, and requests are served.
    """
    dependencies = wiring(request, OpsWiring).dependencies
    reports = await check_all(dependencies)
    down = [dependency.essential for dependency in dependencies if reports[dependency.name].status == "down"]
    status: Literal["ready", "degraded", "down"] = "down" if any(down) else "degraded" if down else "ready"
    answer = Readiness(status=status, dependencies=reports)
    return OrjsonResponse(answer.model_dump(by_alias=True), status_code=503 if status == "down" else 200)


async def check_all(dependencies: Sequence[Dependency]) -> dict[str, DependencyReport]:
    reports = await asyncio.gather(*map(_check, dependencies))
    return {dependency.name: report for dependency, report in zip(dependencies, reports, strict=True)}


async def _check(dependency: Dependency) -> DependencyReport:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_SECONDS):
            return DependencyReport(status="up", reason=await dependency.check())
    except (DependencyDown, DomainError) as absence:
        return DependencyReport(status="down", reason=str(absence))
    except DependencyOff as absence:
        return DependencyReport(status="off", reason=str(absence))
    except TimeoutError:
        return DependencyReport(status="down", reason=f"no answer within {PROBE_TIMEOUT_SECONDS:g} seconds")
    except Exception as fault:  # noqa: BLE001  a probe reports any error
        # The message may contain hosts and users, so only its kind is shown.
        return DependencyReport(status="down", reason=f"fails ({database_fault(fault) or type(fault).__name__})")


class MetricsNotAllowed(DomainError):
    """
    The request does not have the token of `SARABAN_METRICS_TOKEN`; without that setting only the server's own machine
    may read metrics.
    """

    kind, code = ErrorKind.UNAUTHENTICATED, "METRICS_NOT_ALLOWED"
    says = Text("การอ่านค่าวัดของระบบต้องใช้โทเค็น", "Reading the measurements requires their token.")
    recovery = (Text("ส่งค่าของ SARABAN_METRICS_TOKEN เป็น Bearer", "Send the value of SARABAN_METRICS_TOKEN as Bearer."),)


def _require_scraper(request: Request) -> None:
    if token := wiring(request, OpsWiring).metrics_token:
        is_allowed = hmac.compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode())
    else:
        is_direct = not any(name in request.headers for name in ("forwarded", "via", "x-forwarded-for", "x-real-ip"))
        is_allowed = is_direct and client_address(request) in {"127.0.0.1", "::1"}
    if not is_allowed:
        raise MetricsNotAllowed


@router.get("/metrics", summary="Measurements for Prometheus", response_class=Response)
async def measurements(request: Request, db: Db) -> Response:
    _require_scraper(request)
    body, form = metrics.exposition(db)
    return Response(body, media_type=form)


@router.get("/docs/errors", summary="What each error code means", include_in_schema=False)
async def errors() -> HTMLResponse:
    return HTMLResponse(_errors_page())


@lru_cache(maxsize=1)
def _errors_page() -> str:
    return error_catalogue.as_html(error_catalogue.loaded_errors())
