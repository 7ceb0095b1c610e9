"""The product's own allocator, in this process and in others."""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import orjson
import structlog
import uvloop
from redis.asyncio import Redis

from benchmarks.load import LoadResult, Operation, closed_loop
from saraban.kit import migrations
from saraban.kit.db import Database
from saraban.kit.locks import Locks, RedisLocks
from saraban.numbering.issue.service.issue_request import IssueRequest
from saraban.numbering.issue.service.number_plan import Plan, PreparedTemplate
from saraban.numbering.series.domain.template import stored_template
from tests.conftest import seeded, settings_in
from tests.demo_people import cheap_passwords
from tests.factories.contexts import context
from tests.numbering_world import World, world_of


def quiet_logs() -> None:
    """Warnings of retries are the faults' business, not the clock's."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


@asynccontextmanager
async def world_in(url: str, *, fresh: bool = True) -> AsyncIterator[World]:
    """Return the demo project in a database, seeded if it is `fresh`."""
    if fresh:
        await asyncio.to_thread(migrations.upgrade, url)
        with tempfile.TemporaryDirectory() as folder, cheap_passwords():
            await seeded(settings_in(Path(folder), database_url=url))
    db = Database(url)
    try:
        yield await world_of(db)
    finally:
        await db.close()


async def one_series(world: World, locks: Locks) -> Operation:
    """One series that everybody wants."""
    return await many_series(world, locks, series=1)


async def many_series(world: World, locks: Locks, *, series: int) -> Operation:
    """So many series, in turn; they differ in their series' name alone, as if each had a recipient of its own."""
    allocator = world.allocator(locks)
    plan = await world.plan(world.letter(recipient="ผรม.2"))
    plans = cycle([plan] if series == 1 else [_like(plan, number) for number in range(series)])

    ctx = context(caller=world.caller, address="127.0.0.1")  # made by the endpoint, which is not measured here

    async def operation() -> object:
        return await allocator.issue(IssueRequest(ctx, next(plans)))

    return operation


def _like(plan: Plan, number: int) -> Plan:
    from dataclasses import replace

    values = {**plan.values, "RECIPIENT": f"B{number}"}
    template = stored_template(plan.template.text)
    name = template.series(values, resets=True)
    return replace(
        plan,
        values=values,
        series=name,
        lock_name=f"docnum:bench:0:{name}",
        printing=PreparedTemplate.of(template, values, plan.revision),
    )


async def in_processes(url: str, redis: str, *, processes: int, clients: int, seconds: float) -> list[LoadResult]:
    """Have so many processes issue from one series at the same moment, and return what each did."""
    command = [sys.executable, "-m", "benchmarks.allocator", url, redis, str(clients), str(seconds)]
    running = [
        await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        for _ in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        await process.stdout.readline()  # it is ready
    answers = await asyncio.gather(*(process.communicate(b"go\n") for process in running))
    told = [orjson.loads(out) for out, _ in answers]
    return [LoadResult(one["seconds"], one["done"], one["refused"]) for one in told]


async def _in_own_process(url: str, redis_url: str, clients: int, seconds: float) -> None:
    quiet_logs()
    async with world_in(url, fresh=False) as world, Redis.from_url(redis_url) as redis:
        operation = await one_series(world, RedisLocks(redis, ttl=5, rest=5))
        await operation()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        outcome = await closed_loop(operation, clients=clients, seconds=seconds)
    told = {"seconds": outcome.seconds, "done": outcome.done, "refused": outcome.refused}
    sys.stdout.write(orjson.dumps(told).decode())


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("redis")
    parser.add_argument("clients", type=int)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args(words)
    uvloop.run(_in_own_process(given.url, given.redis, given.clients, given.seconds))


if __name__ == "__main__":
    main(sys.argv[1:])
