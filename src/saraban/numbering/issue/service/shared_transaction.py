"""
The transaction of numbers, which series whose locks are held at the same moment share.

`allocator` holds the locks and knows what a failure costs; `number_batch` knows what is written.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy.exc import IntegrityError

from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.clock import stopwatch
from saraban.kit.db import Database, DatabaseFault, database_fault, violates_constraint
from saraban.kit.idempotency import KeyInUse
from saraban.kit.locks import LockBusy
from saraban.kit.pipeline import Pipeline
from saraban.numbering.issue import repository
from saraban.numbering.issue.domain import Failure
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.number_batch import (
    CounterMissing,
    CounterMoved,
    Issued,
    IssuedBatch,
    IssueOutcome,
    IssueRequest,
    LockPath,
    PendingIssue,
    SeriesBatch,
    issue_batches,
)

_MOST_SERIES = 500
_LANES = 4
_GIVE_WAY = 0.1  # seconds; a slow transaction delays those that come later for no longer
Waiting = Waiter[PendingIssue, Issued]


@dataclass(slots=True)
class SeriesTurn:
    """
    Those who wait for a series whose turn has come; once it begins, those who still do.

    :param issued: what was committed for them
    """

    name: str
    waiters: Sequence[Waiting]
    lock_path: LockPath
    issued: IssuedBatch | None = None

    def begin(self) -> bool:
        """Put them on their way, and say whether anybody still waits."""
        self.waiters = [waiter for waiter in self.waiters if waiter.begin()]
        if not self.waiters:
            return False
        monitoring.BATCH.observe(len(self.waiters))
        now = stopwatch()
        for waiter in self.waiters:
            waiter.item.waited = now - waiter.item.arrived
            monitoring.LOCK_WAIT.observe(waiter.item.waited)
        return True

    @property
    def batch(self) -> SeriesBatch:
        return SeriesBatch([waiter.item for waiter in self.waiters], self.lock_path, partial(_follow, self.waiters))

    @property
    def has_rows(self) -> bool:
        """Whether it is for a document, which is alone."""
        return self.waiters[0].item.request.write is not None

    @property
    def shares(self) -> bool:
        """Whether it may go with other series: it neither waits for a row nor is likely to be refused."""
        return self.lock_path.kind == "redis" and not self.has_rows and self.batch.trusted_counter() is not None


class SharedTransactions:
    """One per process."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._queue: BatchQueue[SeriesTurn, None] = BatchQueue(
            self._share, most=_MOST_SERIES, lanes=_LANES, give_way=_GIVE_WAY
        )

    def set_room(self, room: int) -> None:
        """:param room: bytes that one statement may have"""
        self._queue.room = room

    async def run(self, turn: SeriesTurn) -> None:
        """Answer whoever still waits for a series, committed when it returns."""
        if turn.shares:
            await self._queue.ask(turn, turn.name, size=sum(waiter.size for waiter in turn.waiters))
        else:
            await self._transact([turn])

    async def _share(self, turns: Sequence[Waiter[SeriesTurn, None]]) -> None:
        """Answer several series together; where one of them may be what failed, each goes alone."""
        try:
            await self._transact([turn.item for turn in turns])
        except Exception as error:
            if len(turns) == 1 or database_fault(error) not in _OF_ONE_SERIES:
                raise
            for turn in turns:
                turn.again(shares=False)
        else:
            for turn in turns:
                turn.succeed(None)

    async def _transact(self, turns: Sequence[SeriesTurn]) -> None:
        """One transaction for whoever still waits."""
        begun = [turn for turn in turns if turn.begin()]
        if not begun:
            return
        has_rows = begun[0].has_rows
        async with self._db.writing() if has_rows else self._db.writing_connection() as connected:
            issued_batches = await issue_batches(connected, [turn.batch for turn in begun])
        for turn, issued_batch in zip(begun, issued_batches, strict=True):
            turn.issued = issued_batch


class OwnRowsFailed(Exception):  # never leaves this package
    """What one waiter's own rows were refused for: it concerns nobody else in the batch."""

    def __init__(self, waiter: Waiting, reason: Exception) -> None:
        self.waiter, self.reason = waiter, reason


async def _follow(waiters: Sequence[Waiting], pipeline: Pipeline, outcomes: Sequence[IssueOutcome]) -> None:
    """Queue what belongs to the numbers: the rows of their holders, and the receipts of those who sent a key."""
    for waiter, one in zip(waiters, outcomes, strict=True):
        if isinstance(one, Issued):
            request = waiter.item.request
            if request.write is not None:
                await pipeline.send()
                await _write_rows(waiter, request.write(pipeline.session, one))
            if request.is_keyed:  # who lost the key is refused, and the others are served again
                queue_receipt(request, pipeline, one, refusal=OwnRowsFailed(waiter, KeyInUse(retry_after=1)))


async def _write_rows(waiter: Waiting, writing: Coroutine[object, object, None]) -> None:
    """What refuses a holder's rows is of this waiter alone."""
    try:
        await waiter.run(writing)
    except Exception as error:
        if failure_of(error) is not None:
            raise
        raise OwnRowsFailed(waiter, error) from error


def queue_receipt(request: IssueRequest, pipeline: Pipeline, issued: Issued, refusal: Exception) -> None:
    assert request.claim is not None
    pipeline.add(partial(request.claim.completion, receipt=request.receipt(issued)), expect=1, refusal=refusal)


_OF_ONE_SERIES = {None, DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT}
_FAILURES = {
    DatabaseFault.COLLISION: Failure.COLLISION,
    DatabaseFault.LOCK_WAIT: Failure.LOCK,
    DatabaseFault.CONNECTION: Failure.CONNECTION,
    DatabaseFault.COMMIT: Failure.CONNECTION,
    DatabaseFault.POOL: Failure.CONNECTION,
}


def failure_of(error: Exception) -> Failure | None:
    if isinstance(error, LockBusy):
        return Failure.LOCK
    if isinstance(error, CounterMoved):
        return Failure.CONFLICT
    if isinstance(error, CounterMissing):
        return Failure.COLLISION
    if isinstance(error, IntegrityError):
        ours = violates_constraint(error, *repository.NUMBER_CONSTRAINTS, *repository.TOKEN_CONSTRAINTS)
        return Failure.TAKEN if ours else None
    fault = database_fault(error)
    return _FAILURES.get(fault) if fault else None  # a full disk is nobody's to wait for
