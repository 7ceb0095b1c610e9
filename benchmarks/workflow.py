"""The rows of the workflow engine: transitions beside the baselines, the engine alone, the inbox, and events."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from statistics import median
from typing import Any

from benchmarks import number_baselines, workflow_baselines
from benchmarks.bench import Bench, Suite
from benchmarks.load import LoadResult, Round, Side, closed_loop, interleaved
from benchmarks.pending_rfas import REVIEWER, PendingRfas, approvals_in_turn, pending_rfas_in
from benchmarks.results import Row
from saraban.bootstrap import closing, wire
from saraban.worker.loop import Pace, Worker
from saraban.workflow import service as workflow
from saraban.workflow.administration.service.versions import shipped
from saraban.workflow.engine import decisions
from saraban.workflow.verification import definition_checks
from tests.conftest import settings_in
from tests.factories.contexts import context

CLIENTS = 16
INSTANCES = 1000
CROWD = 100_000
PAGE = 20
ROUND = 3.0  # seconds, at most: eleven sides have to fit
_NAME = "workflow"


def ratio(row: str, value: float, wanted: str = "", refused: int = 0) -> Row:
    return Row(_NAME, row, value, "x", wanted, refused)


def rate(row: str, side: Side, unit: str = "transitions/s") -> Row:
    return Row(_NAME, row, side.rate, unit, refused=side.refused)


def _seconds(b: Bench) -> float:
    return min(b.seconds, ROUND)


@asynccontextmanager
async def _pending(b: Bench, name: str) -> AsyncIterator[PendingRfas]:
    """Pending RFAs in a database of their own."""
    async with pending_rfas_in(b.mariadb.create(name, statements=b.template), b.redis.url) as pending:
        yield pending


async def transitions(b: Bench, *, instances: int = INSTANCES) -> list[Row]:
    """16 clients, 1,000 instances, beside the floor and the libraries, each with instances of its own."""
    b.say("transitions: a thousand RFAs for each side")
    async with AsyncExitStack() as stack:
        pending = await stack.enter_async_context(_pending(b, "moves"))
        pool = await stack.enter_async_context(number_baselines.Pool(pending.system.db.url, CLIENTS))
        alchemy = workflow_baselines.engine_of(pending, clients=CLIENTS)
        stack.push_async_callback(alchemy.dispose)
        sides = await interleaved(
            {
                name: _of(b, operation)
                for name, operation in (await operations(pending, pool, alchemy, instances)).items()
            },
            rounds=b.rounds,
        )
    mine, refused = sides["Saraban"], sides["Saraban"].refused

    def against(name: str) -> float:
        return mine.rate / sides[name].rate

    return [
        *(rate(f"{CLIENTS} clients: {name}", side) for name, side in sides.items()),
        Row(_NAME, f"{CLIENTS} clients: Saraban, p99", mine.percentile(0.99) * 1000, "ms"),
        ratio("transitions, against the floor", against("floor"), ">= 0.5", refused),
        ratio("transitions, against python-statemachine with the same rows", against(SAME), ">= 1", refused),
        ratio("transitions, against SpiffWorkflow", against("SpiffWorkflow"), ">= 5", refused),
    ]


MANY = "floor, as many statements as ours"
SAME, FEW = "python-statemachine, the same rows", "python-statemachine, history and event alone"


async def operations(pending: PendingRfas, pool: number_baselines.Pool, alchemy: Any, count: int) -> dict[str, Any]:
    caller, spiff = pending.people[REVIEWER], workflow_baselines.Spiff()
    machine = partial(workflow_baselines.state_machine, alchemy, caller=caller, pattern=pending.pattern)
    stored = await pending.copy(count)
    await spiff.prepare(alchemy, stored)
    return {
        "Saraban": approvals_in_turn(pending, await pending.copy(count)),
        "floor": workflow_baselines.floor(pool, await pending.copy(count), caller=caller),
        MANY: workflow_baselines.floor(pool, await pending.copy(count), caller=caller, more=10),
        SAME: machine(await pending.copy(count), whole=True),
        FEW: machine(await pending.copy(count), whole=False),
        "SpiffWorkflow": spiff.moving(alchemy, stored, caller=caller),
    }


def _of(b: Bench, operation: Any) -> Round:
    return partial(closed_loop, operation, clients=CLIENTS, seconds=_seconds(b))


async def advance(b: Bench) -> list[Row]:
    """The engine alone: the consultant approves an RFA, roles, party and permission included; one core, no database."""
    b.say("advance")
    definition = definition_checks.verify(next(raw for raw in shipped() if raw["workflow"] == "RFA_APPROVAL"))
    conditional = definition_checks.verify(_with_condition())
    async with _pending(b, "advance") as pending, pending.system.db.reading() as session:
        caller = pending.people[REVIEWER]
        row = await workflow.find(
            context(caller=caller), session, subjects=pending.system.subjects, public_id=pending.pattern.instance
        )
        facts = decisions.Facts(caller, row.facts)
    sides = {"as shipped": definition, "with a condition of three comparisons": conditional}
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(b.rounds):
        for name, one in sides.items():
            found[name].append(_advanced(one, facts, seconds=min(b.seconds, 1.0)))
    wanted = f">= {50_000}"
    return [
        Row(_NAME, f"advance of the RFA approval, {name}", median(each), "steps/s", wanted)
        for name, each in found.items()
    ]


def _advanced(definition: Any, facts: Any, *, seconds: float) -> float:
    # The processor's time: that of one core, whoever else wants it.
    done, began = 0, time.process_time()
    while (passed := time.process_time() - began) < seconds:
        for _ in range(500):
            decisions.advance(definition, "pending_review", "approve", facts)
        done += 500
    return done / passed


def _with_condition() -> dict[str, Any]:
    """The shipped approval of RFAs, where the consultant's approval depends on the document: none that ships does."""
    raw = next(each for each in shipped() if each["workflow"] == "RFA_APPROVAL")
    review = next(state for state in raw["states"] if state["name"] == "pending_review")
    review["on"]["approve"]["condition"] = {
        "type": "json-logic",
        "rule": {
            "and": [
                {"==": [{"var": "document.projectCode"}, "LCBP3-C2"]},
                {"in": [{"var": "document.priority"}, ["MEDIUM", "HIGH"]]},
                {"!=": [{"var": "document.revision"}, ""]},
            ]
        },
        "message": {"th": "เอกสารนี้ยังอนุมัติไม่ได้", "en": "This document cannot be approved yet."},
    }
    return raw


async def inbox(b: Bench, *, crowd: int = CROWD, few: int = INSTANCES) -> list[Row]:
    """A page of the inbox of somebody for whom all of them wait."""
    async with AsyncExitStack() as stack:
        pages: dict[str, Round] = {}
        for name, count in (("few", few), ("crowd", crowd)):
            b.say(f"inbox: {count:,} instances")
            pending = await stack.enter_async_context(_pending(b, name))
            await pending.copy(count)
            pages[name] = partial(closed_loop, page_of(pending), clients=1, seconds=_seconds(b) / 2)
        b.say("inbox: pages")
        sides = await interleaved(pages, rounds=b.rounds)
    times = {name: side.percentile(0.5) * 1000 for name, side in sides.items()}
    return [
        Row(_NAME, f"inbox page among {few:,} instances", times["few"], "ms", refused=sides["few"].refused),
        Row(_NAME, f"inbox page among {crowd:,} instances", times["crowd"], "ms", refused=sides["crowd"].refused),
        ratio(f"inbox page among {crowd:,}, against {few:,}", times["crowd"] / times["few"], "<= 1.5"),
    ]


def page_of(pending: PendingRfas) -> Any:
    caller = pending.people[REVIEWER]

    async def operation() -> object:
        async with pending.system.db.reading() as session:
            page = await workflow.list_tasks(
                context(caller=caller), session, subjects=pending.system.subjects, cursor=None, limit=PAGE
            )
        assert len(page.items) == PAGE
        return page

    return operation


async def events(b: Bench, *, instances: int = INSTANCES, idle: int = 40) -> list[Row]:
    """One worker: how soon it handles what an idle system commits, and how fast it works off what a busy one did."""
    b.say("events: an idle system")
    async with _pending(b, "told") as pending:
        moved = approvals_in_turn(pending, await pending.copy(instances))
        await _worker(pending).drain()
        own, handled = await _idle(b, pending, moved, times=idle)
        b.say("events: a busy system")
        made, worked = Side([]), Side([])
        for _ in range(b.rounds):
            made.rounds.append(await closed_loop(moved, clients=CLIENTS, seconds=_seconds(b)))
            worked.rounds.append(await drained(pending))
    return [
        Row(_NAME, "idle: a transition's own time", own * 1000, "ms"),
        Row(_NAME, "idle: committed to handled", handled * 1000, "ms"),
        ratio("idle: committed to handled, against the transition's own time", handled / own, "<= 5"),
        rate("one server, transitions", made),
        rate("one worker, in-app events", worked, "events/s"),
        ratio("events handled by one worker, against transitions", worked.rate / made.rate, ">= 1", made.refused),
    ]


def _worker(pending: PendingRfas) -> Worker:
    return Worker(db=pending.system.db, clock=pending.system.clock, handlers=pending.system.handlers)


async def drained(pending: PendingRfas) -> LoadResult:
    began = time.perf_counter()
    done = await _worker(pending).drain()
    return LoadResult(time.perf_counter() - began, done)


async def _idle(b: Bench, pending: PendingRfas, moved: Any, *, times: int) -> tuple[float, float]:
    """Medians of a transition's own time and of the time from its commit until a worker elsewhere has handled it."""
    own, handled = [], []
    settings = settings_in(
        pending.system.settings.data_dir, database_url=pending.system.settings.database_url, redis_url=b.redis.url
    )
    # A system of its own, with its own connections: what wakes the worker has to come through Redis.
    async with closing(wire(settings)) as elsewhere:
        worker = Worker(
            db=elsewhere.db,
            clock=elsewhere.clock,
            handlers=elsewhere.handlers,
            notifier=elsewhere.worker_notifier,
            pace=Pace(poll=30.0),
        )
        worker.start()
        connection = await number_baselines.connect(pending.system.db.url)
        try:
            for number in range(times + 5):
                began = time.perf_counter()
                await moved()
                committed = time.perf_counter()
                await until_told(connection)
                if number >= 5:  # those before it have warmed up both
                    own.append(committed - began)
                    handled.append(time.perf_counter() - committed)
        finally:
            connection.close()
            await worker.stop()
    return median(own), median(handled)


async def until_told(connection: Any) -> None:
    async with connection.cursor() as cursor:
        while True:
            await cursor.execute("SELECT COUNT(*) FROM outbox_events WHERE delivered_at IS NULL")
            ((waiting,),) = await cursor.fetchall()
            await connection.commit()
            if not waiting:
                return
            await asyncio.sleep(0.0005)


SUITES: dict[str, Suite] = {"transitions": transitions, "advance": advance, "inbox": inbox, "events": events}
