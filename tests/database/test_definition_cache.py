"""The definition cache: two servers, one database; Redis stopped, frozen, filled with nonsense; readers that are slow."""

import asyncio
import copy
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from redis.asyncio import Redis as Client
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.app import create_app
from saraban.config import Settings
from saraban.kit.db import Database
from saraban.kit.errors import NotFound
from saraban.kit.redis import redis_pool
from saraban.workflow import service as workflow
from saraban.workflow.administration.service.definition_cache import LIFETIME, DefinitionCache
from saraban.workflow.runtime.models import WorkflowDefinition, WorkflowInstance
from tests.conftest import client_of, run_apart
from tests.factories.contexts import context
from tests.factories.letterbox import NOW, Office, new_office, office_in
from tests.processes import sign_in
from tests.servers import running_redis

pytestmark = pytest.mark.servers

CODE = "RFA_APPROVAL"
URL = "/api/v1/workflow/definitions"
RFA: dict[str, Any] = next(raw for raw in workflow.shipped() if raw["workflow"] == CODE)
TIMEOUT = 0.3


class SlowDatabase(Database):
    """Counts its reading sessions; what was read is handed on when the gate opens."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.reads = 0
        self.gate: asyncio.Event | None = None
        self.has_read = asyncio.Event()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        self.reads += 1
        async with super().reading() as session:
            yield session
        self.has_read.set()
        if self.gate is not None:
            await self.gate.wait()


@dataclass
class Server:
    db: SlowDatabase
    redis: Client
    definitions: DefinitionCache

    async def publish(self, office: Office, description: str) -> None:
        admin = await office.person("admin")
        raw = {**copy.deepcopy(RFA), "description": description}
        made = await self.db.transact(
            lambda session: workflow.create(context(caller=admin, now=NOW, address=""), session, raw=raw, activate=True)
        )
        await self.definitions.delete(code=made.code, version=made.version)

    async def set_active(self, office: Office, version: int, *, is_active: bool) -> None:
        admin = await office.person("admin")
        await self.db.transact(
            lambda session: workflow.set_active(
                context(caller=admin, now=NOW, address=""), session, code=CODE, version=version, is_active=is_active
            )
        )
        await self.definitions.delete(code=CODE)

    async def active(self) -> int | None:
        try:
            return (await self.definitions.active(code=CODE)).version
        except NotFound:
            return None


class Deployment:
    """Servers of one database, each with connections of its own."""

    def __init__(self, url: str, office: Office) -> None:
        self.url, self.office = url, office
        self._stack = AsyncExitStack()

    async def server(self, redis_url: str, *, patience: float = 10.0, rest: float = 0.2) -> Server:
        db = SlowDatabase(self.url)
        redis = Client.from_pool(redis_pool(redis_url, timeout=patience, connections=10))
        definitions = DefinitionCache(db, redis, rest=rest)
        self._stack.push_async_callback(db.close)
        self._stack.push_async_callback(redis.aclose)
        return Server(db, redis, definitions)

    async def close(self) -> None:
        await self._stack.aclose()


@pytest.fixture(scope="module")
def office_file(migrated_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the demo people and the shipped definitions, made once."""
    path = tmp_path_factory.mktemp("office") / "saraban.db"
    shutil.copy(migrated_file, path)

    async def fill() -> None:
        database = Database(f"sqlite:///{path}")
        await new_office(database)
        await database.close()

    run_apart(fill())
    return path


@pytest_asyncio.fixture
async def deployment(office_file: Path, tmp_path: Path) -> AsyncIterator[Deployment]:
    shutil.copy(office_file, tmp_path / "saraban.db")
    url = f"sqlite:///{tmp_path / 'saraban.db'}"
    database = Database(url)
    found = Deployment(url, await office_in(database))
    yield found
    await found.close()
    await database.close()


async def age(server: Server) -> None:
    """Let the minute after a change pass in which no reader may write the pointer."""
    if await server.redis.get(f"wf:def:{CODE}:active") == b"":
        await server.redis.delete(f"wf:def:{CODE}:active")


class TestTwoServers:
    async def test_read_what_either_of_them_has_written(self, deployment: Deployment, redis_url: str) -> None:
        one, two = await deployment.server(redis_url), await deployment.server(redis_url)
        await one.active()

        view = await two.definitions.version(code=CODE, version=1)

        assert two.db.reads == 0
        async with one.db.reading() as session:
            assert view == await workflow.find_definition(session, code=CODE, version=1)
        assert view == await two.definitions.active(code=CODE)
        assert two.db.reads == 0
        names = {key.decode() for key in await one.redis.keys("wf:def:*")}
        assert names == {f"wf:def:{CODE}:{name}" for name in ("1", "active")}
        assert LIFETIME - 60 < await one.redis.ttl(f"wf:def:{CODE}:active") <= LIFETIME == 3600
        assert LIFETIME - 60 < await one.redis.ttl(f"wf:def:{CODE}:1") <= LIFETIME

    async def test_see_every_change_of_each_other(self, deployment: Deployment, redis_url: str) -> None:
        one, two = await deployment.server(redis_url), await deployment.server(redis_url)
        office = deployment.office
        found = []
        for change in (
            one.publish(office, "second"),
            two.set_active(office, 1, is_active=True),
            one.set_active(office, 1, is_active=False),
            two.set_active(office, 2, is_active=True),
        ):
            await age(one)
            await one.active()
            await change
            found.append((await one.active(), await two.active()))

        assert found == [(2, 2), (1, 1), (None, None), (2, 2)]
        assert (await one.definitions.version(code=CODE, version=1)).is_active is False

    async def test_write_nothing_of_names_that_are_not_there(self, deployment: Deployment, redis_url: str) -> None:
        server = await deployment.server(redis_url)

        for _ in range(3):
            with pytest.raises(NotFound):
                await server.definitions.active(code="NOWHERE")
            with pytest.raises(NotFound):
                await server.definitions.version(code=CODE, version=9)

        assert await server.redis.keys("*") == []

    async def test_ask_the_database_when_they_cannot_read_what_is_there(
        self, deployment: Deployment, redis_url: str
    ) -> None:
        server = await deployment.server(redis_url)
        await server.active()

        for text in (b"", b"[]", b"{}", b"\xff", b'["x","RFA_APPROVAL",1,null,"x",{}]', b"null", b"5"):
            await server.redis.set(f"wf:def:{CODE}:1", text)
            assert (await server.definitions.version(code=CODE, version=1)).dsl == RFA
        await server.redis.set(f"wf:def:{CODE}:active", b"one")
        assert await server.active() == 1


class TestSlowReader:
    async def test_cannot_put_an_old_pointer_back(self, deployment: Deployment, redis_url: str) -> None:
        one, two = await deployment.server(redis_url), await deployment.server(redis_url)
        two.db.gate = asyncio.Event()
        slow = asyncio.create_task(two.definitions.active(code=CODE))
        await two.db.has_read.wait()

        await one.publish(deployment.office, "second")
        two.db.gate.set()

        assert (await slow).version == 1  # what stood in the database when it asked
        assert (await one.active(), await two.active()) == (2, 2)
        await age(one)
        assert (await one.active(), await two.active()) == (2, 2)


class TestWithoutRedis:
    async def test_reads_and_changes_work_without_one(self, deployment: Deployment) -> None:
        db = SlowDatabase(deployment.url)
        server = Server(db, None, DefinitionCache(db, None))  # type: ignore[arg-type]

        await server.publish(deployment.office, "second")

        assert await server.active() == 2
        await db.close()

    async def test_one_that_is_stopped_costs_nothing_but_the_database(self, deployment: Deployment) -> None:
        office = deployment.office
        with running_redis() as redis:
            one = await deployment.server(redis.url, patience=TIMEOUT)
            two = await deployment.server(redis.url, patience=TIMEOUT)
            assert [await server.active() for server in (one, two)] == [1, 1]
            redis.stop()
            await one.publish(office, "second")
            assert [await server.active() for server in (one, two)] == [2, 2]

    async def test_one_that_is_frozen_is_waited_for_once(self, deployment: Deployment) -> None:
        office = deployment.office
        with running_redis() as redis:
            one = await deployment.server(redis.url, patience=TIMEOUT, rest=1.5)
            two = await deployment.server(redis.url, patience=TIMEOUT, rest=1.5)
            assert [await server.active() for server in (one, two)] == [1, 1]
            redis.freeze()
            started = time.monotonic()
            await one.publish(office, "second")
            assert [await server.active() for server in (one, two) for _ in range(20)] == [2] * 40
            took = time.monotonic() - started
            redis.thaw()

        # One wait for each server, and the forty reads themselves; without the rest it would be forty waits.
        assert took < 10 * TIMEOUT

    async def test_no_instance_starts_on_what_it_says(self, deployment: Deployment, redis_url: str) -> None:
        """The pointer is read from the database (REQ-WFL-07), whatever stands in Redis."""
        server = await deployment.server(redis_url)
        office = deployment.office
        await server.publish(office, "second")
        await server.redis.set(f"wf:def:{CODE}:active", b"1")

        started = await office.start(office.letter())

        running = sa.select(WorkflowDefinition.version).join(
            WorkflowInstance, WorkflowInstance.definition_id == WorkflowDefinition.id
        )
        async with office.db.reading() as session:
            found = await session.scalar(running.where(WorkflowInstance.id == started.instance_public_id))
        assert found == 2


class TestApplications:
    async def test_tell_each_other_before_they_answer(self, settings: Settings, redis_url: str) -> None:
        shared = settings.model_copy(update={"redis_url": redis_url, "redis_timeout": 10.0})
        redis = Client.from_url(redis_url)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(redis.aclose)
            admins = []
            for _ in range(2):
                app = create_app(shared)
                await stack.enter_async_context(app.router.lifespan_context(app))
                admins.append(await stack.enter_async_context(client_of(app)))
                await sign_in(admins[-1], "admin")
            one, two = admins

            async def active() -> list[int | None]:
                seen = [await admin.get(f"{URL}/{CODE}/active") for admin in admins]
                return [answer.json().get("version") for answer in seen]

            found = [await active()]
            for change in (
                one.post(URL, json={"dsl": {**RFA, "description": "second"}, "activate": True}),
                two.post(f"{URL}/{CODE}/versions/1/activate"),
                one.post(f"{URL}/{CODE}/versions/1/deactivate"),
            ):
                await redis.delete(f"wf:def:{CODE}:active")  # the minute after the last change has passed
                await active()
                assert (await change).status_code in {200, 201}
                found.append(await active())

        assert found == [[1, 1], [2, 2], [1, 1], [None, None]]
