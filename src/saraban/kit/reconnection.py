"""Repeat work after a lost database connection (REQ-LCK-08, decision 57)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import ParamSpec, TypeVar

from asyncmy.errors import Error as DriverError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from saraban.kit.admission import slot_released

T = TypeVar("T")
P = ParamSpec("P")
LOCK_WAIT = 1205
# A node that left its cluster, or is read-only, refuses every statement. Another connection may reach another node.
UNFIT_NODE = {1047, 1290, 1836}
NOT_EXECUTED = {0, 2006, *UNFIT_NODE}  # the driver had no connection, or the server refused the statement
# 1180: the node lost its cluster during COMMIT. The other nodes may have the transaction.
_LOST = {1053, 1152, 1927, 1969, 1129, 1203, 1040, 2002, 2003, 2006, 2013, 2014, 2055, 3024, 4031, 1180} | UNFIT_NODE


class CommitLost(SQLAlchemyError):
    """The connection was lost after COMMIT was sent; the request's token shows the result."""


def error_number(error: BaseException) -> object:
    cause = error.orig if isinstance(error, DBAPIError) else error
    return cause.args[0] if cause is not None and cause.args else None


def is_lost(error: BaseException) -> bool:
    """Return whether another connection may succeed; our own timeouts do not count."""
    number, text = error_number(error), str(error.orig if isinstance(error, DBAPIError) else error).lower()
    # The text of a server's error can contain a user's value. An error without a number, or with 0, is the driver's own.
    by_text = (not isinstance(number, int) or number == 0) and ("lost connection" in text or "not connected" in text)
    return isinstance(error, DBAPIError | DriverError) and (number in _LOST or by_text)


@cache
def _pauses(retries: int, pause: float) -> Sequence[float]:
    return [0.0, *(pause * 2**count for count in range(retries))] if retries else []


@dataclass(slots=True)
class Reconnection:
    """
    Repeat at once, then with pauses that double.
    :param retries: attempts after a pause; 0 disables all repeats
    :param pause: seconds before the first of these attempts
    """

    retries: int = 3
    pause: float = 1.0
    listener: Callable[[int], None] | None = None

    async def run(self, attempt: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Repeat the attempt until it succeeds, or the total time of the pauses is over."""
        pauses = _pauses(self.retries, self.pause)
        until = 0.0
        for count, pause in enumerate(pauses, 1):
            try:
                return await attempt(*args, **kwargs)
            except Exception as error:
                # The limit counts from the first failure: an isolated node takes seconds to answer.
                until = until or monotonic() + sum(pauses)
                if not is_lost(error) or monotonic() > until:
                    raise
            if self.listener is not None:
                self.listener(count)
            with slot_released():
                await asyncio.sleep(pause)
        return await attempt(*args, **kwargs)
