"""
Two hundred document controllers over HTTP: each does one thing in ten seconds, however long the server takes for it.

Registers, documents and tasks are the pages that they look at; files come, and documents go, by the API. A few demo accounts
stand in for all of them, so nobody's limit of numbers applies.
"""

import tempfile
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import accumulate
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import httpx
import orjson

from benchmarks import filled, http, processor
from benchmarks.bench import Bench, Suite
from benchmarks.load import LoadResult, Operation, open_loop
from benchmarks.results import Row
from saraban.documents.demo.domain import pdf_page
from saraban.kit.clock import SystemClock
from saraban_tools.mix import Choices
from tests.conftest import PASSWORD
from tests.servers import HOST

DOCUMENTS, MANY = 20_000, 1_000_000
CONTROLLERS, EVERY = 200, 10.0
# What they do, in percent; of what changes something every second is a creation, and the next submits what was created.
SHARES: Final[Mapping[str, int]] = {"register": 40, "document": 30, "tasks": 15, "file": 10, "change": 5}
ACCOUNTS = ("dc.contractor", "dc.consultant", "approver.owner")
WRITER = "dc.contractor"
REGISTERS = ("rfas", "correspondences", "transmittals")
# As people narrow a register: mostly not at all.
SEARCHES = ("", "", "", "status=in_progress", "pendingWithMe=true", "overdue=true", "sort=-number")
_DAYS = 6 * 365  # so far back lie generated documents
_NAME = "controllers"
_FIRST = 13  # of the choices, which are the same every time


@dataclass(slots=True)
class Office:
    """
    Whoever is signed in, and what they find.

    :param documents: the pages of documents that each account sees, from all years
    :param submitted_next: workflows of documents that were created meanwhile
    """

    site: http.Site
    tokens: Mapping[str, str]
    documents: Mapping[str, Sequence[str]]
    file: str
    submitted_next: deque[str] = field(default_factory=deque)
    done: dict[str, list[float]] = field(default_factory=lambda: {action: [] for action in SHARES})

    def page(self, account: str, path: str) -> bytes:
        return self.site.reading(path, as_page=True, token=self.tokens[account])

    def request(self, action: str, account: str, chance: Choices) -> bytes:
        """Return the bytes of one action that only reads."""
        if action == "register":
            search = chance.one_of(SEARCHES)
            return self.page(account, f"/{chance.one_of(REGISTERS)}" + (f"?{search}" if search else ""))
        if action == "document":
            return self.page(account, chance.one_of(self.documents[account]))
        if action == "tasks":
            return self.page(account, "/inbox")
        return self.site.reading(self.file, token=self.tokens[account])

    async def change(self, client: http.Client) -> None:
        """Create an RFA, or submit one that was created before."""
        token = self.tokens[WRITER]
        if self.submitted_next:
            path = f"/api/v1/workflow/instances/{self.submitted_next.popleft()}/transitions"
            await client.send(self.site.posting(path, {"action": "submit"}, token=token))
            return
        created = await client.send(self.site.posting("/api/v1/rfas", self.site.draft("rfas"), token=token))
        self.submitted_next.append(orjson.loads(created)["workflow"]["instancePublicId"])


def acting(office: Office, clients: http.Clients) -> Operation:
    """Return what one of them does next; the accounts take turns."""
    chance = Choices(_FIRST)
    actions, totals = list(SHARES), list(accumulate(SHARES.values()))

    async def operation() -> object:
        action = chance.weighed(actions, totals)
        account = chance.one_of(ACCOUNTS)
        begun = time.perf_counter()
        async with clients.one() as client:
            if action == "change":
                await office.change(client)
            else:
                await client.send(office.request(action, account, chance))
        office.done[action].append(time.perf_counter() - begun)
        return action

    return operation


async def measured(b: Bench, url: str, *, documents: int) -> list[Row]:
    """Load the server of a filled database for a minute (at eight seconds a round), after a time that counts for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        no_limits = {"draw_limit_user": 0, "draw_limit_address": 0}
        async with http.site_on(url, b.redis.url, Path(folder), settings=no_limits) as site:
            office = await opened(site)
            async with http.Clients(site.port, CONTROLLERS) as clients:
                b.say(f"{CONTROLLERS} controllers, {documents:,} documents")
                operation, rate = acting(office, clients), CONTROLLERS / EVERY
                await open_loop(operation, per_second=rate, seconds=b.seconds)
                for latencies in office.done.values():
                    latencies.clear()
                server, ours, began = processor.seconds(site.pid), time.process_time(), time.perf_counter()
                outcome = await open_loop(operation, per_second=rate, seconds=7.5 * b.seconds)
                spent, generator = processor.seconds(site.pid) - server, time.process_time() - ours
                lasted = time.perf_counter() - began
    return _rows(outcome, office, documents, server=spent / lasted, generator=generator / lasted)


def _rows(outcome: LoadResult, office: Office, documents: int, *, server: float, generator: float) -> list[Row]:
    of = f"{CONTROLLERS} controllers, {documents:,} documents"
    each = [
        Row(_NAME, f"{of}: {action}, p95", LoadResult(latencies=times).percentile(0.95) * 1000, "ms")
        for action, times in office.done.items()
        if times
    ]
    return [
        Row(_NAME, f"{of}: p50", outcome.percentile(0.5) * 1000, "ms"),
        Row(_NAME, f"{of}: p95", outcome.percentile(0.95) * 1000, "ms", "<= 500", outcome.refused),
        Row(_NAME, f"{of}: errors", outcome.refused, "errors", "<= 0"),
        *each,
        Row(_NAME, f"{of}: processor of the server", server * 100, "% of a core"),
        Row(_NAME, f"{of}: processor of the load generator", generator * 100, "% of a core"),
    ]


async def opened(site: http.Site) -> Office:
    """Sign everybody in, look for documents of all years that they see, and issue one with a file for all of them."""
    tokens = {account: await site.token_of(account, PASSWORD) for account in ACCOUNTS}
    documents = {}
    for account, token in tokens.items():
        async with _signed_in(site, token) as client:
            documents[account] = [path async for path in _seen(client)]
    async with _signed_in(site, tokens[WRITER]) as client:
        return Office(site, tokens, documents, await _issued_file(client, site.draft("rfas")))


@asynccontextmanager
async def _signed_in(site: http.Site, token: str) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=f"http://{HOST}:{site.port}", timeout=60, headers=headers) as client:
        yield client


async def _seen(client: httpx.AsyncClient) -> AsyncIterator[str]:
    """Page through a week of every hundred days, and the newest: not all that is read lies in memory already."""
    today = SystemClock(ZoneInfo("UTC")).now().date()
    weeks = [{}] + [
        {"from": str(today - timedelta(days=ago)), "until": str(today - timedelta(days=ago - 7))}
        for ago in range(100, _DAYS, 100)
    ]
    for register in REGISTERS:
        for week in weeks:
            answer = await client.get(f"/api/v1/{register}", params={"limit": "100", **week})
            for one in answer.raise_for_status().json()["items"]:
                yield f"/{register}/{one['data']['publicId']}"


async def _issued_file(client: httpx.AsyncClient, draft: dict[str, Any]) -> str:
    """Return where the file of an issued document is."""
    content: dict[str, Any] = {"file": ("scan.pdf", pdf_page("scan"), "application/pdf")}
    file = (await client.post("/api/v1/attachments", files=content)).raise_for_status().json()["publicId"]
    created = await client.post("/api/v1/rfas", json=draft | {"attachmentPublicIds": [file]})
    instance = created.raise_for_status().json()["workflow"]["instancePublicId"]
    sent = await client.post(f"/api/v1/workflow/instances/{instance}/transitions", json={"action": "submit"})
    sent.raise_for_status()
    return f"/api/v1/attachments/{file}/content"


async def controllers(b: Bench) -> list[Row]:
    async with filled.on_mariadb(DOCUMENTS, b.say) as data:
        return await measured(b, data.url, documents=DOCUMENTS)


async def at_a_million(b: Bench) -> list[Row]:
    async with filled.on_mariadb(MANY, b.say) as data:
        return await measured(b, data.url, documents=MANY)


SUITES: dict[str, Suite] = {"controllers": controllers}
FULL: dict[str, Suite] = {"controllers-million": at_a_million}
