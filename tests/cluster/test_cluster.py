"""
People work at two servers while a node of the database is killed or isolated, or Redis fails over (`make cluster-test`).

Three Galera nodes behind the shipped HAProxy file, three Redis servers with Sentinels, two servers and a worker. In each
scenario 20 clients work for 60 seconds (SARABAN_CLUSTER_SECONDS).
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from saraban.kit import migrations
from tests.cluster.conftest import RESULTS
from tests.cluster.load import Crowd, Record
from tests.cluster.servers import FORMS, Cluster, wait_until
from tests.conftest import run_apart, seeded, settings_in
from tests.preloaded import PreloadedProgram
from tests.processes import RunningSaraban, environment_of

SECONDS = float(os.environ.get("SARABAN_CLUSTER_SECONDS", "60"))
PROOFS = ("number verify", "audit seal", "audit verify", "document reach verify")

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.nodes[0].create("saraban")
        url = cluster.proxy.url("one writer")
        migrations.upgrade(url)
        run_apart(seeded(settings_in(tmp_path_factory.mktemp("seed"), database_url=url)))
        yield cluster


@dataclass
class Installation:
    """Two servers and a worker in front of the cluster, in one of the two forms."""

    cluster: Cluster
    form: str
    folder: Path
    servers: list[RunningSaraban]
    settings: dict[str, Any]

    def run(self, command: str) -> tuple[int | None, str]:
        """Run a command of `saraban`, with the worker's folder, and return its exit code and what it printed."""
        log = self.folder / f"{command.replace(' ', '-')}.log"
        environment = environment_of(data_dir=self.folder / "worker", **self.settings)
        program = PreloadedProgram(*command.split(), environment=environment, folder=self.folder, log=log)
        program.wait(120)
        return program.poll(), log.read_text(errors="replace")

    def retried(self) -> int:
        """Return how often the servers tried something again by themselves."""
        pages = [httpx.get(f"{server.address}/metrics").text for server in self.servers]
        return int(sum(float(value) for page in pages for value in re.findall(r"^docnum_retry_total\{.*\} (\S+)", page, re.M)))


@pytest.fixture
def installation(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Iterator[Installation]:
    cluster.heal()
    form = request.param
    settings = {
        "database_url": cluster.proxy.url(form),
        "redis_url": cluster.redis_url,
        "secret_key": "of-all-the-processes-" * 3,
        "db_sync_wait": 7 if form == "several writers" else 0,
        "log_format": "json",
    }
    servers = [RunningSaraban(tmp_path / f"server-{number}", run_worker=False, **settings) for number in range(2)]
    (tmp_path / "worker").mkdir()
    environment, log = environment_of(data_dir=tmp_path / "worker", **settings), tmp_path / "worker.log"
    worker = PreloadedProgram("worker", environment=environment, folder=tmp_path, log=log)
    try:
        for server in servers:
            server.start()
        yield Installation(cluster, form, tmp_path, servers, settings)
    finally:
        for server in servers:
            server.kill()
        os.killpg(worker.pid, 9)
        worker.wait()


Fault = Callable[[Cluster], object]


async def measure(installation: Installation, *faults: Fault) -> Record:
    """Have the clients work, and do the faults at equal distances meanwhile."""
    cluster = installation.cluster
    async with Crowd([server.address for server in installation.servers]) as crowd:
        working = asyncio.create_task(crowd.work(SECONDS))
        for fault in faults:
            await asyncio.sleep(SECONDS / (len(faults) + 2))
            await asyncio.to_thread(fault, cluster)
        await working
    return crowd.record


def keep(request: pytest.FixtureRequest, installation: Installation, record: Record) -> None:
    row = {
        "scenario": request.node.name,
        "form": installation.form,
        "seconds": SECONDS,
        "requests": len(record.answers),
        "statuses": record.statuses,
        "503_percent": round(100 * len(record.refused) / len(record.answers), 2),
        "reads_elsewhere": record.reads,
        "not_found": len(record.missed),
        "p50": round(record.percentile(0.5), 3),
        "p95": round(record.percentile(0.95), 3),
        "slowest": round(record.percentile(1), 1),
        "repeated": record.repeated,
        "retried": installation.retried(),
        "refusals": dict(Counter(f"{one.status} {one.code} {one.request.split('?')[0]}" for one in record.answers if one.status >= 500 or one.status < 200)),
    }
    request.config.stash[RESULTS].append(row)


def check(installation: Installation, record: Record) -> None:
    assert record.forbidden == []
    assert len(record.refused) <= 0.01 * len(record.answers), record.refused
    assert record.missed == []
    assert record.unfinished == []
    assert max(Counter(record.numbers).values()) == 1
    ledger = installation.cluster.ledger()
    assert set(record.numbers) <= ledger
    for proof in PROOFS:
        code, printed = installation.run(proof)
        assert code == 0, printed


class TestCluster:
    """In both forms, and whatever fails: no error but 503 with `Retry-After`, and no number is lost or issued twice."""

    pytestmark = pytest.mark.parametrize("installation", FORMS, indirect=True)

    async def test_steady(self, installation: Installation, request: pytest.FixtureRequest) -> None:
        record = await measure(installation)
        keep(request, installation, record)
        check(installation, record)

    async def test_a_killed_node(self, installation: Installation, request: pytest.FixtureRequest) -> None:
        record = await measure(installation, lambda cluster: cluster.writer(installation.form).kill())
        keep(request, installation, record)
        check(installation, record)

    async def test_a_killed_node_that_rejoins(self, installation: Installation, request: pytest.FixtureRequest) -> None:
        node = installation.cluster.writer(installation.form)
        node.kill()
        record = await measure(installation, lambda _: node.rejoin())
        keep(request, installation, record)
        check(installation, record)

    async def test_an_isolated_node(self, installation: Installation, request: pytest.FixtureRequest) -> None:
        node = installation.cluster.writer(installation.form)
        record = await measure(installation, lambda _: node.isolate(True), lambda _: node.isolate(False))
        keep(request, installation, record)
        check(installation, record)

    async def test_a_redis_master_that_fails_over(
        self, installation: Installation, request: pytest.FixtureRequest
    ) -> None:
        record = await measure(installation, lambda cluster: cluster.redis_master().kill())
        keep(request, installation, record)
        check(installation, record)
