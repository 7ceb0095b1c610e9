"""What Prometheus reads: the gauges that are looked at, the fullest series, and one answer for several processes."""

import asyncio
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import httpx
import pytest
from prometheus_client import REGISTRY

from saraban.bootstrap import System
from saraban.kit.db import Database
from saraban.numbering import service as numbering
from saraban.numbering.issue.domain import Failure
from saraban.numbering.issue.service.monitoring import ERROR, RETRY
from saraban.ops.metrics import Sampler
from saraban.worker.timers import Heartbeat
from tests.conftest import settings_in
from tests.factories.contexts import context
from tests.numbering_world import world_of
from tests.preloaded import PreloadedProgram
from tests.processes import RunningSaraban, environment_of
from tests.servers import HOST, free_port


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def eventually(address: str, wanted: str) -> str:
    """Return what is answered there as soon as it says what is wanted, or what it says after a minute."""
    text, end = "", monotonic() + 60
    while wanted not in text and monotonic() < end:
        with suppress(httpx.HTTPError):
            text = httpx.get(address).text
        sleep(0.2)
    return text


def sampler_of(system: System) -> Sampler:
    return Sampler(db=system.db, allocator=system.allocator, clock=system.clock)


class TestSampler:
    async def test_sees_a_database_that_answers_and_one_that_does_not(self, system: System) -> None:
        sampler = sampler_of(system)
        await sampler.measure_database()
        assert value("saraban_database_up") == 1

        folder = system.settings.data_dir
        await system.db.close()
        shutil.move(folder / "saraban.db", folder / "elsewhere.db")
        (folder / "saraban.db").mkdir()
        await sampler.measure_database()
        (folder / "saraban.db").rmdir()
        shutil.move(folder / "elsewhere.db", folder / "saraban.db")

        assert value("saraban_database_up") == 0

    async def test_measures_the_newest_heartbeat_without_a_worker_of_its_own(self, system: System) -> None:
        await sampler_of(system).measure_database()
        assert value("saraban_worker_heartbeat_age_seconds") == math.inf

        await Heartbeat(system.db).beat()
        await sampler_of(system).measure_database()
        assert value("saraban_worker_heartbeat_age_seconds") < 60

    async def test_tells_how_full_the_pool_is(self, system: System) -> None:
        async with system.db.reading() as session:
            await session.connection()
            sampler_of(system).measure_process()

        assert value("saraban_db_pool_connections", state="in_use") == 1
        assert value("saraban_db_pool_connections", state="limit") == 2 * system.settings.db_pool_size

    async def test_takes_a_silent_redis_for_one_that_is_down(
        self, system: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.ops.metrics._TIMEOUT_SECONDS", 0.05)
        monkeypatch.setattr(system.allocator._locks, "up", lambda: asyncio.sleep(60, result=True))

        await sampler_of(system).measure_redis()

        assert value("docnum_redis_up") == 0

    async def test_says_that_redis_is_up_again(self, system: System) -> None:
        await sampler_of(system).measure_redis()

        assert value("docnum_redis_up") == 1


class TestCounters:
    async def test_tell_how_many_shared_a_transaction(self, demo_db: Database) -> None:
        world = await world_of(demo_db)
        batches, drawn, attempts = (
            value(f"docnum_{name}") for name in ("batch_size_count", "batch_size_sum", "lock_attempts_total")
        )
        allocator = world.allocator()
        plan = await world.plan(world.letter())

        draws = [
            asyncio.create_task(allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan)))
            for _ in range(9)
        ]
        await asyncio.sleep(0)
        assert allocator.waiting == 9
        await asyncio.gather(*draws)
        await allocator.close()

        assert allocator.waiting == 0
        assert value("docnum_batch_size_sum") - drawn == 9
        assert value("docnum_batch_size_count") - batches == 1
        assert value("docnum_lock_attempts_total") - attempts == 1

    def test_begin_at_zero_so_that_the_first_event_is_an_increase(self) -> None:
        assert value("docnum_retry_total", attempt="1", reason=Failure.CONFLICT.value) is not None
        assert value("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") is not None
        assert value("saraban_audit_verify_failures_total", journal="numbers") is not None
        assert (RETRY._labelnames, ERROR._labelnames) == (("attempt", "reason"), ("type", "scenario"))


MEASURE = """
import os, signal, sys
from prometheus_client import REGISTRY
from saraban.numbering.issue.service.monitoring import SUCCESS, WAITING
SUCCESS.inc(3)
WAITING.set(2)
if sys.argv[1] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
from saraban.kit.db import Database
from saraban.ops.metrics import exposition
print(exposition(Database(f"sqlite:///{sys.argv[2]}/none.db"))[0].decode())
"""


class TestProcesses:
    def test_a_killed_one_keeps_its_counts_and_loses_its_gauges(self, tmp_path: Path) -> None:
        environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
        killed, told = (
            subprocess.run(
                [sys.executable, "-c", MEASURE, end, str(tmp_path)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            for end in ("die", "tell")
        )

        assert killed.returncode == -signal.SIGKILL
        assert "\ndocnum_success_total 6.0\n" in told.stdout, told.stderr
        assert "\ndocnum_waiting_requests 2.0\n" in told.stdout

    @pytest.mark.slow
    def test_a_worker_apart_answers_prometheus_itself(self, demo_folder: Path, tmp_path: Path) -> None:
        folder = tmp_path / "data"
        shutil.copytree(demo_folder, folder)
        port = free_port()
        worker = PreloadedProgram(
            *("worker", "--metrics-port", str(port)),
            environment=environment_of(data_dir=folder, env="test"),
            folder=folder,
            log=tmp_path / "worker.log",
        )
        try:
            text = eventually(f"http://{HOST}:{port}/metrics", 'saraban_audit_unsealed_age_seconds{journal="numbers"}')
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()

        assert 'saraban_audit_unsealed_age_seconds{journal="numbers"}' in text
        assert 'saraban_timer_runs_total{outcome="done",timer="audit_seal"}' in text

    @pytest.mark.faults
    @pytest.mark.slow
    def test_answer_for_each_other_also_when_killed_and_started_again(self, demo_folder: Path, tmp_path: Path) -> None:
        folder = tmp_path / "data"
        shutil.copytree(demo_folder, folder)
        server = RunningSaraban(folder, workers=2, env="test", run_worker="false")
        try:
            server.start()
            for _ in range(30):
                httpx.get(f"{server.address}/health/live")
            scrapes = [httpx.get(f"{server.address}/metrics").text for _ in range(6)]
            pattern = re.compile(
                r'saraban_http_request_seconds_count\{method="GET",route="/health/live",status="200"\} (.+)'
            )
            assert {float(pattern.search(text)[1]) for text in scrapes} == {30.0}
            limit = 2 * settings_in(folder).db_pool_size
            assert f'saraban_db_pool_connections{{state="limit"}} {2.0 * limit}' in scrapes[-1]

            server.kill()
            server.start()
            after = httpx.get(f"{server.address}/metrics").text
            assert pattern.search(after) is None
            assert "docnum_success_total 0.0" in after
        finally:
            server.kill()
