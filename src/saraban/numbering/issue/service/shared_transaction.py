"""
The transaction of numbers, which series whose locks are held at the same moment share.

`allocator` holds the locks and knows what a failure costs; `number_batch` knows what is written.
"""

from collections.abc import Sequence

from saraban.kit.batching import BatchQueue, Waiter
from saraban.kit.db import Database, DatabaseFault, database_fault
from saraban.numbering.issue.service.number_batch import SeriesTurn, issue_batches

_MOST_SERIES = 500
_LANES = 4
_GIVE_WAY = 0.1  # seconds; a slow transaction delays those that come later for no longer
_OF_ONE_SERIES = {None, DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT}


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
        if turn.is_shareable:
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
        issued_batches = await self._db.transact_once(issue_batches, begun)
        for turn, issued_batch in zip(begun, issued_batches, strict=True):
            turn.issued = issued_batch
