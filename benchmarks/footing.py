"""What the product costs beside the framework alone: a number over HTTP, and a server that nobody asks anything."""

import asyncio
import tempfile
from pathlib import Path

from sqlalchemy.engine import make_url

from benchmarks import http, number_baselines, processor
from benchmarks.bench import Bench, Suite
from benchmarks.load import interleaved
from benchmarks.results import Row
from saraban.kit import migrations
from tests.conftest import seeded, settings_in
from tests.processes import RunningSaraban

_NAME = "footing"
WARM, IDLE = 20.0, 60.0  # seconds
SHORT = 8.0  # a round of fewer seconds is no measurement: then nothing waits longer than that


async def generate(b: Bench) -> list[Row]:
    """One number over HTTP beside the sum of what it cannot do without, and a hundred clients."""
    url = b.mariadb.create("generate", statements=b.template)
    with tempfile.TemporaryDirectory() as folder:
        async with http.site_on(url, b.redis.url, Path(folder)) as site, http.trivial_server() as (port, _pid):
            trivial = [site.request(http.TRIVIAL)]
            b.say("generate, 1 client, beside a trivial POST and the bare transaction")
            async with (
                http.Clients(site.port, 1) as one,
                http.Clients(port, 1) as other,
                number_baselines.Pool(make_url(b.url), 1) as pool,
            ):
                await number_baselines.prepare(pool)
                alone = await interleaved(
                    {
                        "generate": b.of(one.sending([site.generate]), 1),
                        "trivial POST": b.of(other.sending(trivial), 1),
                        "bare transaction": b.of(number_baselines.floor(pool), 1),
                    },
                    rounds=b.rounds,
                )
            b.say("generate, 100 clients, beside a trivial POST")
            async with http.Clients(site.port, 100) as many, http.Clients(port, 100) as others:
                crowd = await interleaved(
                    {
                        "generate": b.of(many.sending([site.generate]), 100),
                        "trivial POST": b.of(others.sending(trivial), 100),
                    },
                    rounds=b.rounds,
                )
    times = {name: 1000 / side.rate for name, side in alone.items()}
    share = times["generate"] / (times["trivial POST"] + times["bare transaction"])
    against = crowd["generate"].rate / crowd["trivial POST"].rate
    return [
        *(Row(_NAME, f"1 client: {name}", time, "ms") for name, time in times.items()),
        Row(
            _NAME, "1 client: generate, against the two others together", share, "x", "<= 2", alone["generate"].refused
        ),
        *(Row(_NAME, f"100 clients: {name}", side.rate, "answers/s") for name, side in crowd.items()),
        Row(_NAME, "100 clients: generate, against a trivial POST", against, "x", ">= 0.4", crowd["generate"].refused),
    ]


async def idle(b: Bench) -> list[Row]:
    """`saraban serve` on SQLite with its worker, and the framework's server, when nobody asks anything."""
    b.say("idle on SQLite")
    part = min(b.seconds / SHORT, 1.0)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await asyncio.to_thread(migrations.upgrade, f"sqlite:///{folder / 'saraban.db'}")
        await seeded(settings_in(folder))
        server = RunningSaraban(
            folder, env="test", workers=1
        )  # a program of its own, not one forked from a process of tests
        await asyncio.to_thread(server.start)
        try:
            share, memory = await _resting(server.pid, part)
        finally:
            await asyncio.to_thread(server.kill)
    rows += [
        Row(_NAME, "idle on SQLite: processor", share, "%", "<= 0.5"),
        Row(_NAME, "idle on SQLite: memory of all processes (PSS)", memory, "MB", "<= 150"),
    ]
    async with http.trivial_server() as (_port, pid):
        share, memory = await _resting(pid, part)
    return [
        *rows,
        Row(_NAME, "idle, the framework alone: processor", share, "%"),
        Row(_NAME, "idle, the framework alone: memory of all processes (PSS)", memory, "MB"),
    ]


async def _resting(pid: int, part: float) -> tuple[float, float]:
    """Return the share of a core, and the memory at the end."""
    await asyncio.sleep(WARM * part)
    before = processor.seconds(pid)
    await asyncio.sleep(IDLE * part)
    return (processor.seconds(pid) - before) * 100 / (IDLE * part), processor.megabytes(pid)


SUITES: dict[str, Suite] = {"generate": generate, "idle": idle}
