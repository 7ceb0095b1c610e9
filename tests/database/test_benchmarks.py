"""What the benchmarks compare with is honest: every baseline issues each number once; a row is met or it is not."""

import asyncio
import inspect
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import pytest_asyncio
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import iter_route_contexts
from redis.asyncio import Redis
from sqlalchemy.engine import make_url

from benchmarks import (
    allocator,
    controllers,
    creation,
    drawings,
    filled,
    full,
    http,
    number_baselines,
    numbering,
    register_baselines,
    registers,
    rfa_items,
    setup,
    workflow,
    workflow_baselines,
)
from benchmarks.app import served
from benchmarks.bench import Bench, Suite
from benchmarks.document_baselines import pattern_of, rows_of
from benchmarks.filled import READERS
from benchmarks.load import closed_loop, interleaved, open_loop
from benchmarks.pending_rfas import BACK, FORWARD, PendingRfas, approvals_in_turn, create_rfa, pending_rfas_in
from benchmarks.register_baselines import Reader
from benchmarks.results import Row, facts
from benchmarks.trips import counting
from saraban.config import Settings
from saraban.documents.core.schemas import RegisterQuery
from saraban.documents.demo.service import find_demo_project
from saraban.documents.drawing.domain import SHOP
from saraban.documents.drawing.repository import registers as register_rows
from saraban.documents.rfa.service import RFA
from saraban.identity import service as identity
from saraban.kit.db import Database
from tests.conftest import SignIn, settings_in
from tests.factories.contexts import context
from tests.servers import MariaDb
from tests.servers import Redis as RedisServer

pytestmark = [pytest.mark.servers, pytest.mark.faults]

CLIENTS = 8


class TestBaselines:
    @pytest.mark.parametrize("name", ["floor", "naive", "for_update", "batched", "increment"])
    async def test_issue_each_number_once(self, name: str, mariadb_url: str, redis_url: str) -> None:
        async with number_baselines.Pool(make_url(mariadb_url), CLIENTS) as pool, Redis.from_url(redis_url) as redis:
            await number_baselines.prepare(pool)
            made = {
                "floor": lambda: number_baselines.floor(pool),
                "naive": lambda: number_baselines.naive(pool, redis, poll=0.002),
                "for_update": lambda: number_baselines.for_update(pool),
                "batched": lambda: number_baselines.batched(pool),
                "increment": lambda: number_baselines.increment(redis),
            }[name]()
            given: list[int] = []

            async def operation() -> None:
                number = await made()
                given.extend(number if isinstance(number, tuple) else [number])

            outcome = await closed_loop(operation, clients=CLIENTS, seconds=0.3)

        assert outcome.refused == 0
        assert sorted(given) == list(range(1, len(given) + 1))
        assert outcome.done > CLIENTS

    def test_of_threads_issue_each_number_once(self, mariadb_url: str) -> None:
        given: list[int] = []
        django = number_baselines.DjangoSequences(make_url(mariadb_url))
        django.prepare()

        outcome = django.run(clients=CLIENTS, seconds=0.3, given=given)

        assert outcome.refused == 0
        assert sorted(given) == list(range(1, len(given) + 1))
        assert outcome.done == len(given) > CLIENTS


class TestCreationPattern:
    async def test_leaves_as_many_rows_as_the_product(self, mariadb_demo_url: str, redis_url: str) -> None:
        url = make_url(mariadb_demo_url)
        async with pending_rfas_in(mariadb_demo_url, redis_url) as pending, number_baselines.Pool(url, 1) as pool:
            system = pending.system
            async with system.db.reading() as session:
                known = await find_demo_project(session, system.clock.now(), system.clock.zone)
            async with pool.transaction() as cursor:
                before = await rows_of(cursor)
            await create_rfa(system, known)
            async with pool.transaction() as cursor:
                created, pattern = await rows_of(cursor), await pattern_of(cursor, before)
            await pattern.creating(pool)()
            async with pool.transaction() as cursor:
                after = await rows_of(cursor)

        ours = {table: len(rows - before[table]) for table, rows in created.items()}
        assert {table: len(rows - created[table]) for table, rows in after.items()} == ours
        assert min(ours[table] for table in ("correspondences", "document_number_audit", "document_reach")) > 0


class TestCountingWire:
    async def test_counts_what_a_connection_waits_for(self, mariadb_url: str) -> None:
        async with counting(mariadb_url) as (wire, near), number_baselines.Pool(make_url(near), 1) as pool:

            async def work() -> None:
                async with pool.transaction() as cursor:
                    await cursor.execute("SELECT 1")
                    await cursor.execute("SELECT 2")

            assert await wire.counted(work, 5) == 3  # with the commit


class TestPendingRfas:
    """One pending for all: every side moves rows of its own, and leaves as much as it says."""

    async def test_every_side_moves_each_instance_and_leaves_its_rows(
        self, mariadb_demo_url: str, redis_url: str
    ) -> None:
        async with (
            pending_rfas_in(mariadb_demo_url, redis_url) as pending,
            number_baselines.Pool(pending.system.db.url, CLIENTS) as pool,
        ):
            alchemy = workflow_baselines.engine_of(pending, clients=CLIENTS)
            operations = await workflow.operations(pending, pool, alchemy, CLIENTS)
            before = await self._rows(pool)
            outcomes = {}
            for name, operation in operations.items():
                outcomes[name] = [await operation() for _ in range(2 * CLIENTS)]
                after = await self._rows(pool)
                told = 2 * CLIENTS
                assert after["workflow_histories"] - before["workflow_histories"] == told, name
                assert after["outbox_events"] - before["outbox_events"] == told, name
                if name in {"Saraban", workflow.SAME}:
                    assert after["audit_logs"] - before["audit_logs"] == told, name
                before = after
            await alchemy.dispose()
            await self._all_are_back(pool, outcomes)
            await self._pages(pending)

    async def _rows(self, pool: number_baselines.Pool) -> dict[str, int]:
        found = {}
        async with pool.transaction() as cursor:
            for table in ("workflow_histories", "outbox_events", "audit_logs"):
                await cursor.execute(f"SELECT COUNT(*) FROM {table}")
                ((found[table],),) = await cursor.fetchall()
        return found

    async def _all_are_back(self, pool: number_baselines.Pool, moved: dict[str, list[object]]) -> None:
        """There and back: two steps for each, at the state it began in."""
        async with pool.transaction() as cursor:
            for name in ("Saraban", "floor", workflow.MANY, workflow.SAME, workflow.FEW):
                keys = sorted({str(key) for key in moved[name]})
                marks = ", ".join(["%s"] * len(keys))
                await cursor.execute(
                    f"SELECT DISTINCT current_state, version_no FROM workflow_instances WHERE id IN ({marks})", keys
                )
                assert await cursor.fetchall() == (("pending_review", 4),), name

    async def _pages(self, pending: PendingRfas) -> None:
        page = await workflow.page_of(pending)()
        assert len({item.envelope.instance_public_id for item in page.items}) == workflow.PAGE

    async def test_a_step_of_ours_takes_a_bounded_number_of_statements(
        self, mariadb_demo_url: str, redis_url: str
    ) -> None:
        async with (
            pending_rfas_in(mariadb_demo_url, redis_url) as pending,
            number_baselines.Pool(pending.system.db.url, 1) as pool,
        ):
            operation = approvals_in_turn(pending, await pending.copy(2))
            await operation()  # what the process remembers of definitions is read now
            before = await self._asked(pool)
            await operation()
            one = await self._asked(pool) - before

        assert 10 < one <= 18

    async def _asked(self, pool: number_baselines.Pool) -> int:
        """How many statements the server has been asked for, each of several in one message counted."""
        async with pool.transaction() as cursor:
            await cursor.execute("SHOW GLOBAL STATUS LIKE 'Questions'")
            ((_, count),) = await cursor.fetchall()
        return int(count)

    async def test_its_worker_tells_what_was_moved(self, mariadb_demo_url: str, redis_url: str) -> None:
        async with pending_rfas_in(mariadb_demo_url, redis_url) as pending:
            operation = approvals_in_turn(pending, await pending.copy(3))
            for _ in range(3):
                await operation()
            # The first document's own events are among them: it was made through the services.
            assert (await workflow.drained(pending)).done >= 3
            assert (await workflow.drained(pending)).done == 0


class TestSpiff:
    def test_stands_where_its_steps_lead(self) -> None:
        spiff = workflow_baselines.Spiff()

        moved = spiff.step(spiff.fresh, FORWARD)
        back = spiff.step(moved, BACK)

        assert [spiff.stands(text) for text in (spiff.fresh, moved, back)] == [
            "pending_review",
            "pending_approval",
            "pending_review",
        ]


class TestNothing:
    def test_passes_whatever_drawing_a_number_passes(self, tmp_path: Path) -> None:
        """Both are addresses of one application; they differ in what they do between the question and the answer."""
        contexts = {context.path: context for context in iter_route_contexts(served(settings_in(tmp_path)).routes)}
        operation, nothing = contexts[f"{http.API}/generate"], contexts[http.NOTHING]

        assert sorted(_names(nothing.dependant)) == sorted(_names(operation.dependant))
        assert len(list(_names(operation.dependant))) > 3
        assert type(nothing.original_route) is type(operation.original_route)
        assert inspect.signature(nothing.endpoint).parameters == inspect.signature(operation.endpoint).parameters


def _names(dependant: Dependant) -> Iterator[str]:
    for below in dependant.dependencies:
        yield below.call.__name__
        yield from _names(below)


class TestRegisters:
    async def test_ask_four_readers_for_each_filter_and_order(
        self, mariadb_demo_url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(registers, "LIST", tmp_path / "list.txt")
        async with pending_rfas_in(mariadb_demo_url, redis_url) as pending:
            await pending.copy(60)
        await filled.open_readers(mariadb_demo_url)
        data = filled.Filled(mariadb_demo_url, 61)

        rows = await registers.registers(data, redis_url, "registers", say=print, again=1, step=7)

        assert [row.wanted for row in rows] == [*["<= 50"] * 4, "<= 1.5", "<= 200", "<= 1.2"]
        assert all(row.value > 0 for row in rows)
        told = (tmp_path / "list-registers.txt").read_text(encoding="utf-8")
        assert all(f"rfas, {part}, {reader}" in told for part in ("all", "sort=due") for reader in READERS)

    async def test_compare_with_pages_of_the_same_documents(self, mariadb_demo_url: str, redis_url: str) -> None:
        async with pending_rfas_in(mariadb_demo_url, redis_url) as pending:
            await pending.copy(60)
        await filled.open_readers(mariadb_demo_url)
        async with number_baselines.Pool(make_url(mariadb_demo_url), 1) as pool:
            database = Database(mariadb_demo_url)
            async with database.reading() as session:
                caller = await identity.find_caller(session, username=READERS[filled.WIDE])
                assert caller is not None
                page = await RFA.page(context(caller), session, search=RegisterQuery(), counted=False)
            await database.close()
            reader = Reader(caller.user_id, *caller.organization_ids)
            seen = await register_baselines.prepare(pool, reader)
            ideal = await register_baselines.ideal(pool)()
            others = [
                await side(pool, reader, offset=0)()
                for side in (register_baselines.guardian, register_baselines.offset_and_count)
            ]

        shown = [row.document.id for row in page.items]
        assert seen == 61
        assert [row[0] for row in ideal][: len(shown)] == shown
        assert [[row[0] for row in rows] for rows in others] == [shown, shown]


class TestTinyRuns:
    """Suites that measure whole servers, for a moment: they still ask for what there is."""

    @pytest_asyncio.fixture
    async def tiny(
        self, mariadb_server: MariaDb, redis_server: RedisServer, mariadb_demo_url: str, mariadb_demo_template: str
    ) -> AsyncIterator[Bench]:
        made: list[str] = []

        def create(name: str, *, statements: str = "") -> str:
            made.append(name)
            return mariadb_server.create(name, statements=statements)

        server = SimpleNamespace(create=create, run=mariadb_server.run, dump=mariadb_server.dump)
        async with (
            Redis.from_url(redis_server.url) as client,
            allocator.world_in(mariadb_demo_url, fresh=False) as world,
        ):
            yield Bench(
                cast("MariaDb", server),
                redis_server,
                mariadb_demo_url,
                mariadb_demo_template,
                world,
                client,
                seconds=0.3,
                rounds=1,
                say=lambda _what: None,
            )
        for name in made:
            mariadb_server.drop(name)

    @pytest.mark.parametrize(
        "suite", [numbering.hundred_series, creation.reach, creation.search_queue, creation.worker]
    )
    async def test_are_refused_nothing(self, tiny: Bench, suite: Suite) -> None:
        rows = await suite(tiny)

        assert any(row.wanted for row in rows)
        assert all(row.value > 0 and not row.refused for row in rows)

    async def test_accounts_have_a_first_and_a_deepest_page(self, tiny: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(full, "MILLION", 200)
        monkeypatch.setattr(full, "_CHUNK", 100)

        rows = await full.accounts(tiny)

        assert [row.wanted for row in rows] == ["<= 30"] * 3
        assert sum(row.refused for row in rows) == 0

    async def test_controllers_do_everything(self, tiny: Bench) -> None:
        async with pending_rfas_in(tiny.url, tiny.redis.url) as pending:
            await pending.copy(60)

        rows = await controllers.measured(tiny, tiny.url, documents=61)

        assert next(row.value for row in rows if row.row.endswith("errors")) == 0
        assert all(any(f": {action}, p95" in row.row for row in rows) for action in controllers.SHARES)

    async def test_drawings_are_imported_beside_bare_inserts(self, tiny: Bench) -> None:
        rows = await drawings.imports(replace(tiny, rounds=1), revisions=60)

        assert [bool(row.wanted) for row in rows] == [False, True]
        assert all(row.value > 0 for row in rows)

    async def test_rfas_are_answered_alike_by_who_has_no_code_of_ours(
        self, tiny: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rfa_items, "ITEMS", 7)
        monkeypatch.setattr(rfa_items, "CLIENTS", 1)
        asked = (
            "SELECT rfa_revision_id, shop_drawing_revision_id, rfa_approve_code_id, comment FROM rfa_items ORDER BY 1, 2",
            "SELECT id, rfa_approve_code_id FROM shop_drawing_revisions ORDER BY 1",
            "SELECT id, version FROM shop_drawings ORDER BY 1",
            "SELECT id, rfa_status_code_id, rfa_approve_code_id FROM rfa_revisions ORDER BY 1",
            "SELECT id, correspondence_status_id, version FROM correspondence_revisions ORDER BY 1",
            "SELECT current_state, status, version_no FROM workflow_instances ORDER BY created_at",
            "SELECT DISTINCT document_id, status, is_open FROM document_reach ORDER BY 1",
            "SELECT COUNT(*) FROM rfa_item_claims",
            "SELECT COUNT(*) FROM workflow_histories WHERE to_state = 'approved'",
        )
        async with AsyncExitStack() as stack:
            turns = await rfa_items.turns_in(tiny, stack)
            await turns.take(1)
        left = [[tiny.mariadb.run(one, database=name) for one in asked] for name in ("rfa_items", "rfa_items_bare")]

        assert left[0] == left[1]
        assert turns.times.keys() == {"create", "answer", "create: bare", "answer: bare"}


class TestSettingUp:
    @pytest.fixture(autouse=True)
    def few(self, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
        for name, value in {"ORGANIZATIONS": 3, "CONTRACTS": 1, "DISCIPLINES": 2, "PEOPLE": 2, "INVITED": 3}.items():
            monkeypatch.setattr(setup, name, value)

        @asynccontextmanager
        async def databases(_b: Bench, _name: str) -> AsyncIterator[dict[str, str]]:
            yield {"SQLite": settings.sqlalchemy_url}

        monkeypatch.setattr(setup, "demo_databases", databases)

    @pytest.mark.parametrize("suite", [setup.file, setup.people])
    async def test_is_done_in_every_round(self, suite: Suite) -> None:
        bench = SimpleNamespace(rounds=2, say=lambda _what: None)

        rows = await suite(cast("Bench", bench))

        assert [bool(row.wanted) for row in rows] == [True, False]

    async def test_fills_every_list_and_empties_it(self, app: FastAPI, signed_in: SignIn) -> None:
        lists = await setup.Lists.of(app.state.db.url)
        admin = await signed_in("admin")
        long = []
        for what, path in lists.paths.items():
            before = (await admin.get(path, headers={"Accept": "text/html"})).text
            added = await lists.fill(what, 60)
            page = await admin.get(path, headers={"Accept": "text/html"})
            long.append(page.status_code == 200 and "cursor=" in page.text)
            await lists.empty(added)
            assert (await admin.get(path, headers={"Accept": "text/html"})).text.count("<tr") == before.count("<tr")
        await lists.db.close()

        assert long == [True] * len(lists.paths)


class TestLoad:
    async def test_count_what_is_refused(self) -> None:
        async def operation() -> None:
            await asyncio.sleep(0.001)
            raise ValueError

        outcome = await closed_loop(operation, clients=2, seconds=0.05)

        assert (outcome.done, outcome.refused > 2) == (0, True)

    async def test_of_an_open_loop_count_from_when_a_request_was_due(self) -> None:
        """One that keeps the only client makes the others late, and that is what they are charged with."""
        turn = asyncio.Lock()

        async def operation() -> None:
            async with turn:
                await asyncio.sleep(0.05)

        outcome = await open_loop(operation, per_second=100, seconds=0.1)

        assert outcome.done == 10
        assert outcome.percentile(1.0) > 0.3

    async def test_have_no_good_latency_where_nobody_was_answered(self) -> None:
        async def operation() -> None:
            await asyncio.sleep(0.001)
            raise ValueError

        outcome = await open_loop(operation, per_second=100, seconds=0.02)

        assert outcome.percentile(0.99) == math.inf

    async def test_run_both_sides_in_turn(self) -> None:
        order: list[str] = []

        def side(name: str) -> object:
            async def run() -> object:
                order.append(name)
                return await closed_loop(lambda: asyncio.sleep(0.001), clients=1, seconds=0.01)

            return run

        sides = await interleaved({"a": side("a"), "b": side("b")}, rounds=2)

        assert order == ["a", "b", "a", "b"]
        assert sides["a"].rate > 0


class TestRow:
    @pytest.mark.parametrize(
        ("value", "wanted", "met"),
        [
            (40, ">= 40", True),
            (36, ">= 40", True),
            (35.9, ">= 40", False),
            (4.4, "<= 4", True),
            (4.5, "<= 4", False),
            (1, "", None),
        ],
    )
    def test_is_met_within_ten_per_cent(self, value: float, wanted: str, met: bool | None) -> None:
        assert Row("numbering", "a row", value, "x", wanted).met is met

    def test_is_told_with_exactly_the_fields_that_readers_of_the_file_know(self) -> None:
        assert facts([Row("numbering", "a row", 1.23456, "x", ">= 1")])["rows"] == [
            {"suite": "numbering", "row": "a row", "value": 1.235, "unit": "x", "wanted": ">= 1", "met": True}
        ]

    def test_has_its_refusals_beside_it_in_the_file(self) -> None:
        rows = facts([Row("numbering", "a row", 20, "numbers/s", refused=3)])["rows"]

        assert [(row["row"], row["value"], row["met"]) for row in rows] == [
            ("a row", 20, None),
            ("a row: refused", 3, None),
        ]


async def test_drawings_are_shown_to_who_is_meant_to_see_them(
    app: FastAPI, signed_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that is quick because it is empty would be no measurement."""
    await signed_in("admin")  # the demo project is there
    db: Database = app.state.db
    monkeypatch.setattr(drawings, "ASKED", 2)
    await drawings.fill(db, 2_000)

    now, past = await drawings.measured(db)

    for measured in (now, *past.values()):
        assert {reader: len(times) for reader, times in measured.items()} == dict.fromkeys(drawings.READERS, 2)
    asked = await drawings.searches(db)
    async with db.reading() as session:
        found = [len(await register_rows.find_places(session, SHOP, one, limit=2_000)) for one in asked.values()]
        early = replace(asked["all"], moment=drawings.EARLY)
        assert len(await register_rows.find_places(session, SHOP, early, limit=2_000)) == 2
    assert [found[0] > found[1] > found[2] >= found[3], found[3]] == [True, 0]
