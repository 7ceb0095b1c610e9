"""What Prometheus reads: the gauges that are looked at, the fullest series, and one answer for several processes."""

import asyncio
import re
import shutil
from pathlib import Path

import httpx
import pytest
from prometheus_client import REGISTRY

from saraban.bootstrap import System
from saraban.numbering.domain.retry import Failure
from saraban.numbering.service.metrics import ERROR, RETRY
from saraban.ops.sampling import Sampler
from tests.conftest import settings_in
from tests.processes import RunningSaraban


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def sampler_of(system: System) -> Sampler:
    return Sampler(db=system.db, allocator=system.allocator, clock=system.clock)


class TestSampler:
    async def test_sees_a_database_that_answers_and_one_that_does_not(self, system: System) -> None:
        sampler = sampler_of(system)
        await sampler.ask_database()
        assert value("saraban_database_up") == 1

        folder = system.settings.data_dir
        await system.db.close()
        shutil.move(folder / "saraban.db", folder / "elsewhere.db")
        (folder / "saraban.db").mkdir()
        await sampler.ask_database()

        assert value("saraban_database_up") == 0

    async def test_tells_how_full_the_pool_is(self, system: System) -> None:
        async with system.db.reading():
            sampler_of(system).look_inside()

        assert value("saraban_db_pool_connections", state="in_use") == 1
        assert value("saraban_db_pool_connections", state="limit") == 2 * system.settings.db_pool_size

    async def test_takes_a_silent_redis_for_one_that_is_down(
        self, system: System, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("saraban.ops.sampling._PATIENCE", 0.05)
        monkeypatch.setattr(system.allocator._locks, "up", lambda: asyncio.sleep(60, result=True))

        await sampler_of(system).ask_redis()

        assert value("docnum_redis_up") == 0

    async def test_says_that_redis_is_up_again(self, system: System) -> None:
        await sampler_of(system).ask_redis()

        assert value("docnum_redis_up") == 1


class TestCounters:
    def test_begin_at_zero_so_that_the_first_event_is_an_increase(self) -> None:
        assert value("docnum_retry_total", attempt="1", reason=Failure.CONFLICT.value) is not None
        assert value("docnum_error_total", type="LOCK_TIMEOUT", scenario="2") is not None
        assert value("saraban_audit_verify_failures_total", journal="numbers") is not None
        assert (RETRY._labelnames, ERROR._labelnames) == (("attempt", "reason"), ("type", "scenario"))


class TestProcesses:
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
