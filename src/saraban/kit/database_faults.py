"""
What each fault of the database means, and how work is repeated after it (REQ-LCK-08, decision 57).

A lost connection is repeated after pauses, because a server that restarts takes seconds; a collision at once. After a COMMIT
whose answer was lost nothing is repeated here: only the request's token can tell whether it went through (REQ-NUM-09).
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import TypeVar

from asyncmy.errors import Error as DriverError
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from saraban.kit.admission import slot_released

T = TypeVar("T")


class DatabaseFault(StrEnum):
    """Why a statement failed, as far as it decides what to do next."""

    COLLISION = "collision"  # deadlock, snapshot, certification: roll back and run the use case again
    LOCK_WAIT = "lock_wait"  # a lock was held by another for too long: the same, but it has cost its time already
    CONNECTION = "connection"  # the connection was lost, or its node of a cluster accepts no work
    COMMIT = "commit"  # it was lost during COMMIT, and the outcome is unknown
    POOL = "pool"  # no connection became free in time
    FULL = "full"  # no room on the disk: nothing was written, and it works again when there is some


class CommitLost(SQLAlchemyError):
    """The connection was lost after COMMIT was sent: only the request's token can tell whether it went through."""


_LOCK_WAIT = 1205
_FULL = {1021, 1114}
_NO_ROOM = ("database or disk is full", "no space left on device", "errcode: 28", "got error 28")
_COLLISIONS = {1020, 1213, 1412}  # the last: a table was altered after the snapshot began
# A node that left its cluster or was made read-only refuses each statement: another connection may reach another node.
UNFIT_NODE = {1047, 1290, 1836}
_COMMIT_FAILED = 1180  # a node of a cluster lost the others during COMMIT: they may have it
_LOST = {1053, 1152, 1927, 1969, 1129, 1203, 1040, 2002, 2003, 2006, 2013, 2014, 2055, 3024, 4031, _COMMIT_FAILED}
NOT_EXECUTED = {0, 2006, *UNFIT_NODE}  # the driver had no connection, or the server refused the statement
_RETRIED = {DatabaseFault.COLLISION, DatabaseFault.LOCK_WAIT, DatabaseFault.POOL}


def database_fault(error: BaseException) -> DatabaseFault | None:
    """Return which expected database fault `error` is, or None when it is a bug or a broken rule."""
    if isinstance(error, PoolTimeout):
        return DatabaseFault.POOL
    if isinstance(error, CommitLost):
        return DatabaseFault.COMMIT
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DatabaseFault.FULL
    if isinstance(error, OSError) and not isinstance(error, FileNotFoundError | PermissionError):
        return DatabaseFault.CONNECTION
    if not isinstance(error, DBAPIError) or isinstance(error, IntegrityError):
        return None
    number = error_number(error)
    if number == _LOCK_WAIT:
        return DatabaseFault.LOCK_WAIT
    if number in _COLLISIONS:
        return DatabaseFault.COLLISION
    text = str(error.orig).lower()
    if number in _FULL or any(words in text for words in _NO_ROOM) or _is_refused_page(error.orig):
        return DatabaseFault.FULL
    if "database is locked" in text or "database table is locked" in text:
        return DatabaseFault.LOCK_WAIT
    if error.connection_invalidated or is_lost(error):
        return DatabaseFault.CONNECTION
    return None


def error_number(error: BaseException | None) -> object:
    """Return the server's or the driver's number of an error, also of one that SQLAlchemy has wrapped."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return cause.args[0] if cause is not None and cause.args else None


def is_lost(error: BaseException) -> bool:
    """Return whether another connection may do what this one did not; a timeout of ours is no lost connection."""
    if not isinstance(error, DBAPIError | DriverError):
        return False
    text = str(error.orig if isinstance(error, DBAPIError) else error).lower()
    return error_number(error) in _LOST | UNFIT_NODE or "lost connection" in text or "not connected" in text


def _is_refused_page(error: object) -> bool:
    """SQLite shares a file between its readers, and calls it an I/O error when that cannot grow."""
    return getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHMSIZE"


@dataclass(slots=True)
class Reconnection:
    """
    How often work is repeated on another connection: at once, as the server may have closed an idle one, then after pauses.

    :param retries: further attempts after a pause; 0: none at all
    :param pause: seconds before the first of them; each next pause is twice as long
    :param listener: called with the number of each further attempt
    """

    retries: int = 3
    pause: float = 1.0
    listener: Callable[[int], None] | None = None

    async def run(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """
        Run the attempt, and run it again while its connection is lost.

        None begins later than the pauses take together: a server that is silent costs one more timeout at most.
        """
        pauses = [0.0, *(self.pause * 2**count for count in range(self.retries))] if self.retries else []
        until = monotonic() + sum(pauses)
        for count, pause in enumerate(pauses, 1):
            try:
                return await attempt()
            except Exception as error:
                if not is_lost(error) or monotonic() > until:
                    raise
            if self.listener is not None:
                self.listener(count)
            with slot_released():
                await asyncio.sleep(pause)
        return await attempt()


async def try_again(attempt: Callable[[], Awaitable[T]], *, attempts: int) -> T:
    """Run one attempt at a transaction, and another when it collided or when no connection became free."""
    for count in range(1, attempts):
        try:
            return await attempt()
        except Exception as error:
            if database_fault(error) not in _RETRIED:
                raise
            with slot_released():
                await asyncio.sleep(0.02 * count)
    return await attempt()
