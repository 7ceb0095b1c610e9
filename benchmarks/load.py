"""Load: so many clients that ask again as soon as they are answered, or so many requests a second whatever the answers."""

import asyncio
import math
import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from saraban.app import tune_garbage_collector

Operation = Callable[[], Awaitable[object]]


@dataclass(slots=True)
class LoadResult:
    """What happened in one stretch of load: latencies in seconds."""

    seconds: float = 0.0
    done: int = 0
    refused: int = 0
    latencies: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        return self.done / self.seconds

    def percentile(self, share: float) -> float:
        if not self.latencies:
            return math.inf  # nobody was answered: that is no good latency
        ordered = sorted(self.latencies)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


async def closed_loop(operation: Operation, *, clients: int, seconds: float) -> LoadResult:
    """Have `clients` work one after the other for so long; what raises counts as refused."""
    outcome = LoadResult()
    started = time.perf_counter()
    end = started + seconds

    async def client() -> None:
        while (begun := time.perf_counter()) < end:
            try:
                await operation()
            except Exception:  # noqa: BLE001  a refusal of any baseline is one
                outcome.refused += 1
            else:
                outcome.done += 1
                outcome.latencies.append(time.perf_counter() - begun)

    await asyncio.gather(*(client() for _ in range(clients)))
    outcome.seconds = time.perf_counter() - started
    return outcome


async def open_loop(operation: Operation, *, per_second: float, seconds: float) -> LoadResult:
    """Begin an operation every so often, however long the others take; waiting for a free client counts."""
    outcome = LoadResult(seconds=seconds)
    started = time.perf_counter()

    async def one(due: float) -> None:
        try:
            await operation()
        except Exception:  # noqa: BLE001  a refusal of any kind is one
            outcome.refused += 1
        else:
            outcome.done += 1
            outcome.latencies.append(time.perf_counter() - due)

    tasks = []
    for number in range(int(per_second * seconds)):
        due = started + number / per_second
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.ensure_future(one(due)))
    await asyncio.gather(*tasks)
    return outcome


@dataclass(slots=True)
class Side:
    """The rounds of one side of a comparison."""

    rounds: list[LoadResult]

    @property
    def rate(self) -> float:
        return statistics.median(one.rate for one in self.rounds)

    @property
    def refused(self) -> int:
        return sum(one.refused for one in self.rounds)

    def percentile(self, share: float) -> float:
        return statistics.median(one.percentile(share) for one in self.rounds)


Round = Callable[[], Awaitable[LoadResult]]


async def interleaved(sides: Mapping[str, Round], *, rounds: int) -> dict[str, Side]:
    """Run every side in turn, `rounds` times, so that a noisy neighbour disturbs all alike."""
    tune_garbage_collector()  # for every side, as our servers do it
    found: dict[str, Side] = {name: Side([]) for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            found[name].rounds.append(await run())
    return found
