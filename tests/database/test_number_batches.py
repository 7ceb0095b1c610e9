"""Requests for one series that wait at the same moment share a lock and a transaction; each keeps what it was promised."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from redis.asyncio import Redis as RedisClient
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import Organization
from saraban.kit.db import Database
from saraban.kit.fastlane import Packet
from saraban.kit.idempotency import Claim, IdempotencyKey, KeyInUse
from saraban.kit.ids import new_id
from saraban.kit.locks import RedisLocks
from saraban.kit.operation import Operation, Receipt
from saraban.numbering import service as numbering
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import NumberingBusy
from saraban.numbering.issue.service import number_batch
from saraban.numbering.series.domain.counter import SequenceExhausted
from saraban.numbering.series.models import NumberCounter, NumberFormat, NumberRange
from saraban.projects.models import Project, ProjectOrganization
from tests.factories.contexts import context
from tests.numbering_world import NOW, World, check_accounts, world_of
from tests.servers import running_redis

pytestmark = pytest.mark.sampled("mariadb")


@pytest_asyncio.fixture
async def world(any_demo_url: str) -> AsyncIterator[World]:
    """The test runs once on each database."""
    db = Database(any_demo_url)
    yield await world_of(db)
    await db.close()


async def moves(world: World) -> int:
    """How often the counters were moved: once a batch."""
    async with world.db.reading() as session:
        return int(await session.scalar(sa.select(sa.func.coalesce(sa.func.sum(NumberCounter.version), 0))) or 0)


async def many(world: World, allocator: numbering.Allocator, count: int, **request: Any) -> list[numbering.Issued]:
    plan = await world.plan(world.letter(**request))
    return list(
        await asyncio.gather(
            *(
                allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
                for _ in range(count)
            )
        )
    )


async def with_further_organizations(db: Database, count: int) -> dict[str, UUID]:
    """Have so many organizations take part in the demo project: the demo's own, and as many more as it takes."""
    async with db.writing() as session:
        project = await session.scalar(sa.select(Project.id).where(Project.project_code == "LCBP3-C2"))
        known = int(await session.scalar(sa.select(sa.func.count()).select_from(Organization)) or 0)
        further = [
            Organization(
                public_id=new_id(),
                organization_code=f"ผรม.{number}",
                organization_name=f"ผู้รับเหมา {number}",
                created_at=NOW,
                updated_at=NOW,
            )
            for number in range(100, 100 + count - known)
        ]
        session.add_all(further)
        await session.flush()
        session.add_all(ProjectOrganization(project_id=project, organization_id=one.id) for one in further)
        rows = await session.execute(sa.select(Organization.organization_code, Organization.public_id))
        return dict(rows.all())


class LeavingClaim(Claim):
    """The claim of a key whose caller leaves at the moment when the receipt is written."""

    def __init__(self, db: Database, operation: Operation, leave: Callable[[], None]) -> None:
        super().__init__(db, operation)
        self._leave = leave

    def queue_receipt(self, packet: Packet, receipt: Receipt, *, refusal: Exception) -> None:
        self._leave()
        super().queue_receipt(packet, receipt, refusal=refusal)


class TestBatch:
    async def test_gives_everybody_a_number_in_order_of_arrival(self, world: World) -> None:
        issued = await many(world, world.allocator(), 300)

        assert [one.sequence for one in issued] == list(range(1, 301))
        await check_accounts(world)

    async def test_moves_the_counter_once_for_all_who_wait(self, world: World) -> None:
        allocator = world.allocator()
        await many(world, allocator, 300)

        # The first to come is served at once, alone; the rest waits meanwhile and is served together.
        assert await moves(world) <= 3

    async def test_with_documents_between_keeps_the_order(self, world: World) -> None:
        """A document goes alone, with its own rows; who came before it has a lower number, who came after a higher."""
        allocator = world.allocator()
        plan = await world.plan(world.letter())

        async def loose() -> numbering.Issued:
            return await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))

        async def document() -> numbering.Issued:
            return await world.draw(allocator, world.letter(), holder=numbering.Holder("letter", new_id()))

        first = asyncio.gather(*(loose() for _ in range(10)))
        await asyncio.sleep(0)
        second = await document()
        third = await loose()

        assert max(one.sequence for one in await first) < second.sequence < third.sequence
        await check_accounts(world)

    async def test_goes_on_when_one_member_is_refused(self, world: World) -> None:
        """Letters and memos count in one series; only the memos' format refuses to widen."""
        async with world.db.writing() as session:
            default = await session.scalar(
                sa.select(NumberFormat).where(NumberFormat.format_template.startswith("{ORIGINATOR}-{RECIPIENT}-{SEQ"))
            )
            assert default is not None
            memo = await session.scalar(sa.text("SELECT id FROM correspondence_types WHERE type_code = 'MEMO'"))
            session.add(
                NumberFormat(
                    public_id=new_id(),
                    project_id=default.project_id,
                    correspondence_type_id=memo,
                    format_template="{ORIGINATOR}-{RECIPIENT}-{SEQ:1}-{YEAR:B.E.}",
                    reset_sequence_yearly=True,
                    overflow="refuse",
                    created_at=NOW,
                    updated_at=NOW,
                )
            )
        allocator = world.allocator()
        await many(world, allocator, 9)
        plans = [await world.plan(world.letter(type_code=kind)) for kind in ("LETTER", "MEMO", "LETTER")]

        answers = await asyncio.gather(
            *(
                allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
                for plan in plans
            ),
            return_exceptions=True,
        )

        assert isinstance(answers[1], SequenceExhausted)
        assert [one.sequence for one in answers if isinstance(one, numbering.Issued)] == [10, 11]
        await check_accounts(world)

    async def test_that_meets_taken_numbers_assigns_again(self, world: World) -> None:
        allocator = world.allocator()
        await many(world, allocator, 5)
        async with world.db.writing() as session:
            await session.execute(sa.update(NumberCounter).values(last_number=0))

        issued = await many(world, allocator, 20)

        assert [one.sequence for one in issued] == list(range(6, 26))
        (skip,) = await world.audit("SKIP")
        assert (skip.sequence_number, skip.skipped_to) == (1, 5)

    async def test_gives_one_number_to_a_request_that_came_twice(self, world: World) -> None:
        allocator, token = world.allocator(), new_id()

        twice = await asyncio.gather(*(world.take(allocator, world.letter(), token=token) for _ in range(5)))

        assert len({one.number for one in twice}) == 1
        assert len(await world.ledger()) == 1


class TestManySeries:
    """Bare numbers of several series whose locks are held share a transaction."""

    @pytest_asyncio.fixture
    async def world(self, mariadb_demo_url: str) -> AsyncIterator[World]:
        db = Database(mariadb_demo_url)
        yield await world_of(db)
        await db.close()

    @pytest_asyncio.fixture
    async def server(self, world: World, redis_url: str) -> AsyncIterator[numbering.Allocator]:
        async with RedisClient.from_url(redis_url) as redis:
            server = world.allocator(RedisLocks(redis, ttl=5, rest=5))
            yield server
            await server.close()

    async def requests(self, world: World, server: numbering.Allocator) -> list[numbering.IssueRequest]:
        """One for each of twelve series, all of which have a number by now."""
        pairs = list(itertools.permutations(sorted(world.organizations), 2))[:12]
        plans = [await world.plan(world.letter(originator=a, recipient=b)) for a, b in pairs]
        for plan in plans:
            await server.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        return [numbering.IssueRequest(context(caller=world.caller, address=""), plan) for plan in plans]

    async def test_go_in_fewer_transactions_than_there_are_series(
        self, world: World, server: numbering.Allocator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        requests = await self.requests(world, server)
        sizes: list[int] = []
        issue = number_batch.issue_batches

        async def counted(turns: Any, session: AsyncSession) -> Any:
            sizes.append(len(turns))
            return await issue(turns, session)

        monkeypatch.setattr("saraban.numbering.issue.service.allocator.issue_batches", counted)
        issued = await asyncio.gather(*(server.issue(replace(one, token=new_id())) for one in requests * 3))

        assert [one.sequence for one in issued] == [2] * 12 + [3] * 12 + [4] * 12
        assert max(sizes) > 1
        assert len(sizes) < 12
        assert set((await world.counters()).values()) == {4}
        await check_accounts(world)

    async def test_go_alone_where_another_server_has_moved_one_of_them(
        self, world: World, server: numbering.Allocator
    ) -> None:
        requests = await self.requests(world, server)
        elsewhere = await world.allocator().issue(replace(requests[5], token=new_id()))

        issued = await asyncio.gather(*map(server.issue, requests))

        assert elsewhere.sequence == 2
        assert [one.sequence for one in issued] == [2] * 5 + [3] + [2] * 6
        await check_accounts(world)

    async def test_do_not_wait_for_a_counter_that_somebody_has_locked(
        self, world: World, server: numbering.Allocator
    ) -> None:
        requests = await self.requests(world, server)
        locked = sa.select(NumberCounter).where(NumberCounter.series == requests[5].plan.series).with_for_update()
        async with world.db.writing() as session:
            await session.execute(locked)
            issuing = [asyncio.ensure_future(server.issue(one)) for one in requests]
            others = await asyncio.wait_for(asyncio.gather(*issuing[:5], *issuing[6:]), timeout=5)
            waits = not issuing[5].done()

        assert waits
        assert {one.sequence for one in [*others, await issuing[5]]} == {2}
        await check_accounts(world)

    async def test_keep_their_numbers_where_one_has_lost_its_key(
        self, world: World, server: numbering.Allocator
    ) -> None:
        requests = await self.requests(world, server)
        keyed = context(caller=world.caller, address="", key="k")
        lost = Claim(world.db, Operation.of(keyed, "POST /x", {}))
        await lost.take()
        lost.id = new_id()  # as if the row said so: the lease ended, and another process claimed the key
        requests[7] = replace(requests[7], ctx=keyed, claim=lost)

        told = await asyncio.gather(*map(server.issue, requests), return_exceptions=True)

        assert [place for place, one in enumerate(told) if isinstance(one, KeyInUse)] == [7]
        assert [one.sequence for one in told if isinstance(one, numbering.Issued)] == [2] * 11
        await check_accounts(world)


class TestTwoServers:
    async def test_that_take_turns_look_before_they_write(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """What another server has moved is found out once, not with every batch; alone again, memory is trusted again."""
        one, other = world.allocator(), world.allocator()
        moved: list[bool] = []
        attempt = number_batch._write_numbers

        async def counted(*args: Any) -> Any:
            issued = await attempt(*args)
            moved.append(issued is not None)
            return issued

        monkeypatch.setattr(number_batch, "_write_numbers", counted)
        for _ in range(4):
            for server in (one, other):
                await world.take(server, world.letter())
        turns = list(moved)
        moved.clear()
        for _ in range(4):
            await world.take(one, world.letter())

        assert turns.count(False) == 2  # each was surprised once
        assert moved == [True] * 4
        assert [entry.sequence_number for entry in await world.ledger()] == list(range(1, 13))


class TestCaller:
    async def test_that_left_before_its_turn_costs_no_number(self, world: World) -> None:
        allocator = world.allocator()
        plan = await world.plan(world.letter())

        async def slow(_session: AsyncSession, _issued: numbering.Issued) -> None:
            await asyncio.sleep(0.3)

        blocking = asyncio.create_task(
            allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan, write=slow))
        )
        await asyncio.sleep(0.1)
        leaving = asyncio.create_task(
            allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        )
        staying = asyncio.create_task(
            allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        )
        await asyncio.sleep(0.05)
        leaving.cancel()

        assert ((await blocking).sequence, (await staying).sequence) == (1, 2)
        assert len(await world.ledger()) == 2
        await check_accounts(world)

    async def test_that_left_on_the_way_has_its_number_cancelled_with_the_reason(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        allocator = world.allocator()
        plan = await world.plan(world.letter())
        write = repository.queue_numbers

        def written(*args: Any, **more: Any) -> None:
            leaving.cancel()
            write(*args, **more)

        with monkeypatch.context() as patched:  # the caller leaves after the batch has begun and before it is committed
            patched.setattr(repository, "queue_numbers", written)
            leaving = asyncio.create_task(
                allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
            )
            with pytest.raises(asyncio.CancelledError):
                await leaving
        following = await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))

        gone = (await world.ledger())[0]
        assert following.sequence == 2
        assert gone.document_number_status == "CANCELLED"
        assert "Caller gone" in (gone.reason or "")
        assert [row.generated_number for row in await world.audit("CANCEL")] == [gone.document_number]

    async def test_that_left_on_the_way_finds_its_number_again_by_its_key(self, world: World) -> None:
        allocator = world.allocator()
        plan, token = await world.plan(world.letter()), new_id()
        keyed = context(caller=world.caller, address="", key="k")
        leaving: list[asyncio.Task[Any]] = []

        claim = LeavingClaim(world.db, Operation.of(keyed, "POST /x", {}), lambda: leaving[0].cancel())
        await claim.take()
        leaving.append(asyncio.create_task(allocator.issue(numbering.IssueRequest(keyed, plan, token, claim))))
        with pytest.raises(asyncio.CancelledError):
            await leaving[0]
        again = await allocator.issue(numbering.IssueRequest(keyed, plan, token))

        assert again.sequence == 1
        assert [entry.document_number_status for entry in await world.ledger()] == ["CONFIRMED"]


class TestKey:
    async def test_that_was_taken_over_costs_nobody_else_of_the_batch_a_number(self, world: World) -> None:
        allocator, plan = world.allocator(), await world.plan(world.letter())
        requests = []
        for number in range(20):
            keyed = context(caller=world.caller, address="", key=f"k{number}")
            claim = Claim(world.db, Operation.of(keyed, "POST /x", {}))
            await claim.take()
            requests.append(numbering.IssueRequest(keyed, plan, new_id(), claim))
        lost = requests[7].claim
        assert lost is not None
        lost.id = new_id()  # as if the row said so: the lease ended, and another process claimed the key

        told = await asyncio.gather(*map(allocator.issue, requests), return_exceptions=True)

        refused = [place for place, one in enumerate(told) if isinstance(one, KeyInUse)]
        assert refused == [7]
        async with world.db.reading() as session:
            kept = (await session.scalars(sa.select(IdempotencyKey.resource_uuid))).all()
        assert {one for one in kept if one} == {one.public_id for one in told if isinstance(one, numbering.Issued)}
        assert sorted(one.sequence for one in told if isinstance(one, numbering.Issued)) == list(range(1, 20))
        await check_accounts(world)

    async def test_that_is_gone_after_a_day_still_finds_its_number(self, world: World) -> None:
        allocator, plan = world.allocator(), await world.plan(world.letter())
        keyed = context(caller=world.caller, address="", key="k")
        told = []
        for _ in range(2):
            operation = Operation.of(keyed, "POST /x", {})
            claim = Claim(world.db, operation)
            await claim.take()
            told.append(await allocator.issue(numbering.IssueRequest(keyed, plan, operation.token, claim)))
            if len(told) == 1:
                await world.db.transact(lambda session: session.execute(sa.delete(IdempotencyKey)))

        async with world.db.reading() as session:
            kept = (await session.scalars(sa.select(IdempotencyKey.resource_uuid))).one()
        assert [one.repeated for one in told] == [False, True]
        assert told[0].public_id == told[1].public_id == kept
        assert len(await world.ledger()) == 1


class TestFormat:
    async def test_that_was_changed_after_the_plan_is_the_one_that_counts(self, world: World) -> None:
        allocator = world.allocator()
        await world.take(allocator, world.letter())
        plan = await world.plan(world.letter())
        async with world.db.writing() as session:
            await session.execute(
                sa.update(NumberFormat)
                .where(NumberFormat.format_template == plan.template.text)
                .values(
                    format_template="{ORIGINATOR}/{RECIPIENT}/{SEQ:5}/{YEAR:A.D.}", version=NumberFormat.version + 1
                )
            )
            await session.execute(sa.update(NumberCounter).values(version=NumberCounter.version + 1))

        issued = await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))

        assert issued.number == "คคง./ผรม.1/00001/2026"

    async def test_that_is_saved_counts_for_requests_already_planned(self, world: World) -> None:
        """This process remembers where the series stands; saving a format is what makes it look again."""
        allocator = world.allocator()
        plan = await world.plan(world.letter())
        await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        wanted = numbering.FormatDraft(
            template="{ORIGINATOR}/{RECIPIENT}/{SEQ:5}/{YEAR:A.D.}",
            reason="The owner's new letter numbers.",
        )
        await world.db.transact(
            lambda session: numbering.save_format(
                context(caller=world.caller, now=NOW, address=""),
                session,
                numbering.FormatTarget(world.project, "LETTER"),
                wanted=wanted,
            )
        )

        issued = await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))
        planned_after = await world.take(allocator, world.letter())

        assert (issued.number, planned_after.number) == ("คคง./ผรม.1/00001/2026", "คคง./ผรม.1/00002/2026")
        assert [row.format_uuid is not None for row in await world.audit("FORMAT_CHANGE")][-1]


class TestRange:
    async def add(
        self, world: World, plan: numbering.Plan, number: int, kind: str, first: int, last: int
    ) -> NumberRange:
        row = NumberRange(
            public_id=new_id(),
            project_id=plan.project.id,
            series=plan.series,
            number=number,
            kind=kind,
            first_number=first,
            last_number=last,
            reason="For the tests.",
            user_id=world.caller.user_id,
            created_at=NOW,
        )
        async with world.db.writing() as session:
            session.add(row)
            counter = await session.scalar(sa.select(NumberCounter).where(NumberCounter.series == plan.series))
            assert counter is not None
            counter.range_count += 1
            counter.version += 1
            if kind == "KEPT":
                columns = {c.key: getattr(counter, c.key) for c in sa.inspect(NumberCounter).columns}
                session.add(
                    NumberCounter(
                        **(columns | {"range": number, "last_number": first - 1, "range_count": 0, "version": 0})
                    )
                )
        return row

    async def test_is_stepped_over_by_the_main_counter(self, world: World) -> None:
        allocator = world.allocator()
        await many(world, allocator, 2)
        plan = await world.plan(world.letter())
        await self.add(world, plan, 1, "KEPT", 4, 6)
        await self.add(world, plan, 2, "BARRED", 8, 8)

        issued = await many(world, allocator, 4)

        assert [one.sequence for one in issued] == [3, 7, 9, 10]

    async def test_counts_by_itself_and_ends_at_its_end(self, world: World) -> None:
        allocator = world.allocator()
        await many(world, allocator, 2)
        kept = await self.add(world, await world.plan(world.letter()), 1, "KEPT", 100, 102)
        request = world.letter(range_public_id=kept.public_id)

        issued = [await world.take(allocator, request) for _ in range(3)]
        with pytest.raises(SequenceExhausted):
            await world.take(allocator, request)

        assert [one.sequence for one in issued] == [100, 101, 102]
        assert (await world.take(allocator, world.letter())).sequence == 3


class TestReservation:
    async def test_is_drawn_with_its_expiry_by_the_databases_clock(self, world: World) -> None:
        issued = await world.take(world.allocator(), world.letter(), lasts=timedelta(minutes=5))

        (entry,) = await world.ledger()
        assert (issued.status, entry.document_number_status) == ("RESERVED", "RESERVED")
        assert issued.expires_at == entry.expires_at is not None
        assert [row.operation for row in await world.audit("RESERVE")] == ["RESERVE"]


class TestLinearizability:
    async def test_who_saw_a_number_never_gets_a_lower_one_later(self, world: World) -> None:
        allocators = [world.allocator(), world.allocator()]
        plan = await world.plan(world.letter())
        seen = 0

        async def client(number: int) -> None:
            nonlocal seen
            for _ in range(15):
                before = seen
                issued = await allocators[number % 2].issue(numbering.IssueRequest(context(world.caller), plan))
                assert issued.sequence > before
                seen = max(seen, issued.sequence)

        await asyncio.gather(*(client(number) for number in range(8)))
        await check_accounts(world)


class TestNewYear:
    """Midnight in Asia/Bangkok is 17:00 UTC."""

    async def test_begins_each_series_anew_at_midnight(self, world: World) -> None:
        allocator = world.allocator()
        midnight = datetime(2026, 12, 31, 17, tzinfo=UTC)
        moments = [midnight - timedelta(milliseconds=1)] * 5 + [midnight] * 5
        plans = [await world.plan(world.letter(), now=moment) for moment in moments]

        issued = await asyncio.gather(
            *(allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan)) for plan in plans)
        )

        assert [(one.year, one.sequence) for one in issued] == [
            *((2026, n) for n in range(1, 6)),
            *((2027, n) for n in range(1, 6)),
        ]
        assert issued[0].number.endswith("-0001-2569")
        assert issued[5].number.endswith("-0001-2570")
        await check_accounts(world)

    async def test_of_a_clock_that_goes_back_issues_nothing_twice(self, world: World) -> None:
        """A clock set back by an hour on New Year's morning draws in the old year's series, after its last number."""
        allocator = world.allocator()
        morning = datetime(2026, 12, 31, 17, 30, tzinfo=UTC)
        moments = [morning - timedelta(hours=1), morning, morning - timedelta(hours=1), morning - timedelta(seconds=1)]

        issued = [
            await allocator.issue(
                numbering.IssueRequest(
                    context(caller=world.caller, address=""), await world.plan(world.letter(), now=moment)
                )
            )
            for moment in moments
        ]

        assert [(one.year, one.sequence) for one in issued] == [(2026, 1), (2027, 1), (2026, 2), (2027, 2)]
        await check_accounts(world)

    @pytest.mark.parametrize("pairs", [50, pytest.param(500, marks=pytest.mark.faults)])
    async def test_turns_many_series_at_once(self, world: World, pairs: int) -> None:
        """
        Pairs of organizations write to each other at 23:59:59.999 and at 00:00, all in one moment.

        They wait for the connections as long as it takes: how fast this machine is, is not asked here.
        """
        patient = Database(world.db.url.render_as_string(hide_password=False), pool_timeout=100)
        try:
            organizations = await with_further_organizations(world.db, 23 if pairs > 50 else 8)
            await self.turn(replace(world, db=patient, organizations=organizations), pairs)
        finally:
            await patient.close()

    async def turn(self, wide: World, many: int) -> None:
        allocator = wide.allocator(deadline=100)
        pairs = list(itertools.permutations(sorted(wide.organizations), 2))[:many]
        midnight = datetime(2026, 12, 31, 17, tzinfo=UTC)
        moments = (midnight - timedelta(milliseconds=1), midnight)
        plans = [
            await wide.plan(wide.letter(originator=a, recipient=b), now=moment) for a, b in pairs for moment in moments
        ]

        issued = await asyncio.gather(
            *(allocator.issue(numbering.IssueRequest(context(caller=wide.caller, address=""), plan)) for plan in plans)
        )

        years = itertools.cycle(("2569", "2570"))
        assert [one.number for one in issued] == [f"{a}-{b}-0001-{next(years)}" for a, b in pairs for _ in moments]
        counters = await wide.counters()
        assert (len(counters), set(counters.values())) == (2 * many, {1})
        assert {row.reservation_uuid for row in await wide.audit("GENERATE")} == {one.public_id for one in issued}


class TestDeadline:
    async def test_ends_the_wait_of_who_is_not_yet_on_the_way(self, world: World) -> None:
        allocator = world.allocator(deadline=0.2)
        plan = await world.plan(world.letter())

        async def slow(_session: AsyncSession, _issued: numbering.Issued) -> None:
            await asyncio.sleep(0.6)

        blocking = asyncio.create_task(
            allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan, write=slow))
        )
        await asyncio.sleep(0.1)
        with pytest.raises(NumberingBusy):
            await allocator.issue(numbering.IssueRequest(context(caller=world.caller, address=""), plan))

        assert (await blocking).sequence == 1
        assert len(await world.ledger()) == 1


class TestSeveralMasters:
    async def test_hold_the_lock_while_a_majority_lives_and_leave_it_to_the_database_after(
        self, mariadb_demo_url: str
    ) -> None:
        db = Database(mariadb_demo_url)
        with running_redis() as one, running_redis() as two, running_redis() as three:
            clients = [RedisClient.from_url(server.url, socket_timeout=0.5) for server in (one, two, three)]
            try:
                world = await world_of(db)
                locks = RedisLocks(*clients, ttl=5, rest=0.05)
                allocator = world.allocator(locks)
                await many(world, allocator, 20)
                one.stop()
                await many(world, allocator, 20)
                paths = [row.lock_path for row in await world.audit("GENERATE")]
                await asyncio.sleep(0.1)  # the lock is kept for a moment
                two.freeze()
                await many(world, allocator, 20)
                two.thaw()
                await asyncio.sleep(0.1)
                await many(world, allocator, 20)

                after = [row.lock_path for row in await world.audit("GENERATE")]
                assert set(paths) == {"redis"}
                assert (set(after[40:60]), set(after[60:])) == ({"database"}, {"redis"})
                await check_accounts(world)
                await locks.close()
            finally:
                for client in clients:
                    await client.aclose()
                await db.close()

    async def test_let_one_of_two_servers_through_at_a_time(self) -> None:
        inside = most = 0
        with running_redis() as one, running_redis() as two, running_redis() as three:
            clients = [[RedisClient.from_url(s.url) for s in (one, two, three)] for _ in range(2)]
            servers = [RedisLocks(*masters, ttl=5, rest=5) for masters in clients]

            async def work(locks: RedisLocks) -> None:
                nonlocal inside, most
                for _ in range(10):
                    async with locks.hold("series", within=10):
                        inside += 1
                        most = max(most, inside)
                        await asyncio.sleep(0.002)
                        inside -= 1

            await asyncio.gather(*(work(locks) for locks in servers))
            for locks in servers:
                await locks.close()
            for client in (c for masters in clients for c in masters):
                await client.aclose()

        assert most == 1


class TestTurns:
    async def test_alternate_between_servers_on_one_hot_series(self, redis_url: str) -> None:
        """A server that asks again at once has a slice of time, and does not starve the others."""
        order: list[int] = []
        clients = [RedisClient.from_url(redis_url) for _ in range(3)]

        async def work(number: int) -> None:
            locks = RedisLocks(clients[number], ttl=5, rest=5)
            for _ in range(10):
                async with locks.hold("hot", within=10):
                    order.append(number)
                    await asyncio.sleep(0.025)
            await locks.close()

        await asyncio.gather(*(work(number) for number in range(3)))
        for client in clients:
            await client.aclose()

        runs = [len(list(run)) for _, run in itertools.groupby(order[:20])]  # at the end somebody may be alone
        assert max(runs) <= 4

    async def test_forget_a_server_that_stopped_asking(self, redis_url: str) -> None:
        async with RedisClient.from_url(redis_url) as client:
            locks = RedisLocks(client, ttl=0.2, rest=5)
            async with locks.hold("left", within=1):
                waiting = asyncio.create_task(_enter(locks))
                await asyncio.sleep(0.05)
                waiting.cancel()
            await asyncio.wait_for(_enter(locks), 2)
            await locks.close()


async def _enter(locks: RedisLocks) -> None:
    async with locks.hold("left", within=5):
        pass
