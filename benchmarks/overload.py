"""More documents than the server can create: RFAs offered at fixed times, whatever the answers, with the worker inside."""

import asyncio
import tempfile
import time
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benchmarks import http
from benchmarks.bench import Bench, Suite
from benchmarks.load import LoadResult
from benchmarks.results import Row

_NAME = "overload"
RATES = (20, 40, 80, 160)  # offered in a second
ROUNDS = 3  # of `--seconds` each, at one rate without a break: 24 s as it ships
LIMIT = 2.0  # seconds, for 95 % of the accepted requests
_SETTLED = 2.0  # seconds without load before each rate
_REFUSED = "503"


@dataclass(slots=True)
class OfferedLoad(LoadResult):
    """
    :param lasted: seconds until the last answer
    :param failed: answers that are neither a document nor 503, by their status line
    """

    lasted: float = 0.0
    failed: dict[str, int] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Documents in a second: those after the last arrival count, and so does the time that they took."""
        return self.done / self.lasted


class Arrivals:
    """Sends the next request at each due time, each on a connection of its own; a free connection is used again."""

    def __init__(self, port: int, *requests: bytes) -> None:
        self._port, self._requests = port, cycle(requests)
        self._free: list[http.Client] = []

    async def offer(self, *, per_second: int, seconds: float) -> OfferedLoad:
        load = OfferedLoad(seconds=seconds)
        started = time.perf_counter()
        tasks = []
        for number in range(int(per_second * seconds)):
            due = started + number / per_second
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            tasks.append(asyncio.ensure_future(self._send(due, load)))
        await asyncio.gather(*tasks)
        load.lasted = max(time.perf_counter() - started, seconds)
        return load

    async def _send(self, due: float, load: OfferedLoad) -> None:
        client = None
        try:
            client = self._free.pop() if self._free else await http.Client.to(self._port)
            await client.send(next(self._requests))
        except http.Refused as answer:
            if _REFUSED in str(answer):
                load.refused += 1
            else:
                load.failed[str(answer)] = load.failed.get(str(answer), 0) + 1
        except (OSError, EOFError) as error:
            load.failed[type(error).__name__] = load.failed.get(type(error).__name__, 0) + 1
            if client is not None:
                client.close()
            return
        else:
            load.done += 1
            load.latencies.append(time.perf_counter() - due)
        assert client is not None
        self._free.append(client)

    def close(self) -> None:
        for client in self._free:
            client.close()


async def overload(b: Bench) -> list[Row]:
    """Throughput must not fall beyond what the server can do, and who is accepted must be answered in time."""
    url = b.mariadb.create("overload", statements=b.template)
    loads: dict[int, OfferedLoad] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"run_worker": True}
        async with http.site_on(url, b.redis.url, Path(folder), settings=settings) as site:
            arrivals = Arrivals(site.port, site.document("rfas"))
            await arrivals.offer(per_second=RATES[0], seconds=b.brief_seconds)  # warms it up
            for rate in RATES:
                await asyncio.sleep(_SETTLED)
                b.say(f"{rate} RFAs/s offered, the worker inside")
                loads[rate] = await arrivals.offer(per_second=rate, seconds=ROUNDS * b.seconds)
            arrivals.close()
    best = max(load.rate for load in loads.values())
    rows = []
    for rate, load in loads.items():
        beyond = rate >= 80
        rows += [
            Row(_NAME, f"{rate}/s offered: created", load.rate, "documents/s"),
            Row(_NAME, f"{rate}/s offered: accepted, p50", load.percentile(0.5) * 1000, "ms"),
            Row(
                _NAME, f"{rate}/s offered: accepted, p95", load.percentile(0.95) * 1000, "ms", f"<= {LIMIT * 1000:.0f}"
            ),
            Row(_NAME, f"{rate}/s offered: answered 503", load.refused * 100 / int(rate * load.seconds), "%"),
        ]
        if beyond:
            rows.append(Row(_NAME, f"{rate}/s offered: throughput, against the best", load.rate / best, "x", ">= 0.9"))
        rows += [
            Row(_NAME, f"{rate}/s offered: {answer}", count, "answers", "<= 0") for answer, count in load.failed.items()
        ]
    return rows


SUITES: dict[str, Suite] = {"overload": overload}
