"""
What creating an RFA pays for what is done beside it: the rows of the index of reach, the row by which search hears of it, and the
worker inside the server.
"""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy.engine import make_url

from benchmarks import http, number_baselines, processor
from benchmarks.bench import Bench, Suite
from benchmarks.load import LoadResult, Round, closed_loop, interleaved
from benchmarks.overload import Arrivals
from benchmarks.pending_rfas import create_rfa
from benchmarks.results import Row
from benchmarks.workflow import until_told
from saraban.bootstrap import closing, wire
from saraban.documents.core.repository.reach import ReachIndex
from saraban.documents.demo.service import find_demo_project
from saraban.search_index import service as search_index
from tests.conftest import settings_in

CLIENTS = 16
_NAME = "creation"


def without_reach() -> AbstractContextManager[object]:
    """Leave the rows of new documents out of the index of reach, in this process alone."""
    return patch.object(ReachIndex, "add", lambda *_, **__: None)


async def nothing_noted(*_: object) -> None:
    """Note nothing."""


def without_search() -> AbstractContextManager[object]:
    """Have search hear nothing of new documents, in this process alone."""
    return patch.object(search_index, "note_changes", nothing_noted)


async def reach(b: Bench) -> list[Row]:
    return await _beside(b, "rows of reach", without_reach)


async def search_queue(b: Bench) -> list[Row]:
    return await _beside(b, "the queue of search", without_search)


async def _beside(b: Bench, what: str, without: Callable[[], AbstractContextManager[object]]) -> list[Row]:
    """
    16 clients in process, with what is written beside a document and without it, in databases of their own.

    :param without: leaves it out in this process
    """
    b.say(f"create an RFA, with {what} and without")
    async with AsyncExitStack() as stack:
        sides: dict[str, Round] = {}
        for name in ("with", "without"):
            url = b.mariadb.create(f"{what.replace(' ', '_')}_{name}", statements=b.template)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = settings_in(folder, database_url=url, redis_url=b.redis.url)
            system = await stack.enter_async_context(closing(wire(settings)))
            async with system.db.reading() as session:
                known = await find_demo_project(session, system.clock.now(), system.clock.zone)
            sides[name] = b.of(partial(create_rfa, system, known), CLIENTS)
        sides["without"] = _left_out(sides["without"], without)
        measured = await interleaved(sides, rounds=b.rounds)
    rates = {name: side.rate for name, side in measured.items()}
    of = f"create an RFA in process, {CLIENTS} clients"
    return [
        *(Row(_NAME, f"{of}: {name} {what}", rate, "documents/s") for name, rate in rates.items()),
        Row(
            _NAME,
            f"create with {what}, against without",
            rates["with"] / rates["without"],
            "x",
            ">= 0.85",
            measured["with"].refused,
        ),
    ]


def _left_out(run: Round, without: Callable[[], AbstractContextManager[object]]) -> Round:
    async def left_out() -> LoadResult:
        with without():
            return await run()

    return left_out


class _Served:
    """A server that creates RFAs for 16 clients; what is left to do after a round is done before the next one begins."""

    def __init__(self, b: Bench, site: http.Site, clients: http.Clients, connection: Any) -> None:
        self._creating = clients.sending([site.document("rfas")])
        self._b, self._site, self._connection = b, site, connection
        self.spent, self.done = 0.0, 0

    async def round(self) -> LoadResult:
        before = processor.seconds(self._site.pid)
        outcome = await closed_loop(self._creating, clients=CLIENTS, seconds=self._b.seconds)
        self.spent += processor.seconds(self._site.pid) - before
        self.done += outcome.done
        if self._connection is not None:
            await until_told(self._connection)
        return outcome


async def worker(b: Bench) -> list[Row]:
    """Creating RFAs over HTTP, on a server that has its worker and on one that has none."""
    b.say("create an RFA over HTTP, with the worker inside the server and without")
    async with AsyncExitStack() as stack:
        on = await stack.enter_async_context(_served(b, worker=True))
        off = await stack.enter_async_context(_served(b, worker=False))
        sides = await interleaved({"on": on.round, "off": off.round}, rounds=b.rounds)
    of = f"create an RFA, {CLIENTS} clients: worker"
    share = sides["on"].rate / sides["off"].rate
    rows = []
    for name, served in (("on", on), ("off", off)):
        rows += [
            Row(_NAME, f"{of} {name}", sides[name].rate, "documents/s"),
            Row(_NAME, f"{of} {name}: processor", served.spent * 1000 / max(served.done, 1), "ms"),
        ]
    return [*rows, Row(_NAME, "create with the worker on, against off", share, "x", ">= 1", sides["on"].refused)]


@asynccontextmanager
async def _served(b: Bench, *, worker: bool) -> Any:
    url = b.mariadb.create(f"worker_{'on' if worker else 'off'}", statements=b.template)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            http.site_on(url, b.redis.url, Path(folder), settings={"run_worker": worker}) as site,
            http.Clients(site.port, CLIENTS) as clients,
        ):
            connection = await number_baselines.connect(make_url(url)) if worker else None
            try:
                yield _Served(b, site, clients, connection)
            finally:
                if connection is not None:
                    connection.close()


# RFAs, transmittals and letters, 4:3:3.
MIX = (
    *("rfas", "transmittals", "correspondences"),
    *("rfas", "transmittals", "correspondences"),
    *("rfas", "transmittals", "correspondences", "rfas"),
)
DOCUMENTS_PER_SECOND, MINUTE = 100, 60.0
_SETTLED = 3.0  # seconds in which search catches up


async def consequences(b: Bench) -> list[Row]:
    """What a created document costs with its events, notifications and search; and 100 of them in a second."""
    b.say("create RFAs, transmittals and letters, with the worker inside the server")
    url = b.mariadb.create("consequences", statements=b.template)
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(url, b.redis.url, Path(folder), settings={"run_worker": True}) as site:
            carried = await site.issued("correspondences")
            arrivals = Arrivals(site.port, *(site.document(register, carried) for register in MIX))
            await arrivals.offer(per_second=20, seconds=2)  # warms the server up
            connection = await number_baselines.connect(make_url(url))
            pids = {"server": site.pid, "MariaDB": b.mariadb.pid}
            await _settle(connection)
            before = {name: processor.seconds(pid) for name, pid in pids.items()}
            calm = await arrivals.offer(per_second=20, seconds=3 * b.seconds)
            await _settle(connection)
            spent = {name: processor.seconds(pid) - before[name] for name, pid in pids.items()}
            b.say(f"{DOCUMENTS_PER_SECOND} documents/s offered for {MINUTE:.0f} s")
            load = await arrivals.offer(per_second=DOCUMENTS_PER_SECOND, seconds=MINUTE)
            arrivals.close()
            await connection.ensure_closed()
    wanted = {"server": "<= 11", "MariaDB": "<= 7"}
    of, offered = "a created document, with its consequences", f"{DOCUMENTS_PER_SECOND} documents/s offered"
    return [
        *(Row(_NAME, f"{of}: {name}", spent[name] * 1000 / calm.done, "ms", wanted[name]) for name in pids),
        Row(_NAME, f"{offered}: created", load.rate, "documents/s"),
        Row(_NAME, f"{offered}: p50", load.percentile(0.5) * 1000, "ms"),
        Row(_NAME, f"{offered}: p95", load.percentile(0.95) * 1000, "ms", "<= 2000"),
        Row(_NAME, f"{offered}: errors", load.refused + sum(load.failed.values()), "answers", "<= 0"),
    ]


async def _settle(connection: Any) -> None:
    await until_told(connection)
    await asyncio.sleep(_SETTLED)


SUITES: dict[str, Suite] = {
    "reach": reach,
    "search-queue": search_queue,
    "worker": worker,
    "consequences": consequences,
}
