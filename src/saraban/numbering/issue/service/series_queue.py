"""
The queue in front of one series in this process: who waits, in order of arrival, and who is on the way.

A waiter that is cancelled while it waits is dropped; one that is cancelled on the way gets its number all the same, and
the allocator deals with it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.clock import stopwatch
from saraban.kit.errors import DomainError
from saraban.numbering.issue.domain.retry import Attempts
from saraban.numbering.issue.service import metrics
from saraban.numbering.issue.service.number_batch import Issued, IssueRequest, LockPath
from saraban.numbering.issue.service.refusals import FAILURES

Work = Callable[[AsyncSession, Issued], Awaitable[Any]]


@dataclass(slots=True, eq=False)
class WaitingRequest:
    """
    One waiting request.

    :param work: the caller's own rows in the transaction of its number; such a waiter shares it with nobody
    :param remember: the answer to keep for the request's key, in the shared transaction
    :param recall: gives the answer of a request that turns out to be committed already
    :param uncertain: whether it may be committed already, so that its token must be looked up first
    """

    request: IssueRequest
    attempts: Attempts
    recall: Work
    work: Work | None = None
    remember: Work | None = None
    uncertain: bool = False
    on_its_way: bool = False
    ready_at: float = 0.0
    arrived: float = field(default_factory=stopwatch)
    context: Context = field(default_factory=copy_context)
    answer: "asyncio.Future[Any]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def has_rows(self) -> bool:
        """Whether rows of its own belong into the transaction of its number."""
        return self.work is not None or self.remember is not None

    @property
    def elapsed(self) -> float:
        """Seconds since it arrived."""
        return stopwatch() - self.arrived

    async def answered(self) -> Any:
        """
        Wait for the answer.

        :raises NumberingBusy, NumberingFailed: when its turn did not come before the deadline
        """
        loop = asyncio.get_running_loop()
        late = loop.call_later(self.attempts.budget.deadline, self._give_up)
        try:
            return await self.answer
        finally:
            late.cancel()

    def _give_up(self) -> None:
        # One that is on its way has an outcome soon, and the database's own time limits see to that.
        if not self.on_its_way:
            self.fail(self.attempts.too_late())

    def succeed(self, answer: Any) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)
            metrics.GENERATED["success"].observe(self.elapsed)

    def fail(self, error: BaseException) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            refused = isinstance(error, DomainError) and type(error) not in FAILURES
            metrics.GENERATED["refused" if refused else "failed"].observe(self.elapsed)

    async def run(self, work: Work, session: AsyncSession, issued: Issued) -> Any:
        """Run the caller's part in the caller's context: its trace belongs to its rows."""
        return await asyncio.get_running_loop().create_task(_plain(work(session, issued)), context=self.context)


async def _plain(work: Awaitable[Any]) -> Any:
    return await work


class SeriesQueue:
    """The waiters of one series; the batch on its way is `batch`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: deque[WaitingRequest] = deque()
        self.batch: list[WaitingRequest] = []
        self.lock_path = LockPath("database")
        self.task: asyncio.Task[None] | None = None

    def drop_gone(self) -> None:
        if any(waiter.answer.done() for waiter in self.waiting):
            self.waiting = deque(waiter for waiter in self.waiting if not waiter.answer.done())

    def seconds_until_due(self) -> float:
        """Return the seconds until somebody may be served: 0 as soon as one waiter is not backing off."""
        now = stopwatch()
        return max(min((waiter.ready_at for waiter in self.waiting), default=now) - now, 0.0)

    def lock_patience(self, most: float) -> float:
        """Return the seconds that the lock may be waited for before somebody's deadline passes."""
        return min(most, *(waiter.attempts.left(waiter.elapsed) for waiter in self.waiting))

    def take(self, *, most: int, size: int) -> list[WaitingRequest]:
        """
        Move the next waiters onto their way: one with work of its own alone, others together.

        Those who back off ride along: if it works, they need not wait any longer.

        :param most: waiters
        :param size: bytes their rows may need together
        """
        self.drop_gone()
        tokens = set()
        while self.waiting:
            waiter = self.waiting[0]
            size -= waiter.request.plan.weight
            if self.batch and (waiter.work is not None or len(self.batch) >= most or size < 0):
                break
            if waiter.request.token in tokens:  # the same request twice: the second finds what the first has committed
                waiter.uncertain = True
                break
            tokens.add(waiter.request.token)
            waiter.on_its_way = True
            self.batch.append(self.waiting.popleft())
            if waiter.work is not None:
                break
        return self.batch

    def clear_batch(self) -> None:
        """Forget the batch: everybody in it has an answer."""
        self.batch = []

    def requeue_batch(self) -> None:
        """Have the batch wait again, in front."""
        for waiter in self.batch:
            waiter.on_its_way = False
        self.waiting.extendleft(reversed([waiter for waiter in self.batch if not waiter.answer.done()]))
        self.batch = []
