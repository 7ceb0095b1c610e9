"""
A queue whose waiting requests are answered together, in batches: whoever waits when a batch begins has a part in it.

It knows no database, no lock and no reason to try again: that is what its owner's `run` is for.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from saraban.kit.admission import LOCK_WAIT_SECONDS, slot_released
from saraban.kit.clock import stopwatch
from saraban.kit.departure import ClientGone, ClientPresence, current_presence

Item = TypeVar("Item")
Result = TypeVar("Result")
T = TypeVar("T")
_LOOK = 0.05  # seconds; while some back off, somebody who does not may arrive


class TurnMissed(Exception):
    """The turn of a request did not come: its time was over, or the process ends."""


@dataclass(slots=True, eq=False)
class Waiter(Generic[Item, Result]):
    """
    A request that waits for its answer.

    :param shares: whether it may be in a batch with others
    :param follows: an earlier request of the same identity that had no answer yet when this one came
    :param arrived: by the stopwatch
    :param late_at: by the stopwatch; its turn must have come by then
    :param ready_at: by the stopwatch; earlier it only comes along with others
    :param client: whoever waits for the answer, where it is a request's own task that asks
    :param on_its_way: its turn has come: there will be an outcome, whether or not its caller waits for it
    :param settled: it has its answer, or left before its turn
    """

    item: Item
    identity: Hashable
    shares: bool
    size: int
    follows: "Waiter[Item, Result] | None"
    answer: "asyncio.Future[Result]"
    arrived: float = field(default_factory=stopwatch)
    context: Context = field(default_factory=copy_context)
    client: ClientPresence | None = field(default_factory=current_presence)
    late_at: float = float("inf")
    ready_at: float = 0.0
    on_its_way: bool = False
    settled: bool = False

    @property
    def left(self) -> bool:
        """Whether its caller is gone."""
        return self.answer.cancelled()

    @property
    def is_held_back(self) -> bool:
        """Whether the request that it follows is still to be answered."""
        return self.follows is not None and not self.follows.settled

    def still_waits(self) -> bool:
        """Say whether anybody waits for its turn; who left the connection is told so, for what that is worth."""
        if self.client is not None and not self.on_its_way and self.client.take_leave():
            self.fail(ClientGone())
        return not self.answer.done()

    def postpone(self) -> None:
        """Have its turn come with `begin` only: until then its caller may leave, and its time may run out."""
        self.on_its_way = False

    def begin(self) -> bool:
        """Put it on its way, and say whether it still waited for that."""
        self.on_its_way = self.still_waits() and not self.settled
        return self.on_its_way

    def succeed(self, result: Result) -> None:
        self.settled = True
        if not self.answer.done():
            self.answer.set_result(result)

    def fail(self, error: BaseException) -> None:
        self.settled = True
        if not self.answer.done():
            self.answer.set_exception(error)

    def again(self, delay: float = 0.0, *, shares: bool | None = None) -> None:
        """Have it wait once more, in front, and not before `delay` seconds are over."""
        self.ready_at = stopwatch() + delay if delay else 0.0
        self.shares = self.shares if shares is None else shares
        self.on_its_way = False

    async def run(self, part: Coroutine[object, object, T]) -> T:
        """Run a part of the batch in the context of its request: its trace belongs to its rows and log lines."""
        return await asyncio.get_running_loop().create_task(part, context=self.context)


class BatchQueue(Generic[Item, Result]):
    """
    Requests in order of arrival, one of an identity at a time. An idle queue is no task.

    :param run: settles each of its waiters, or has it wait `again`; who is left over fails, all fail if it raises
    :param most: requests of one batch
    :param room: what the sizes of one batch may come to; its owner may change it
    :param lanes: batches under way at the same time; another begins when more wait than have room in one
    :param give_way: seconds that a batch may take before those who wait for its end get another lane
    :param on_idle: called when nobody waits any more
    """

    def __init__(
        self,
        run: Callable[[Sequence[Waiter[Item, Result]]], Awaitable[None]],
        *,
        most: int,
        room: float = float("inf"),
        lanes: int = 1,
        give_way: float | None = None,
        on_idle: Callable[[], None] | None = None,
    ) -> None:
        self._run, self._most, self._most_lanes = run, most, lanes
        self._give_way, self._on_idle = give_way, on_idle
        self.room = room
        self._waiting: deque[Waiter[Item, Result]] = deque()
        self._latest: dict[Hashable, Waiter[Item, Result]] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._held_up: set[asyncio.Task[None]] = set()
        self._unanswered: set[Waiter[Item, Result]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def ask(
        self, item: Item, identity: Hashable, *, shares: bool = True, size: int = 0, within: float | None = None
    ) -> Result:
        """
        Wait for the answer. A caller that is cancelled before its turn is dropped; later its part goes on without it.
        A request whose client has left ends when its turn would come.

        :param within: seconds in which its turn must come
        :raises TurnMissed: when it did not, or the process ends
        :raises ClientGone: when nobody waits for the answer any more
        """
        before = self._latest.get(identity)
        follows = before if before is not None and not before.settled else None
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        waiter = self._latest[identity] = Waiter(item, identity, shares, size, follows, answer)
        self._waiting.append(waiter)
        self._unanswered.add(waiter)
        self._open_lane()
        if within is not None:
            waiter.late_at = waiter.arrived + within
            self._set_timer(waiter.late_at)
        try:
            with slot_released(after=LOCK_WAIT_SECONDS):
                return await answer
        finally:
            self._unanswered.discard(waiter)
            if not self._unanswered and self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not waiter.on_its_way:
                self._end(waiter)

    @property
    def unanswered(self) -> int:
        """How many requests have no answer yet."""
        return len(self._unanswered)

    async def close(self, within: float | None = None) -> None:
        """Wait for everybody's answer; who still waits for the turn when the time is over is told so."""
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=within)
        while self._waiting:
            self._waiting.popleft().fail(TurnMissed())

    def _set_timer(self, late_at: float) -> None:
        """Look for late requests then: one timer for all, as one for each is a tenth of what a number in a batch costs."""
        if self._timer is not None:
            if self._timer.when() <= late_at:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(late_at, self._give_up)

    def _give_up(self) -> None:
        """Tell those who are late; one that is on its way has an outcome soon."""
        self._timer = None
        now = stopwatch()
        for waiter in self._unanswered:
            if waiter.late_at <= now and not waiter.on_its_way:
                waiter.fail(TurnMissed())
        still = [waiter.late_at for waiter in self._unanswered if waiter.late_at > now]
        if still:
            self._set_timer(min(still))

    def _open_lane(self) -> None:
        """One lane does as a rule: the more share a batch, the less each costs. Who comes alone gains nothing by waiting."""
        if not self._waiting or len(self._lanes) == self._most_lanes:
            return
        all_held_up, many = len(self._lanes) == len(self._held_up), len(self._waiting) > self._most
        if all_held_up or many or not all(waiter.shares for waiter in self._waiting):
            self._lanes.add(asyncio.get_running_loop().create_task(self._serve(), name="batches"))

    async def _serve(self) -> None:
        lane = asyncio.current_task()
        assert lane is not None
        try:
            while (pause := self._pause()) is not None:
                if pause:
                    await asyncio.sleep(min(pause, _LOOK))
                elif batch := self._take():
                    await self._run_in_time(lane, batch)
                    await asyncio.sleep(0)  # who was answered and asks again at once is in the next batch
        finally:
            self._lanes.discard(lane)  # at once: whoever comes next must find it so
            if not self._lanes and self._on_idle is not None:
                self._on_idle()

    def _pause(self) -> float | None:
        """Return the seconds until somebody may be served; None where nobody waits but for another lane."""
        now, soonest = stopwatch(), None
        for waiter in self._waiting:
            if not waiter.still_waits():
                return 0.0
            if not waiter.is_held_back:
                if waiter.ready_at <= now:
                    return 0.0
                soonest = min(soonest or waiter.ready_at, waiter.ready_at)
        return None if soonest is None else soonest - now

    def _take(self) -> list[Waiter[Item, Result]]:
        """
        Move the next waiters onto their way; who left is dropped.

        Those who back off come along: if it works, they need not wait any longer.
        """
        batch: list[Waiter[Item, Result]] = []
        passed_over = []
        size = 0
        while self._waiting:
            waiter = self._waiting.popleft()
            size += waiter.size
            if not waiter.still_waits():
                self._end(waiter)
                size -= waiter.size
            elif waiter.is_held_back:
                passed_over.append(waiter)
                size -= waiter.size
            elif batch and (not waiter.shares or len(batch) >= self._most or size > self.room):
                passed_over.append(waiter)
                break
            else:
                waiter.on_its_way = True
                batch.append(waiter)
                if not waiter.shares:
                    break
        self._waiting.extendleft(reversed(passed_over))
        return batch

    async def _run_in_time(self, lane: "asyncio.Task[None]", batch: Sequence[Waiter[Item, Result]]) -> None:
        late = None
        if self._give_way is not None:
            late = asyncio.get_running_loop().call_later(self._give_way, self._let_others_pass, lane)
        try:
            await self._run(batch)
        except Exception as error:  # noqa: BLE001  whatever it is, each is told of it
            for waiter in batch:
                if not waiter.settled:
                    waiter.fail(error)
        finally:
            if late is not None:
                late.cancel()
            self._held_up.discard(lane)
            self._put_back(batch)

    def _let_others_pass(self, lane: "asyncio.Task[None]") -> None:
        self._held_up.add(lane)
        self._open_lane()

    def _put_back(self, batch: Sequence[Waiter[Item, Result]]) -> None:
        """Have those who go again wait in front, in their order."""
        for waiter in reversed(batch):
            if waiter.on_its_way and not waiter.settled:
                waiter.fail(RuntimeError("A batch left a request without an answer."))
            if waiter.settled or waiter.left:
                self._end(waiter)
            else:
                self._waiting.appendleft(waiter)

    def _end(self, waiter: Waiter[Item, Result]) -> None:
        waiter.settled, waiter.follows = True, None
        if self._latest.get(waiter.identity) is waiter:
            del self._latest[waiter.identity]
