"""The rows of numbering: ours beside the baselines, in process, with servers that fail, with several processes, over HTTP."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from redis.asyncio import Redis

from benchmarks import allocator, http, number_baselines
from benchmarks.bench import Bench, Suite
from benchmarks.load import LoadResult, Side, closed_loop, interleaved, open_loop
from benchmarks.results import Row
from saraban.kit.locks import RedisLocks
from tests.servers import running_redis

T = TypeVar("T")


def ratio(row: str, value: float, wanted: str = "", refused: int = 0) -> Row:
    return Row("numbering", row, value, "x", wanted, refused)


def rate(row: str, side: Side, unit: str = "numbers/s", times: int = 1) -> Row:
    return Row("numbering", row, side.rate * times, unit, refused=side.refused)


async def in_process(b: Bench) -> list[Row]:
    """100 clients on one hot series, beside every baseline."""
    b.say("100 clients, one series, beside the baselines")
    django = number_baselines.DjangoSequences(b.world.db.url)
    await _in_thread(django.prepare)
    async with number_baselines.Pool(b.world.db.url, 100) as pool, number_baselines.Pool(b.world.db.url, 1) as single:
        await number_baselines.prepare(single)
        sides = await interleaved(
            {
                "Saraban": b.of(await allocator.one_series(b.world, b.locks()), 100),
                "naive double lock, polling 2 ms": b.of(number_baselines.naive(pool, b.client, poll=0.002), 100),
                "naive double lock, as redis-py polls": b.brief(number_baselines.naive(pool, b.client, poll=0.1), 100),
                "FOR UPDATE counter": b.of(number_baselines.for_update(pool), 100),
                "django-sequences, threads": lambda: _in_thread(partial(django.run, clients=100, seconds=b.seconds)),
                "floor": b.of(number_baselines.floor(pool), 100),
                "Redis INCR": b.of(number_baselines.increment(b.client), 100),
                "batched limit": b.of(number_baselines.batched(single), 1),
            },
            rounds=b.rounds,
        )
    rows = [
        rate(f"100 clients: {name}", side, times=number_baselines.BATCH if "batched" in name else 1)
        for name, side in sides.items()
    ]
    mine = sides["Saraban"]
    gapless = max(sides["FOR UPDATE counter"].rate, sides["django-sequences, threads"].rate)
    rows.append(Row("numbering", "100 clients: Saraban, p99", mine.percentile(0.99) * 1000, "ms"))
    naive = sides["naive double lock, polling 2 ms"]
    rows.append(
        Row("numbering", "100 clients: naive double lock, polling 2 ms, p99", naive.percentile(0.99) * 1000, "ms")
    )
    limit = sides["batched limit"].rate * number_baselines.BATCH
    return [
        *rows,
        ratio("against the naive double lock, tuned", mine.rate / naive.rate, ">= 40", mine.refused),
        ratio("against the best gapless peer, which keeps no audit", mine.rate / gapless, ">= 5"),
        ratio("against the floor", mine.rate / sides["floor"].rate, ">= 5"),
        ratio("against Redis INCR, which keeps nothing", mine.rate / sides["Redis INCR"].rate, ">= 0.4"),
        ratio("against the batched limit", mine.rate / limit, ">= 0.15"),
    ]


async def alone(b: Bench) -> list[Row]:
    """One client."""
    b.say("one client")
    async with number_baselines.Pool(b.world.db.url, 1) as pool:
        await number_baselines.prepare(pool)
        sides = await interleaved(
            {
                "Saraban": b.of(await allocator.one_series(b.world, b.locks()), 1),
                "naive double lock": b.of(number_baselines.naive(pool, b.client, poll=0.1), 1),
                "floor": b.brief(number_baselines.floor(pool), 1),
            },
            rounds=b.rounds,
        )
    rows = [rate(f"1 client: {name}", side) for name, side in sides.items()]
    share = sides["Saraban"].rate / sides["naive double lock"].rate
    return [*rows, ratio("1 client, against the naive double lock", share, ">= 0.7")]


async def shapes(b: Bench) -> list[Row]:
    """Other numbers of clients and series, for information."""
    rows = []
    for series in (1, 100):
        for clients in (1, 16, 100, 400):
            if clients == 100 or (series == 1 and clients == 1):
                continue
            b.say(f"{clients} clients, {series} series")
            operation = await allocator.many_series(b.world, b.locks(), series=series)
            outcome = await closed_loop(operation, clients=clients, seconds=b.brief_seconds)
            rows.append(rate(f"{clients} clients, {series} series", Side([outcome])))
    return rows


async def hundred_series(b: Bench) -> list[Row]:
    """A hundred series at once, so that hardly two requests wait for the same one, beside as many bare counters."""
    b.say("100 clients, 100 series, beside the bare transaction")
    async with number_baselines.Pool(b.world.db.url, 100) as pool:
        await number_baselines.prepare(pool)
        sides = await interleaved(
            {
                "Saraban": b.of(await allocator.many_series(b.world, b.locks(), series=number_baselines.SERIES), 100),
                "bare transaction": b.of(number_baselines.floor(pool, series=number_baselines.SERIES), 100),
            },
            rounds=b.rounds,
        )
    share = sides["Saraban"].rate / sides["bare transaction"].rate
    return [
        *(rate(f"100 clients, 100 series: {name}", side) for name, side in sides.items()),
        ratio("100 clients, 100 series, against the bare transaction", share, ">= 0.5", sides["Saraban"].refused),
    ]


async def without_redis(b: Bench) -> list[Row]:
    """Redis stopped, beside Redis running."""
    b.say("Redis stopped")
    with running_redis() as server:
        async with Redis.from_url(server.url, socket_timeout=0.5, socket_connect_timeout=0.5) as client:

            async def running() -> LoadResult:
                # New locks every time: those of the round before still leave the server alone that was stopped for them.
                operation = await allocator.one_series(b.world, RedisLocks(client, ttl=5, rest=5))
                return await closed_loop(operation, clients=100, seconds=b.seconds)

            async def stopped() -> LoadResult:
                server.stop()
                try:
                    return await running()
                finally:
                    server.start()
                    await client.aclose()

            sides = await interleaved({"running": running, "stopped": stopped}, rounds=b.rounds)
    share = sides["stopped"].rate / sides["running"].rate
    return [ratio("Redis stopped, against running", share, ">= 0.8", sides["stopped"].refused)]


async def servers(b: Bench) -> list[Row]:
    """Several processes on one hot series."""
    found: dict[int, list[list[LoadResult]]] = {1: [], 2: [], 4: []}
    for number in range(b.rounds):
        for count, rounds in found.items():
            if count == 4 and number:
                continue  # for information
            b.say(f"{count} processes, one series")
            lasts = b.brief_seconds if count == 4 else b.seconds
            rounds.append(await allocator.in_processes(b.url, b.redis.url, processes=count, clients=100, seconds=lasts))
    total = {count: median(sum(one.rate for one in together) for together in rounds) for count, rounds in found.items()}
    fair = median(min(one.done for one in two) / max(one.done for one in two) for two in found[2])
    refused = sum(one.refused for rounds in found.values() for together in rounds for one in together)
    return [
        Row("numbering", "one process, 100 clients", total[1], "numbers/s"),
        Row("numbering", "four processes, 100 clients each", total[4], "numbers/s"),
        ratio("two processes on one series, against one", total[2] / total[1], ">= 0.8", refused),
        ratio("two processes, the slower against the faster", fair, ">= 0.5"),
    ]


async def over_http(b: Bench) -> list[Row]:
    """HTTP beside an address that does nothing, closed and open loop."""
    rows: list[Row] = []
    async with _site(b) as site:
        async with http.Clients(site.port, 100) as clients:
            b.say("HTTP, 100 clients")
            issuing, nothing = clients.sending([site.generate]), clients.sending([site.nothing])
            sides = await interleaved({"draw": b.of(issuing, 100), "nothing": b.of(nothing, 100)}, rounds=b.rounds)
            b.say("HTTP, 100 requests a second")
            calm = partial(open_loop, per_second=100, seconds=b.seconds)
            waits = await interleaved(
                {"draw": partial(calm, issuing), "nothing": partial(calm, nothing)}, rounds=b.rounds
            )
        rows += [
            rate("HTTP, 100 clients: draw", sides["draw"]),
            rate("HTTP, 100 clients: nothing", sides["nothing"], "answers/s"),
        ]
        share = sides["draw"].rate / sides["nothing"].rate
        rows.append(ratio("HTTP, 100 clients, against nothing", share, ">= 0.6", sides["draw"].refused))
        ends = {name: side.percentile(0.99) for name, side in waits.items()}
        rows += [
            Row("numbering", f"HTTP, 100/s open loop: {name}, p99", end * 1000, "ms") for name, end in ends.items()
        ]
        rows.append(
            ratio(
                "p99 at 100/s open loop, against nothing", ends["draw"] / ends["nothing"], "<= 4", waits["draw"].refused
            )
        )
        for count in (1, 16, 400):
            b.say(f"HTTP, {count} clients")
            async with http.Clients(site.port, count) as clients:
                outcome = await closed_loop(clients.sending([site.generate]), clients=count, seconds=b.brief_seconds)
            rows.append(rate(f"HTTP, {count} clients", Side([outcome])))
    return rows


async def load_test(b: Bench) -> list[Row]:
    """The specification's load: 50 documents a second for a minute, 100 for half a minute; four RFAs to three and three."""
    mix = ["rfas"] * 4 + ["transmittals"] * 3 + ["correspondences"] * 3
    rows: list[Row] = []
    async with _site(b) as site, http.Clients(site.port, 100) as clients:
        carried = await site.issued("correspondences")
        operation = clients.sending([site.document(register, carried) for register in mix])
        for per_second, lasts in ((50, 7.5 * b.seconds), (100, 3.75 * b.seconds)):
            b.say(f"load test, {per_second}/s")
            outcome = await open_loop(operation, per_second=per_second, seconds=lasts)
            name = f"load test {per_second}/s"
            for share, bound in ((0.5, 500), (0.95, 2000), (0.99, 5000)):
                rows.append(
                    Row(
                        "numbering",
                        f"{name}: p{share * 100:.0f}",
                        outcome.percentile(share) * 1000,
                        "ms",
                        f"<= {bound}",
                    )
                )
            errors = 100 * outcome.refused / (outcome.done + outcome.refused)
            rows.append(Row("numbering", f"{name}: errors", errors, "%", "<= 0.1", outcome.refused))
    return rows


@asynccontextmanager
async def _site(b: Bench) -> AsyncIterator[http.Site]:
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(b.url, b.redis.url, Path(folder)) as site:
            yield site


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


SUITES: dict[str, Suite] = {
    "peers": in_process,
    "alone": alone,
    "shapes": shapes,
    "series": hundred_series,
    "redis": without_redis,
    "servers": servers,
    "http": over_http,
    "load": load_test,
}
