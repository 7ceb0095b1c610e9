"""A queue that answers in batches: what it promises to those who wait, whatever the batch does."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar

import pytest

from saraban.kit.batching import BatchQueue, TurnMissed, Waiter

Part = Waiter[str, str]
TRACE: ContextVar[str] = ContextVar("trace", default="none")


class Desk:
    """Answers each item with itself, and keeps what it was given in each batch."""

    def __init__(self, serve: Callable[[Sequence[Part]], Awaitable[None]] | None = None, **how: float) -> None:
        self.batches: list[list[str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.idle = 0
        self._serve = serve or self.echo
        limits = {"most": 10} | {name: int(value) for name, value in how.items() if name in {"most", "room", "lanes"}}
        self.queue: BatchQueue[str, str] = BatchQueue(
            self.run, **limits, give_way=how.get("give_way"), on_idle=self._count_idle
        )

    def _count_idle(self) -> None:
        self.idle += 1

    async def run(self, waiters: Sequence[Part]) -> None:
        self.batches.append([waiter.item for waiter in waiters])
        await self.open.wait()
        await self._serve(waiters)

    async def echo(self, waiters: Sequence[Part]) -> None:
        for waiter in waiters:
            waiter.succeed(waiter.item)

    def ask(
        self, item: str, *, identity: str | None = None, shares: bool = True, size: int = 0, within: float | None = None
    ) -> "asyncio.Task[str]":
        asking = self.queue.ask(item, identity or item, shares=shares, size=size, within=within)
        return asyncio.create_task(asking)

    async def busy(self, item: str) -> "asyncio.Task[str]":
        """Have one batch under way until the desk is opened."""
        self.open.clear()
        task = self.ask(item)
        await settled()
        return task


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class TestOrder:
    async def test_is_that_of_arrival(self) -> None:
        desk = Desk(most=2)
        first = await desk.busy("a")
        others = [desk.ask(item) for item in "bcdef"]
        await settled()
        desk.open.set()

        assert await asyncio.gather(first, *others) == list("abcdef")
        assert desk.batches == [["a"], ["b", "c"], ["d", "e"], ["f"]]

    async def test_whoever_asks_in_the_same_moment_shares_a_batch(self) -> None:
        desk = Desk()

        await asyncio.gather(*(desk.ask(item) for item in "abc"))

        assert desk.batches == [["a", "b", "c"]]

    async def test_nobody_waits_for_a_batch_to_fill(self) -> None:
        assert await asyncio.wait_for(Desk(most=500).ask("a"), 1) == "a"

    async def test_holds_for_who_is_alone_in_a_batch_too(self) -> None:
        desk = Desk()

        await asyncio.gather(*(desk.ask(item, shares=item not in "bc") for item in "abcde"))

        assert desk.batches == [["a"], ["b"], ["c"], ["d", "e"]]

    async def test_ends_a_batch_where_the_room_ends(self) -> None:
        desk = Desk(room=10)

        await asyncio.gather(*(desk.ask(item, size=size) for item, size in (("a", 6), ("b", 6), ("c", 4), ("d", 50))))

        assert desk.batches == [["a"], ["b", "c"], ["d"]]  # who is too large for any batch has one alone


class TestIdentity:
    async def test_has_one_request_at_a_time_and_holds_nobody_else_up(self) -> None:
        follows: list[str | None] = []

        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                follows.append(waiter.follows.item if waiter.follows else None)
                waiter.succeed(waiter.item)

        desk = Desk(serve)
        await asyncio.gather(desk.ask("a", identity="x"), desk.ask("b", identity="x"), desk.ask("c"))

        assert desk.batches == [["a", "c"], ["b"]]
        assert follows == [None, None, "a"]

    async def test_is_taken_in_no_second_lane(self) -> None:
        desk = Desk(most=1, lanes=4, give_way=0.01)
        first = await desk.busy("a")
        second = desk.ask("b", identity="a")
        await asyncio.sleep(0.05)
        under_way = list(desk.batches)
        desk.open.set()

        assert await asyncio.gather(first, second) == ["a", "b"]
        assert under_way == [["a"]]

    async def test_is_free_as_soon_as_the_one_before_left_its_place(self) -> None:
        desk = Desk()
        first = await desk.busy("a")
        leaving, staying = desk.ask("b", identity="x"), desk.ask("c", identity="x")
        await settled()
        leaving.cancel()
        await settled()
        desk.open.set()

        assert await asyncio.gather(first, staying) == ["a", "c"]
        assert desk.batches == [["a"], ["c"]]

    async def test_is_kept_by_who_left_on_the_way(self) -> None:
        desk = Desk()
        first = await desk.busy("a")
        first.cancel()
        second = desk.ask("b", identity="a")
        await settled()
        under_way = list(desk.batches)
        desk.open.set()

        assert await second == "b"
        assert under_way == [["a"]]


class TestCaller:
    async def test_that_left_before_its_turn_never_runs(self) -> None:
        desk = Desk()
        first = await desk.busy("a")
        leaving, staying = desk.ask("b"), desk.ask("c")
        await settled()
        leaving.cancel()
        await settled()
        desk.open.set()

        assert await asyncio.gather(first, staying) == ["a", "c"]
        assert desk.batches == [["a"], ["c"]]

    async def test_that_leaves_later_harms_nobody(self) -> None:
        desk = Desk()
        desk.open.clear()
        leaving, staying = desk.ask("a"), desk.ask("b")
        await settled()
        leaving.cancel()
        await settled()
        desk.open.set()

        assert await staying == "b"
        assert leaving.cancelled()
        assert desk.batches == [["a", "b"]]

    async def test_that_left_is_not_tried_again(self) -> None:
        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                waiter.again()

        desk = Desk(serve)
        leaving = await desk.busy("a")
        leaving.cancel()
        desk.open.set()
        await settled()

        assert (desk.batches, desk.idle) == ([["a"]], 1)

    async def test_whose_turn_does_not_come_in_time_is_told(self) -> None:
        desk = Desk()
        first = await desk.busy("a")
        with pytest.raises(TurnMissed):
            await desk.ask("b", within=0.01)
        desk.open.set()

        assert await first == "a"
        assert desk.batches == [["a"]]

    async def test_that_is_on_its_way_gets_its_answer_however_long_it_takes(self) -> None:
        desk = Desk()
        desk.open.clear()
        asking = desk.ask("a", within=0.01)
        await asyncio.sleep(0.03)
        desk.open.set()

        assert await asking == "a"

    async def test_has_its_part_run_in_its_own_context(self) -> None:
        async def trace() -> str:
            return TRACE.get()

        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                waiter.succeed(await waiter.run(trace()))

        desk, asking = Desk(serve), []
        for item in "ab":
            TRACE.set(item)
            asking.append(desk.ask(item))

        assert await asyncio.gather(*asking) == ["a", "b"]


class TestFailure:
    async def test_of_a_batch_is_told_to_all_in_it_and_to_nobody_else(self) -> None:
        async def serve(waiters: Sequence[Part]) -> None:
            waiters[0].succeed("in time")
            if len(waiters) > 1:
                raise ValueError("broken")

        desk = Desk(serve)
        answers = await asyncio.gather(*(desk.ask(item) for item in "abc"), return_exceptions=True)

        assert [str(answer) for answer in answers] == ["in time", "broken", "broken"]
        assert await desk.ask("d") == "in time"

    async def test_of_one_concerns_that_one(self) -> None:
        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                if waiter.item == "b":
                    waiter.fail(ValueError("refused"))
                else:
                    waiter.succeed(waiter.item)

        desk = Desk(serve)
        answers = await asyncio.gather(*(desk.ask(item) for item in "abc"), return_exceptions=True)

        assert [str(answer) for answer in answers] == ["a", "refused", "c"]

    async def test_to_answer_somebody_is_an_error_of_the_batch(self) -> None:
        async def serve(_waiters: Sequence[Part]) -> None:
            return None

        with pytest.raises(RuntimeError):
            await asyncio.wait_for(Desk(serve).ask("a"), 1)


class TestAgain:
    async def test_waits_in_front(self) -> None:
        tried: set[str] = set()

        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                if waiter.item in tried:
                    waiter.succeed(waiter.item)
                else:
                    tried.add(waiter.item)
                    waiter.again()

        desk = Desk(serve, most=2)
        await asyncio.gather(*(desk.ask(item) for item in "abc"))

        assert desk.batches == [["a", "b"], ["a", "b"], ["c"], ["c"]]

    async def test_after_a_pause_comes_along_with_others_before_it_is_over(self) -> None:
        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                if waiter.ready_at or waiter.item != "a":
                    waiter.succeed(waiter.item)
                else:
                    waiter.again(30)

        desk = Desk(serve)
        backing_off = desk.ask("a")
        await settled()

        assert await asyncio.wait_for(asyncio.gather(backing_off, desk.ask("b")), 5) == ["a", "b"]
        assert desk.batches == [["a"], ["a", "b"]]

    async def test_by_itself_is_alone_in_its_batch(self) -> None:
        async def serve(waiters: Sequence[Part]) -> None:
            for waiter in waiters:
                if waiter.item == "b" and waiter.shares:
                    waiter.again(shares=False)
                else:
                    waiter.succeed(waiter.item)

        desk = Desk(serve)
        first = await desk.busy("a")
        others = [desk.ask(item) for item in "bc"]
        await settled()
        desk.open.set()
        await asyncio.gather(first, *others)

        assert desk.batches == [["a"], ["b", "c"], ["b"]]


class TestLanes:
    async def test_are_one_while_it_is_not_held_up(self) -> None:
        desk = Desk(lanes=4, give_way=10)
        first = await desk.busy("a")
        second = desk.ask("b")
        await settled()
        under_way = list(desk.batches)
        desk.open.set()
        await asyncio.gather(first, second)

        assert under_way == [["a"]]

    async def test_become_another_when_all_are_held_up(self) -> None:
        desk = Desk(lanes=2, give_way=0.02)
        first = await desk.busy("a")
        second = desk.ask("b")
        await asyncio.sleep(0.05)
        third = desk.ask("c")  # both are held up now, and there is no third
        await asyncio.sleep(0.05)
        under_way = list(desk.batches)
        desk.open.set()

        assert await asyncio.gather(first, second, third) == ["a", "b", "c"]
        assert under_way == [["a"], ["b"]]

    async def test_become_another_when_more_wait_than_share_one(self) -> None:
        desk = Desk(most=2, lanes=2, give_way=10)
        first = await desk.busy("a")
        others = [desk.ask(item) for item in "bcd"]
        await settled()
        under_way = list(desk.batches)
        desk.open.set()
        await asyncio.gather(first, *others)

        assert under_way == [["a"], ["b", "c"]]


class TestEnd:
    async def test_of_waiting_leaves_no_task_and_is_told(self) -> None:
        desk = Desk()
        before = asyncio.all_tasks()
        await asyncio.gather(*(desk.ask(item) for item in "ab"))
        await settled()

        assert asyncio.all_tasks() == before
        assert (desk.idle, desk.queue.unanswered) == (1, 0)

    async def test_waits_for_everybody(self) -> None:
        desk = Desk(most=1)
        first = await desk.busy("a")
        second = desk.ask("b")
        await settled()
        desk.open.set()
        await desk.queue.close()

        assert (first.done(), await second) == (True, "b")

    async def test_tells_who_still_waits_when_its_time_is_over(self) -> None:
        desk = Desk()
        first = await desk.busy("a")
        second = desk.ask("b")
        await settled()
        await desk.queue.close(0.01)
        with pytest.raises(TurnMissed):
            await second
        desk.open.set()

        assert await first == "a"
        assert desk.batches == [["a"]]
