"""
Servers and workers are killed at random while people press buttons: nothing that was answered is lost, nothing is told
twice, nothing is told that did not happen.

Two servers, two workers, one MariaDB, one Redis; what is true afterwards is read from the rows, not asked of the product.
`make test` does this for less than half a minute, `make soak` (SARABAN_SOAK=1) for two minutes.
"""

import asyncio
import copy
import json
import os
import random  # noqa: TID251  whom it hits, and which server is asked
import signal
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
import sqlalchemy as sa

from saraban.events.models import DeadLetter, OutboxEvent
from saraban.kit.db import Database
from saraban.kit.ids import new_id
from saraban.notifications.models import Notification
from saraban.webhooks.models import Webhook
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.runtime.models import WorkflowHistory, WorkflowInstance
from tests.guarded_worker import HOST, lead_hooks_here
from tests.preloaded import PreloadedProgram
from tests.processes import RunningSaraban, environment_of, sign_in

SOAK = os.environ.get("SARABAN_SOAK") == "1"
SECONDS = 120.0 if SOAK else 12.0
LETTERS = 48 if SOAK else 12
CLIENTS = 6
LEASE = 4.0
WRITER, READER = "dc.contractor", "dc.consultant"
TOPIC = "came-back"


def endless() -> dict[str, Any]:
    """The letters' own workflow, with a way back to the draft: a letter never runs out of steps."""
    raw = copy.deepcopy(next(one for one in shipped() if one["workflow"] == "CORRESPONDENCE_FLOW_V1"))
    review = raw["states"][1]["on"]
    back = copy.deepcopy(review["approve"]) | {"to": "draft", "label": {"th": "ส่งกลับ", "en": "Send back"}}
    back["events"] = [{"type": "notify", "target": "originator"}, {"type": "webhook", "target": TOPIC}]
    review["send-back"] = back
    return raw


class Killable(Protocol):
    """A server or a worker."""

    async def start(self) -> None: ...
    def kill(self) -> None: ...


class Server:
    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self.running = RunningSaraban(folder, run_worker=False, **settings)

    async def start(self) -> None:
        await asyncio.to_thread(self.running.start)

    def kill(self) -> None:
        self.running.kill()


class WorkerProcess:
    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "worker.log"
        self._log.touch()
        self._starts = 0
        self._folder = folder
        self._environment = environment_of(**{"data_dir": folder, "log_format": "json"} | settings)
        self._process: PreloadedProgram | None = None

    async def start(self) -> None:
        self._process = PreloadedProgram(
            "worker", environment=self._environment, folder=self._folder, log=self._log, prepare=lead_hooks_here
        )
        self._starts += 1
        async with asyncio.timeout(60):
            while self._log.read_text(errors="replace").count('"worker_started"') < self._starts:
                assert self._process.poll() is None, self._log.read_text(errors="replace")[-3000:]
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None


@dataclass
class Heard:
    """What the receiver of webhooks was told, in order of arrival: ids and bodies."""

    messages: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    port: int = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Its sender may be killed in the middle of a sentence.
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(fields["content-length"]))
            self.messages.append((fields["webhook-id"], json.loads(body)))
            writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


@dataclass
class Load:
    """Clients that move letters to and fro, and whatever they were answered."""

    clients: dict[str, list[httpx.AsyncClient]]
    answered: dict[UUID, list[int]] = field(default_factory=lambda: defaultdict(list))
    unanswered: int = 0
    until: float = 0.0

    async def move(self, instances: list[UUID]) -> None:
        """Each step is asked again, of either server, with the version it belongs to, until somebody answers."""
        turn = random.Random(instances[0].int)
        for instance in cycle(instances):
            if time.monotonic() > self.until:
                return
            done = len(self.answered[instance])
            who, action = (WRITER, "submit") if done % 2 == 0 else (READER, "send-back")
            version = await self._step(turn, instance, who, {"action": action, "clientVersionNo": done + 1})
            self.answered[instance].append(version)

    async def _step(self, turn: random.Random, instance: UUID, who: str, body: dict[str, Any]) -> int:
        address, key = f"/api/v1/workflow/instances/{instance}/transitions", str(new_id())
        while True:
            try:
                answer = await turn.choice(self.clients[who]).post(address, json=body, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                self.unanswered += 1
                await asyncio.sleep(0.05)
                continue
            if answer.status_code == httpx.codes.OK:
                return int(answer.json()["workflow"]["versionNo"])
            code = answer.json()["code"]
            if code == "WORKFLOW_VERSION_CONFLICT":  # it was done by a server that did not live to say so
                return int(body["clientVersionNo"]) + 1
            # The one that was killed has left the key behind, as one that is still at it: the version is enough.
            assert code == "IDEMPOTENCY_KEY_IN_USE", answer.text
            key = str(new_id())
            await asyncio.sleep(0.1)


async def havoc(kinds: list[list[Killable]], *, until: float) -> int:
    """
    Every second or two one of them is killed and started again; of each kind one is left to go on meanwhile, however
    long a start takes on this machine.
    """
    luck = random.Random(4)
    starting: dict[int, asyncio.Task[None]] = {}
    kills = 0
    while time.monotonic() < until:
        await asyncio.sleep(luck.uniform(0.7, 1.7))
        whole = [number for number in range(len(kinds)) if number not in starting or starting[number].done()]
        if whole:
            number = luck.choice(whole)
            victim = luck.choice(kinds[number])
            victim.kill()
            kills += 1
            starting[number] = asyncio.create_task(victim.start())
    await asyncio.gather(*starting.values())
    return kills


async def letters(client: httpx.AsyncClient) -> list[UUID]:
    projects = (await client.get("/api/v1/projects")).json()["items"]
    project = next(one["publicId"] for one in projects if one["projectCode"] == "LCBP3-C2")
    places = (await client.get(f"/api/v1/projects/{project}/organizations")).json()["items"]
    to = next(place["publicId"] for place in places if place["organizationCode"] == "คคง.")
    body = {
        "projectPublicId": project,
        "correspondenceTypeCode": "LETTER",
        "recipients": [{"organizationPublicId": to, "recipientType": "TO"}],
        "subject": "ขอเชิญประชุม",
    }
    found = []
    for _ in range(LETTERS):
        answer = await client.post("/api/v1/correspondences", json=body)
        assert answer.status_code == httpx.codes.CREATED, answer.text
        found.append(UUID(answer.json()["workflow"]["instancePublicId"]))
    return found


async def listen(admin: httpx.AsyncClient, db: Database, port: int) -> None:
    """A webhook of the project, led to the receiver afterwards: over the API it could only be an address outside."""
    projects = (await admin.get("/api/v1/projects")).json()["items"]
    project = next(one["publicId"] for one in projects if one["projectCode"] == "LCBP3-C2")
    body = {"url": "https://hooks.example.com/saraban", "events": ["workflow.transitioned"]}
    made = await admin.post(f"/api/v1/projects/{project}/webhooks", json=body)
    assert made.status_code == httpx.codes.CREATED, made.text
    async with db.writing() as session:
        await session.execute(sa.update(Webhook).values(url=f"http://{HOST}:{port}/"))


async def all_told(db: Database, *, within: float) -> None:
    waiting = sa.select(sa.func.count()).select_from(OutboxEvent).where(OutboxEvent.delivered_at.is_(None))
    async with asyncio.timeout(within):
        while True:
            async with db.reading() as session:
                if not await session.scalar(waiting):
                    return
            await asyncio.sleep(0.2)


@dataclass
class Rows:
    """What the database holds in the end."""

    versions: dict[UUID, int]
    histories: dict[UUID, list[WorkflowHistory]]
    events: dict[UUID, OutboxEvent]
    told: list[tuple[UUID, int]]
    dead: int

    @classmethod
    async def read(cls, db: Database) -> "Rows":
        async with db.reading() as session:
            instances = await session.scalars(sa.select(WorkflowInstance))
            histories: dict[UUID, list[WorkflowHistory]] = defaultdict(list)
            for row in await session.scalars(sa.select(WorkflowHistory)):
                histories[row.instance_id].append(row)
            moved = sa.select(OutboxEvent).where(OutboxEvent.name == "workflow.transitioned")
            told = await session.execute(sa.select(Notification.event_uuid, Notification.user_id))
            return cls(
                versions={row.id: row.version_no for row in instances},
                histories=histories,
                events={row.public_id: row for row in await session.scalars(moved)},
                told=[(row[0], row[1]) for row in told],
                dead=await session.scalar(sa.select(sa.func.count()).select_from(DeadLetter)) or 0,
            )


def check_steps(rows: Rows, answered: dict[UUID, list[int]]) -> None:
    """Each step that was answered is one row of the history, and there are no others."""
    for instance, versions in answered.items():
        assert versions == list(range(2, len(versions) + 2))
        assert rows.versions[instance] == 1 + len(versions) == 1 + len(rows.histories[instance])


def check_notices(rows: Rows, instances: set[UUID]) -> None:
    """Each step has one event, and each of its people one notification: the same people for the same kind of step."""
    steps = {row.id for instance in instances for row in rows.histories[instance]}
    ours = {key: row for key, row in rows.events.items() if UUID(row.payload["instancePublicId"]) in instances}
    assert Counter(UUID(row.payload["historyPublicId"]) for row in ours.values()) == dict.fromkeys(steps, 1)
    assert all(row.delivered_at is not None for row in ours.values())
    assert rows.dead == 0
    assert max(Counter(rows.told).values()) == 1
    readers: dict[UUID, set[int]] = {key: set() for key in ours}
    for event, user in rows.told:
        if event in readers:
            readers[event].add(user)
    for action in ("submit", "send-back"):
        audiences = {frozenset(readers[key]) for key, row in ours.items() if row.payload["action"] == action}
        assert len(audiences) == 1, action
        assert audiences != {frozenset()}, action


def check_messages(rows: Rows, heard: Heard, instances: set[UUID]) -> None:
    """The receiver was told of each step, in the order of its instance, and of nothing else."""
    first: dict[str, dict[str, Any]] = {}
    for message_id, body in heard.messages:
        assert first.setdefault(message_id, body)["data"] == body["data"]
    told: dict[UUID, list[int]] = defaultdict(list)
    for message_id, body in first.items():
        event = rows.events[UUID(message_id)]
        assert body["data"]["historyPublicId"] == event.payload["historyPublicId"]
        told[UUID(body["data"]["instancePublicId"])].append(body["data"]["versionNo"])
    assert told == {one: list(range(2, rows.versions[one] + 1)) for one in instances}


@dataclass
class Stage:
    """Everybody who takes part."""

    servers: list[Server]
    workers: list[WorkerProcess]
    heard: Heard
    db: Database
    stack: AsyncExitStack

    @property
    def everybody(self) -> list[Killable]:
        return [*self.servers, *self.workers]

    async def client(self, server: Server, who: str) -> httpx.AsyncClient:
        made = await self.stack.enter_async_context(httpx.AsyncClient(base_url=server.running.address, timeout=20))
        await sign_in(made, who)
        return made

    async def set(self) -> tuple[Load, list[UUID]]:
        """Publish the endless workflow, write the letters, and have the receiver listen."""
        load = Load({who: [await self.client(one, who) for one in self.servers] for who in (WRITER, READER)})
        admin = await self.client(self.servers[0], "admin")
        published = await admin.post("/api/v1/workflow/definitions", json={"dsl": endless(), "activate": True})
        assert published.status_code == httpx.codes.CREATED, published.text
        await listen(admin, self.db, self.heard.port)
        return load, await letters(load.clients[WRITER][0])


@pytest_asyncio.fixture
async def stage(tmp_path: Path, mariadb_demo_url: str, redis_url: str) -> AsyncIterator[Stage]:
    settings: dict[str, Any] = {
        "database_url": mariadb_demo_url,
        "redis_url": redis_url,
        "secret_key": "of-all-the-processes-" * 3,
        "event_lease": LEASE,
        "outbound_limit": 0,
        "webhook_limit_each": 0,
        "webhook_retry_pause": 1,
    }
    async with AsyncExitStack() as stack:
        found = Stage(
            servers=[Server(tmp_path / f"server-{number}", settings) for number in range(2)],
            workers=[WorkerProcess(tmp_path / f"worker-{number}", settings) for number in range(2)],
            heard=Heard(),
            db=Database(mariadb_demo_url),
            stack=stack,
        )
        stack.push_async_callback(found.db.close)
        await stack.enter_async_context(found.heard.listening())
        for one in found.everybody:
            stack.callback(one.kill)
        await asyncio.gather(*(one.start() for one in found.everybody))
        yield found


def keep(report: dict[str, object]) -> None:
    Path("build").mkdir(exist_ok=True)
    Path("build/soak.json").write_text(json.dumps(report, indent=2), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.servers
@pytest.mark.timeout(600)
async def test_random_kills_lose_no_step_and_no_event(stage: Stage) -> None:
    load, instances = await stage.set()
    load.until = time.monotonic() + SECONDS
    kills, *_ = await asyncio.gather(
        havoc([list(stage.servers), list(stage.workers)], until=load.until),
        *(load.move(instances[number::CLIENTS]) for number in range(CLIENTS)),
    )
    began = time.monotonic()
    await all_told(stage.db, within=60 + SECONDS)
    rows = await Rows.read(stage.db)
    steps = sum(len(versions) for versions in load.answered.values())
    report = {
        "seconds": SECONDS,
        "kills": kills,
        "steps": steps,
        "unanswered": load.unanswered,
        "notifications": len(rows.told),
        "messages": len(stage.heard.messages),
        "seconds until the last was told": round(time.monotonic() - began, 1),
    }
    if SOAK:
        keep(report)

    check_steps(rows, load.answered)
    check_notices(rows, set(instances))
    check_messages(rows, stage.heard, set(instances))
    assert kills >= 2, report
    assert steps >= 2 * LETTERS, report
