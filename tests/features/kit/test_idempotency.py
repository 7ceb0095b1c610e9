"""One effect and one answer for a repeated request, whatever happens in between."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database
from saraban.kit.idempotency import KeyInUse, KeyReused, OperationResult, Remember, answer_once, delete_expired_keys

USER = UUID("019505a1-7c3e-7000-8000-abc123def456")
NOW = datetime(2026, 11, 20, tzinfo=UTC)


class Work:
    """Counts how often it is really done."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.done = 0

    async def __call__(self, remember: Remember) -> OperationResult:
        async def work(session: AsyncSession) -> OperationResult:
            self.done += 1
            answer = OperationResult(201, {"times": self.done}, {"Location": "/somewhere"})
            await remember(session, answer)
            return answer

        return await self.db.transact(work)

    async def asked(
        self, *, key: str | None = "k", payload: Any = 1, now: datetime = NOW, run: Any = None
    ) -> OperationResult:
        return await answer_once(
            self.db, key=key, user=USER, operation="POST /x", payload=payload, now=now, run=run or self
        )


@pytest.fixture
def work(db: Database) -> Work:
    return Work(db)


class TestRepeatedRequest:
    async def test_gets_the_first_answer(self, work: Work) -> None:
        first, second = await work.asked(), await work.asked()

        assert (first.replayed, second.replayed, work.done) == (False, True, 1)
        assert (first.status, first.body, first.headers) == (second.status, second.body, second.headers)

    async def test_without_a_key_is_another_request(self, work: Work) -> None:
        await work.asked(key=None)
        await work.asked(key=None)

        assert work.done == 2

    async def test_with_another_payload_is_refused(self, work: Work) -> None:
        await work.asked(payload={"a": 1, "b": 2})

        with pytest.raises(KeyReused):
            await work.asked(payload={"a": 1, "b": 3})
        assert (await work.asked(payload={"b": 2, "a": 1})).replayed

    @pytest.mark.parametrize("key", ["k", None])
    async def test_names_an_operation_that_its_column_holds(self, work: Work, key: str | None) -> None:
        with pytest.raises(ValueError, match="80 characters"):
            await answer_once(work.db, key=key, user=USER, operation="POST /" + "x" * 75, payload=1, now=NOW, run=work)
        assert work.done == 0

    async def test_is_told_while_the_first_still_runs(self, work: Work) -> None:
        started, go = asyncio.Event(), asyncio.Event()

        async def slow(remember: Remember) -> OperationResult:
            started.set()
            await go.wait()
            return await work(remember)

        first = asyncio.create_task(work.asked(run=slow))
        await started.wait()
        with pytest.raises(KeyInUse):
            await work.asked()
        go.set()

        assert (await first).status == 201
        assert work.done == 1

    async def test_is_done_again_when_the_first_failed(self, work: Work) -> None:
        async def fail(_remember: Remember) -> OperationResult:
            raise RuntimeError

        with pytest.raises(RuntimeError):
            await work.asked(run=fail)

        assert (await work.asked()).body == {"times": 1}

    async def test_of_work_that_was_found_done_keeps_its_answer_too(self, work: Work) -> None:
        async def recall(_remember: Remember) -> OperationResult:
            return OperationResult(201, "found")

        await work.asked(run=recall)

        assert (await work.asked()).body == "found"
        assert work.done == 0

    async def test_after_a_day_is_a_new_one(self, work: Work) -> None:
        await work.asked()
        later = NOW + timedelta(hours=24, seconds=1)

        assert (await work.asked(now=later, payload=2)).body == {"times": 2}

    async def test_leaves_nothing_behind_after_a_day(self, work: Work) -> None:
        await work.asked()
        later = NOW + timedelta(hours=25)

        gone = await work.db.transact(lambda session: delete_expired_keys(session, now=later))

        assert gone == 1
