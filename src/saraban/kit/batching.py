"""A queue that answers waiting requests in batches, independent of database and locks."""

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
_POLL_SECONDS = 0.05  # a new request may arrive while the others back off


class TurnMissed(Exception):
    """The request waited too long for its turn, or the process ends."""


@dataclass(slots=True, eq=False)
class Waiter(Generic[Item, Result]):
    """
    A request that waits for its answer.
    :param shares: whether it may be in a batch with others
    :param follows: an unanswered earlier request of the same identity
    :param arrived: stopwatch, like `late_at` and `ready_at`
    :param late_at: it fails if its turn has not come by then
    :param ready_at: before that it only joins a batch of others
    :param on_its_way: its turn has come: it gets a result even if its caller has left
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
        return self.answer.cancelled()

    @property
    def is_held_back(self) -> bool:
        return self.follows is not None and not self.follows.settled

    def still_waits(self) -> bool:
        """Return whether the caller waits; a departed client gets `ClientGone`."""
        if self.client is not None and not self.on_its_way and self.client.take_leave():
            self.fail(ClientGone())
        return not self.answer.done()

    def postpone(self) -> None:
        """Let the caller leave, and the time run out, until `begin`."""
        self.on_its_way = False

    def begin(self) -> bool:
        """Start the turn, and return whether the caller still waited."""
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
        """Wait again, in front of the queue, for at least `delay` seconds."""
        self.ready_at = stopwatch() + delay if delay else 0.0
        self.shares = self.shares if shares is None else shares
        self.on_its_way = False

    async def run(self, part: Coroutine[object, object, T]) -> T:
        """Run a part of the batch in the request's context, for its trace id."""
        return await asyncio.get_running_loop().create_task(part, context=self.context)


class BatchQueue(Generic[Item, Result]):
    """
    Requests in order of arrival, one per identity at a time. An idle queue has no task.
    :param run: settles its waiters or calls their `again`; others fail, all fail if it raises
    :param most: requests per batch
    :param room: sum of the sizes in a batch; the owner may change it
    :param lanes: concurrent batches; another starts when more wait than fit in one
    :param give_way: seconds after which a running batch lets another lane start
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
        Wait for the answer. Cancelling a caller after the start of its turn does not stop the work.
        :param within: seconds in which the turn must come
        :raises TurnMissed:
        :raises ClientGone: when the client left before the turn
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
        return len(self._unanswered)

    async def close(self, within: float | None = None) -> None:
        """Wait for all answers; after `within` seconds fail the requests that still wait."""
        if self._lanes:
            await asyncio.wait(self._lanes, timeout=within)
        while self._waiting:
            self._waiting.popleft().fail(TurnMissed())

    def _set_timer(self, late_at: float) -> None:
        """One timer for all: one for each costs a tenth of a number in a batch."""
        if self._timer is not None:
            if self._timer.when() <= late_at:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(late_at, self._fail_late)

    def _fail_late(self) -> None:
        self._timer = None
        now = stopwatch()
        for waiter in self._unanswered:
            if waiter.late_at <= now and not waiter.on_its_way:
                waiter.fail(TurnMissed())
        deadlines = [waiter.late_at for waiter in self._unanswered if waiter.late_at > now]
        if deadlines:
            self._set_timer(min(deadlines))

    def _open_lane(self) -> None:
        """Prefer one lane: larger batches cost less per request."""
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
                    await asyncio.sleep(min(pause, _POLL_SECONDS))
                elif batch := self._take():
                    await self._run_in_time(lane, batch)
                    await asyncio.sleep(0)  # a caller that asks again at once joins the next batch
        finally:
            self._lanes.discard(lane)  # before the next request arrives
            if not self._lanes and self._on_idle is not None:
                self._on_idle()

    def _pause(self) -> float | None:
        """Return the seconds until a waiter may be served; None if none waits for this lane."""
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
        """Take the next batch, including waiters that back off; drop callers that left."""
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
            late = asyncio.get_running_loop().call_later(self._give_way, self._mark_held_up, lane)
        try:
            await self._run(batch)
        except Exception as error:  # noqa: BLE001  every waiter gets the error
            for waiter in batch:
                if not waiter.settled:
                    waiter.fail(error)
        finally:
            if late is not None:
                late.cancel()
            self._held_up.discard(lane)
            self._put_back(batch)

    def _mark_held_up(self, lane: "asyncio.Task[None]") -> None:
        self._held_up.add(lane)
        self._open_lane()

    def _put_back(self, batch: Sequence[Waiter[Item, Result]]) -> None:
        """Put the waiters that try again in front, in their order."""
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
