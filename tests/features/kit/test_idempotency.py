"""One effect for a repeated request, and a receipt that says what it was, whatever happens in between."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.kit.idempotency import Idempotency, KeyInUse, KeyReused, delete_expired_keys
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt

NAME = "POST /x"


@dataclass(frozen=True)
class Person:
    public_id: UUID = field(default_factory=new_id)


@dataclass(frozen=True)
class Requester:
    """As much of a request context as a key needs."""

    key: str | None = None
    caller: Person = field(default_factory=Person)
    now: datetime = datetime(2026, 11, 20, tzinfo=UTC)


class Work:
    """Counts how often it is really done."""

    def __init__(self) -> None:
        self.done = 0
        self.receipt = Receipt("thing", new_id(), {"version": 1, "state": None})

    async def __call__(self, _session: AsyncSession) -> Receipt:
        self.done += 1
        return self.receipt


@pytest.fixture
def work() -> Work:
    return Work()


@pytest.fixture
def once(db: Database) -> Idempotency:
    return Idempotency(db)


@pytest.fixture
def ctx() -> Requester:
    return Requester("k")


class TestRepeatedRequest:
    async def test_gets_the_receipt_of_the_first(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        first, second = [await once.run(Operation.of(ctx, NAME, {"a": 1}), work) for _ in range(2)]

        assert first == work.receipt
        assert second == replace(work.receipt, repeated=True)
        assert work.done == 1

    async def test_without_a_key_is_another_request(self, once: Idempotency, work: Work) -> None:
        for _ in range(2):
            await once.run(Operation.of(Requester(), NAME, {"a": 1}), work)

        assert work.done == 2

    async def test_with_another_payload_is_refused(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        await once.run(Operation.of(ctx, NAME, {"a": 1, "b": 2}), work)

        with pytest.raises(KeyReused):
            await once.run(Operation.of(ctx, NAME, {"a": 1, "b": 3}), work)
        assert (await once.run(Operation.of(ctx, NAME, {"b": 2, "a": 1}), work)).repeated

    async def test_is_told_while_the_first_still_runs(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        operation = Operation.of(ctx, NAME, {})
        async with once.claim(operation):
            with pytest.raises(KeyInUse) as told:
                await once.run(operation, work)

        assert told.value.retry_after == 1
        assert work.done == 0

    async def test_one_of_many_at_once_does_the_work(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        operation = Operation.of(ctx, NAME, {})

        told = await asyncio.gather(*(once.run(operation, work) for _ in range(20)), return_exceptions=True)

        assert work.done == 1
        assert all(isinstance(one, KeyInUse | Receipt) for one in told)

    async def test_is_done_again_when_the_first_was_refused(
        self, once: Idempotency, work: Work, ctx: Requester
    ) -> None:
        operation = Operation.of(ctx, NAME, {})
        with pytest.raises(RuntimeError):
            async with once.claim(operation):
                raise RuntimeError

        assert not (await once.run(operation, work)).repeated

    async def test_of_work_that_was_found_done_is_told_too(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        operation = Operation.of(ctx, NAME, {})
        async with once.claim(operation) as claim:
            await claim.complete_found(work.receipt)

        assert (await once.run(operation, work)).public_id == work.receipt.public_id
        assert work.done == 0

    async def test_after_a_day_is_a_new_one(self, once: Idempotency, work: Work, ctx: Requester) -> None:
        await once.run(Operation.of(ctx, NAME, {"a": 1}), work)
        later = replace(ctx, now=ctx.now + timedelta(hours=24, seconds=1))

        assert not (await once.run(Operation.of(later, NAME, {"a": 2}), work)).repeated
        assert (await once.run(Operation.of(later, NAME, {"a": 2}), work)).repeated

    async def test_leaves_nothing_behind_after_a_day(
        self, db: Database, once: Idempotency, work: Work, ctx: Requester
    ) -> None:
        await once.run(Operation.of(ctx, NAME, {}), work)

        gone = await db.transact(lambda session: delete_expired_keys(session, now=ctx.now + timedelta(hours=25)))

        assert gone == 1


class TestOperation:
    @pytest.mark.parametrize("key", ["k", None])
    def test_has_a_name_that_its_column_holds(self, key: str | None) -> None:
        with pytest.raises(ValueError, match="80 characters"):
            Operation.of(Requester(key), "POST /" + "x" * 75, {})

    def test_gives_the_same_token_for_the_same_keyed_request_alone(self, ctx: Requester) -> None:
        one = Operation.of(ctx, NAME, {"a": 1}).token

        assert one == Operation.of(ctx, NAME, {"a": 1}).token
        assert one != Operation.of(ctx, NAME, {"a": 2}).token
        assert Operation.of(Requester(), NAME, {}).token != Operation.of(Requester(), NAME, {}).token


class TestReceipt:
    def test_that_its_column_cannot_hold_is_a_fault_of_ours(self) -> None:
        with pytest.raises(ValueError, match="2000 characters"):
            Receipt("thing", None, {"text": "x" * 2000}).outcome_text()
