"""The worker's share of the processor beside the requests of its process."""

import asyncio
from collections.abc import Awaitable

import pytest

from saraban.worker import processor_share
from saraban.worker.processor_share import REST, ProcessorShare


class Clocks:
    """The processor's clock goes on with each look at it, by a second; the wall clock stands still."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wall, self._spent = 100.0, 0.0
        monkeypatch.setattr(processor_share, "thread_time", self.spend)
        monkeypatch.setattr(processor_share, "stopwatch", lambda: self.wall)

    def spend(self) -> float:
        self._spent += 1
        return self._spent


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


async def two_steps() -> str:
    await asyncio.sleep(0)
    return "done"


class TestProcessorShare:
    async def test_rests_three_times_as_long_as_the_steps_took_while_requests_are_in_progress(
        self, clocks: Clocks
    ) -> None:
        share = ProcessorShare(lambda: True)

        assert await share.measure(two_steps()) == "done"
        clocks.wall += 2 * REST - 0.1
        assert share.must_rest
        clocks.wall += 0.2
        assert not share.must_rest

    async def test_adds_up_what_several_tasks_took(self, clocks: Clocks) -> None:
        share = ProcessorShare(lambda: True)
        await asyncio.gather(share.measure(two_steps()), share.measure(two_steps()))

        clocks.wall += 4 * REST - 0.1
        assert share.must_rest

    async def test_does_not_rest_without_requests(self, clocks: Clocks) -> None:
        busy = False
        share = ProcessorShare(lambda: busy)
        await share.measure(two_steps())
        busy = True

        assert not share.must_rest

    async def test_passes_failures_and_cancellations_on(self, clocks: Clocks) -> None:
        share = ProcessorShare(lambda: True)
        ended: list[str] = []

        async def fail() -> None:
            await asyncio.sleep(0)
            raise LookupError

        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

        async def run(work: Awaitable[None]) -> None:
            await share.measure(work)

        with pytest.raises(LookupError):
            await share.measure(fail())
        task = asyncio.create_task(run(wait()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["cancelled"]
