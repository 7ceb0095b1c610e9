"""The rows of one document over HTTP: creating an RFA beside the bare transaction, reading one, and its page."""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from benchmarks import http, processor
from benchmarks.bench import Bench, Suite
from benchmarks.document_baselines import pattern_of, rows_of
from benchmarks.load import Operation, closed_loop, interleaved
from benchmarks.number_baselines import Pool
from benchmarks.results import Row
from benchmarks.trips import CountingWire, counting

CLIENTS = 16
COUNTED = 20
STATEMENTS = Path("build/bench-statements.txt")
_NAME = "documents"
# One round trip may carry several, joined by a semicolon.
_STATEMENT = re.compile(r"(?:^|;)\s*(?:[A-Z]+\b|\(prepared\))")


@dataclass(frozen=True)
class Asked:
    """
    What is asked of a server, and what of it is wanted.

    :param trips: to the database, at most
    :param milliseconds: of processor, at most
    """

    name: str
    clients: int
    trips: str = ""
    milliseconds: str = ""


CREATE = Asked("create an RFA, 16 clients", CLIENTS, "<= 14", "<= 8")
READ = Asked("one RFA", 1, "<= 5", "<= 5")
PAGE = Asked("the page of an RFA", 1, "<= 12", "<= 15")
NOTHING = Asked("an address that does nothing, 16 clients", CLIENTS)


@asynccontextmanager
async def _site(b: Bench, url: str) -> AsyncIterator[http.Site]:
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(url, b.redis.url, Path(folder)) as site:
            yield site


async def documents(b: Bench) -> list[Row]:
    """Rate, processor and round trips; what costs time is measured without the wire that counts."""
    url = b.mariadb.create("documents", statements=b.template)
    async with _site(b, url) as site:
        public_id = await site.issued("rfas")
        rows = await _rates(b, url, site)
        for asked, request in _requests(site, public_id).items():
            b.say(f"{asked.name}: processor")
            rows.append(await _processor(b, site, asked, request))
    b.say("round trips")
    told: list[str] = []
    async with counting(url) as (wire, near), _site(b, near) as site:
        for asked, request in _requests(site, public_id).items():
            rows.append(await _trips(site, wire, asked, request, told))
    await asyncio.to_thread(_write, told)
    return rows


def _write(lines: list[str]) -> None:
    STATEMENTS.parent.mkdir(exist_ok=True)
    STATEMENTS.write_text("\n".join(lines), encoding="utf-8")


def _requests(site: http.Site, public_id: str) -> dict[Asked, bytes]:
    return {
        CREATE: site.document("rfas"),
        READ: site.reading(f"/api/v1/rfas/{public_id}"),
        PAGE: site.reading(f"/rfas/{public_id}", as_page=True),
        NOTHING: site.nothing,
    }


async def _rates(b: Bench, url: str, site: http.Site) -> list[Row]:
    """Creating RFAs, and the same rows by the bare driver in a database of its own."""
    b.say(f"{CREATE.name}, beside the bare transaction")
    async with AsyncExitStack() as stack:
        clients = await stack.enter_async_context(http.Clients(site.port, CLIENTS))
        creating = clients.sending([site.document("rfas")])
        bare = await _bare(b, url, stack, creating)
        sides = await interleaved(
            {"Saraban": b.of(creating, CLIENTS), "bare transaction": b.of(bare, CLIENTS)}, rounds=b.rounds
        )
    mine, floor = sides["Saraban"], sides["bare transaction"]
    return [
        *(Row(_NAME, f"{CREATE.name}: {name}", side.rate, "documents/s") for name, side in sides.items()),
        Row(_NAME, f"{CREATE.name}: Saraban, p99", mine.percentile(0.99) * 1000, "ms"),
        Row(_NAME, "create, against the bare transaction", mine.rate / floor.rate, "x", ">= 0.4", mine.refused),
    ]


async def _bare(b: Bench, url: str, stack: AsyncExitStack, creating: Operation) -> Operation:
    async with Pool(make_url(url), 1) as single:
        async with single.transaction() as cursor:
            before = await rows_of(cursor)
        await creating()
        async with single.transaction() as cursor:
            pattern = await pattern_of(cursor, before)
    apart = b.mariadb.create("documents_bare", statements=b.mariadb.dump("documents"))
    return pattern.creating(await stack.enter_async_context(Pool(make_url(apart), CLIENTS)))


async def _processor(b: Bench, site: http.Site, asked: Asked, request: bytes) -> Row:
    async with http.Clients(site.port, asked.clients) as clients:
        operation = clients.sending([request])
        await operation()
        before = processor.seconds(site.pid)
        done = await closed_loop(operation, clients=asked.clients, seconds=b.seconds)
        spent = (processor.seconds(site.pid) - before) * 1000 / max(done.done, 1)
    return Row(_NAME, f"{asked.name}: processor", spent, "ms", asked.milliseconds, done.refused)


async def _trips(site: http.Site, wire: CountingWire, asked: Asked, request: bytes, told: list[str]) -> Row:
    """:param told: takes the statements of one request"""
    async with http.Clients(site.port, 1) as clients:
        found = await wire.counted(clients.sending([request]), COUNTED)
    statements = sum(len(_STATEMENT.findall(text)) for text in wire.statements) / COUNTED
    told += [f"# {asked.name}", *wire.statements[-max(round(found), 1) :], ""]
    return Row(_NAME, f"{asked.name}: round trips ({statements:.0f} statements)", found, "", asked.trips)


SUITES: dict[str, Suite] = {"documents": documents}
