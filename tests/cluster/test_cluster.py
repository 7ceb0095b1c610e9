"""
People work at two servers while a node of the database is killed or isolated, or while Redis fails over (`make cluster-test`).

Three Galera nodes behind the shipped HAProxy file, three Redis servers with Sentinels, two servers and a worker. In each
scenario 20 clients work for 60 seconds (SARABAN_CLUSTER_SECONDS).
"""

import asyncio
import os
import re
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from saraban.kit import migrations
from tests.cluster.conftest import save
from tests.cluster.load import Crowd, Record
from tests.cluster.servers import FORMS, Cluster, GaleraNode, running_cluster, wait_until
from tests.conftest import run_apart, seeded, settings_in
from tests.preloaded import PreloadedProgram
from tests.processes import RunningSaraban, environment_of

SECONDS = float(os.environ.get("SARABAN_CLUSTER_SECONDS", "60"))
PROOFS = ("number verify", "audit verify", "document reach verify")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster() as cluster:
        cluster.nodes[0].create("saraban")
        url = cluster.proxy.url("one writer")
        migrations.upgrade(url)
        folder = tmp_path_factory.mktemp("seed")
        run_apart(seeded(settings_in(folder, database_url=url)))
        yield cluster
        cluster.heal()
        # The worker seals what is older than the longest transaction; this waits for it.
        Installation(cluster, "one writer", folder).run("audit seal", *PROOFS)


class Installation:
    """Two servers and a worker in front of the cluster, in one of its two forms."""

    def __init__(self, cluster: Cluster, form: str, folder: Path) -> None:
        self.cluster, self.form, self._folder = cluster, form, folder
        self._settings: dict[str, Any] = {
            "database_url": cluster.proxy.url(form),
            "redis_url": cluster.redis.url,
            "db_sync_wait": 7 if form == "several writers" else 0,
            "secret_key": "of-all-the-processes-" * 3,
            "log_format": "json",
        }
        self._servers = [
            RunningSaraban(folder / f"server-{number}", run_worker=False, **self._settings) for number in range(2)
        ]

    @contextmanager
    def running(self) -> Iterator["Installation"]:
        with ExitStack() as stack:
            for server in self._servers:
                stack.enter_context(server)
            self._worker = stack.enter_context(_killed_afterwards(self._start("worker")))
            wait_until(lambda: "worker_started" in self._log(["worker"]).read_text())
            yield self

    @property
    def writer(self) -> GaleraNode:
        """The node that writes, or the first of several that do."""
        return self.cluster.writer(self.form)

    async def work_through(self, *faults: Callable[[], object]) -> Record:
        """Have the clients work, and do the faults at equal distances meanwhile."""
        async with Crowd([server.address for server in self._servers]) as crowd:
            working = asyncio.create_task(crowd.work(SECONDS))
            for fault in faults:
                await asyncio.sleep(SECONDS / (len(faults) + 2))
                await asyncio.to_thread(fault)
            await working
        return crowd.record

    def retries(self) -> int:
        """Return how often the servers have repeated something by themselves."""
        pages = [httpx.get(f"{server.address}/metrics").text for server in self._servers]
        counts = re.findall(r"^docnum_retry_total\{.*\} (\S+)", "\n".join(pages), re.MULTILINE)
        return int(sum(map(float, counts)))

    def check_state(self) -> None:
        """The worker goes on, every dependency is up again, and rows, counters and proofs agree."""
        assert self._worker.poll() is None, self._log(["worker"]).read_text()[-3000:]
        for server in self._servers:
            health = httpx.get(f"{server.address}/health/ready").json()
            assert health["status"] == "ready", health
        self.run(*PROOFS)

    def run(self, *commands: str) -> None:
        """Run commands of `saraban`, which succeed."""
        for command in commands:
            program = self._start(*command.split())
            program.wait(180)
            assert program.poll() == 0, (command, self._log(command.split()).read_text())

    def _start(self, *words: str) -> PreloadedProgram:
        environment = environment_of(data_dir=self._folder, **self._settings)
        log = self._log(words)
        log.touch()
        return PreloadedProgram(*words, environment=environment, folder=self._folder, log=log)

    def _log(self, words: Sequence[str]) -> Path:
        return self._folder / f"{'-'.join(words)}.log"


@contextmanager
def _killed_afterwards(program: PreloadedProgram) -> Iterator[PreloadedProgram]:
    try:
        yield program
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


@pytest.fixture
def installation(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Iterator[Installation]:
    cluster.heal()
    with Installation(cluster, request.param, tmp_path).running() as installation:
        yield installation


async def endure(request: pytest.FixtureRequest, installation: Installation, *faults: Callable[[], object]) -> None:
    """Work through the faults; no error but 503 with `Retry-After`, all is found, no number is lost or issued twice."""
    record = await installation.work_through(*faults)
    save(request.config, {"scenario": request.node.name} | record.summary() | {"retries": installation.retries()})
    assert record.reads >= 2 * SECONDS  # 20 clients make some 8 a second
    assert record.errors == []
    assert len(record.refused) <= 0.01 * len(record.answers), Counter(answer.code for answer in record.refused)
    assert record.missed == []
    assert record.unfinished == []
    assert max(Counter(record.numbers).values()) == 1
    assert set(record.numbers) <= installation.cluster.ledger()
    installation.check_state()


Scenario = Callable[..., Awaitable[None]]


@pytest.fixture(name="endure")
def endure_here(request: pytest.FixtureRequest, installation: Installation) -> Scenario:
    return partial(endure, request, installation)


@pytest.mark.parametrize("installation", FORMS, indirect=True)
class TestCluster:
    async def test_serves_while_nothing_fails(self, endure: Scenario) -> None:
        await endure()

    async def test_serves_while_a_node_is_killed(self, endure: Scenario, installation: Installation) -> None:
        await endure(installation.writer.kill)

    async def test_serves_while_a_killed_node_rejoins(self, endure: Scenario, installation: Installation) -> None:
        node = installation.writer
        node.kill()
        await endure(node.rejoin)

    async def test_serves_while_a_node_is_isolated(self, endure: Scenario, installation: Installation) -> None:
        node = installation.writer
        await endure(partial(node.isolate, True), partial(node.isolate, False))

    async def test_serves_while_redis_fails_over(self, endure: Scenario, cluster: Cluster) -> None:
        await endure(cluster.redis.master.kill)
