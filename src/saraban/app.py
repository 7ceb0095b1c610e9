"""The ASGI application."""

import asyncio
import gc
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from functools import partial
from types import ModuleType
from typing import Any, Final

import structlog
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute

import saraban
from saraban import bootstrap, config
from saraban.attachments import endpoints as attachments
from saraban.attachments.adapters.text_reader import TextReader
from saraban.attachments.service.extraction import TextWorker
from saraban.bootstrap import System
from saraban.config import Settings
from saraban.documents import endpoints as documents
from saraban.documents.drawing.service import DRAWING_IMPORTERS
from saraban.identity import endpoints as identity
from saraban.imports.service.worker import ImportWorker
from saraban.kit.admission import Admission
from saraban.kit.error_text import error_text
from saraban.notifications import endpoints as notifications
from saraban.notifications.service import MailJob
from saraban.numbering import endpoints as numbering
from saraban.numbering.service import NUMBER_IMPORTER
from saraban.ops import audit_trail, event_endpoints, health, logs, openapi, route_index, system_report
from saraban.ops.metrics import Sampler
from saraban.ops.middleware import HostCookies, RequestMiddleware, warn_of_untrusted_proxy
from saraban.ops.operator_messages import operator_message, printed
from saraban.ops.problems import ProblemAnswers, check_request
from saraban.projects import endpoints as projects
from saraban.search import endpoints as search
from saraban.search.service.indexing import index_next, queue_files
from saraban.setup import endpoints as setup
from saraban.web import pages
from saraban.webhooks import endpoints as webhooks
from saraban.worker.loop import Job, Pace, Worker
from saraban.worker.schedule import Schedule
from saraban.worker.timers import TIMERS, Heartbeat
from saraban.workflow import endpoints as workflow

API = "/api/v1"
FEATURES: Final[tuple[ModuleType, ...]] = (
    identity,
    setup,  # before the projects that are addressed by their public ids
    projects,
    numbering,
    documents,
    workflow,
    attachments,
    notifications,
    search,
    webhooks,
    event_endpoints,
    audit_trail,
    system_report,
)
# Requests create thousands of short-lived objects and few cycles; Python's default is 700.
log = structlog.get_logger(__name__)
_COLLECT_AFTER = 5000
_TAKEOVER_SECONDS = 60.0  # seconds, in which a worker of the node takes the lock of the index of search
_POLL = 1.0  # seconds
DESCRIPTION = (
    "Document control for construction projects: every document draws a number that is used once, goes its way through "
    "an approval path, and can be accounted for. Sign in at `/api/v1/auth/login`; refusals are `application/problem+json`."
)


def create_app(settings: Settings | None = None, *, is_server: bool = False) -> FastAPI:
    """
    Nothing is opened before the lifespan begins.
    :param is_server: a failed start prints one line and ends the process
    """
    settings_used = settings or config.load()
    admission = Admission(settings_used.max_requests_in_progress)
    logs.configure(level=settings_used.log_level, form=settings_used.log_format)
    app = FastAPI(
        title="Saraban",
        summary="Numbers, approval paths and proof for project documents.",
        description=DESCRIPTION,
        version=saraban.__version__,
        contact={"name": "The administrators of this installation"},
        license_info={"name": "MIT", "identifier": "MIT"},
        servers=[{"url": settings_used.public_url.rstrip("/") or "/", "description": "This installation"}],
        openapi_url="/openapi.json",
        docs_url=None,  # its page loads external scripts, which the content policy refuses
        redoc_url=None,
        lifespan=Lifespan(settings_used, admission, is_server=is_server),
        separate_input_output_schemas=True,
        generate_unique_id_function=_operation_id,
        telemetry={
            "tracing": False,
            "metrics": False,
            "logs": False,
        },  # avoids the search for a provider at each request
    )
    app.include_router(health.router)
    for feature in FEATURES:
        app.include_router(feature.router, prefix=API, dependencies=[Depends(check_request)])
    problem_answers = ProblemAnswers(pages.install(app))
    problem_answers.install(app)
    openapi.complete(app)
    app.add_middleware(
        RequestMiddleware,
        upload_limit=settings_used.upload_max_bytes,
        problems=problem_answers,
        admission=admission,
        body_timeout=settings_used.body_timeout,
    )
    if settings_used.is_over_tls:
        app.add_middleware(HostCookies)
    route_index.install(app)
    return app


def _operation_id(route: APIRoute) -> str:
    """Return the method name of generated clients: `rfas_create`."""
    room = str(route.tags[0]).lower().replace(" ", "_") if route.tags else "saraban"
    return f"{room}_{route.name}"


def served() -> Any:
    """The server's factory; trusted proxies supply the client's address and scheme."""
    from granian.utils.proxies import wrap_asgi_with_proxy_headers

    proxies = [address.strip() for address in config.load().trusted_proxies.split(",") if address.strip()]
    app = create_app(is_server=True)
    tune_garbage_collector()
    return wrap_asgi_with_proxy_headers(app, trusted_hosts=proxies) if proxies else warn_of_untrusted_proxy(app)


def tune_garbage_collector() -> None:
    """Exclude permanent objects from collection, and collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, 10, 10)


def new_worker(system: System) -> Worker:
    return Worker(
        db=system.db,
        clock=system.clock,
        handlers=system.handlers,
        schedule=Schedule(system, TIMERS),
        jobs=_jobs(system),
        heartbeat=Heartbeat(system.db),
        notifier=system.worker_notifier,
        pace=Pace(lease=timedelta(seconds=system.settings.event_lease), busy=system.admission.is_busy),
    )


def _jobs(system: System) -> list[Job]:
    settings = system.settings
    turn = timedelta(seconds=settings.import_lease)
    numbers = ImportWorker(system.db, system.storage, NUMBER_IMPORTER, clock=system.clock, lease=turn)
    drawings = ImportWorker(system.db, system.storage, DRAWING_IMPORTERS["shop"], clock=system.clock, lease=turn)
    jobs = [
        Job("number_imports", numbers.round, numbers.due),
        Job("drawing_imports", drawings.round, drawings.due),
        Job("search_index", partial(index_next, system.db)),
    ]
    if settings.file_text_seconds:
        reader = TextReader(seconds=settings.file_text_seconds, memory=settings.file_text_memory)
        texts = TextWorker(
            system.db,
            system.storage,
            reader.read,
            clock=system.clock,
            lease=timedelta(seconds=reader.longest + 60),
            on_text=queue_files,
        )
        jobs.append(Job("file_texts", texts.round, texts.due))
    if system.mail_settings is not None:
        mails = MailJob(
            system.db, system.mail_settings, limiter=system.limiter, clock=system.clock, subjects=system.subjects
        )
        jobs.append(Job("mail", mails.round, mails.due))
    return jobs


class Lifespan:
    def __init__(self, settings: Settings, admission: Admission, *, is_server: bool) -> None:
        self.settings, self.admission, self.is_server = settings, admission, is_server

    @asynccontextmanager
    async def __call__(self, app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                await self._start(app, stack)
            except Exception as error:
                if self.is_server and (message := operator_message(error)):
                    sys.stderr.write(printed(message, config.language()))
                    sys.stderr.flush()
                    os._exit(1)
                raise
            yield

    async def _start(self, app: FastAPI, stack: AsyncExitStack) -> None:
        wired = bootstrap.wire(self.settings, admission=self.admission)
        system = await stack.enter_async_context(bootstrap.closing(wired))
        await bootstrap.refuse_demo_in_production(system)
        worker = new_worker(system) if self.settings.run_worker else None
        system.dependencies.append(health.WorkerProbe(system.db, worker).dependency())
        app.state = system  # type: ignore[assignment]  # `kit.http.wiring` reads it
        await stack.enter_async_context(_run_sampler(system))
        if worker is None:
            await stack.enter_async_context(_run_indexer(system))
            return
        await worker.beat()  # before the first probes
        worker.start()
        stack.push_async_callback(worker.stop)
        system.worker_notifier.on_notify(worker.wake)


@asynccontextmanager
async def _run_indexer(system: System) -> AsyncIterator[None]:
    """Keep the search index current on a node without a worker."""
    task = asyncio.create_task(_keep_indexing(system), name="saraban-search-index")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _keep_indexing(system: System) -> None:
    await asyncio.sleep(_TAKEOVER_SECONDS)
    while True:
        try:
            busy = await index_next(system.db)
        except Exception as error:  # noqa: BLE001  the door: the database may be down, and comes back
            log.warning("search_index_failed", reason=error_text(error))
            busy = False
        await asyncio.sleep(0 if busy else _POLL)


@asynccontextmanager
async def _run_sampler(system: System) -> AsyncIterator[None]:
    sampler = Sampler(db=system.db, allocator=system.allocator, clock=system.clock)
    task = asyncio.create_task(sampler.run(), name="saraban-sampler")
    try:
        yield
    finally:
        sampler.end()
        await task
