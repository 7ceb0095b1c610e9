"""
Whether the client of a request still waits for its answer.

A request whose client has gone is marked, never cancelled: a cancelled statement would cost its connection, and a commit its
outcome. It looks where nothing has begun yet, before a connection, a transaction, a turn or a key, and ends there.
Inside a transaction nobody looks.
"""

import asyncio
from contextvars import ContextVar


class ClientGone(Exception):  # an expected outcome
    """Nobody waits for the answer any more, and nothing was begun."""


class ClientPresence:
    """One request. Whoever hears from its connection sets `has_left`; tasks that the request starts may work for others too."""

    __slots__ = ("_task", "has_left")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self.has_left = False

    @property
    def is_own_task(self) -> bool:
        return self._task is asyncio.current_task()

    def end(self) -> None:
        """Forget the client: what its task does after the answer is no work for it."""
        self._task, self.has_left = None, False

    def take_leave(self) -> bool:
        """Say once that the client has left: what the request does after it was told is its tidying up."""
        left, self.has_left = self.has_left, False
        return left


_presence: ContextVar[ClientPresence | None] = ContextVar("client_presence", default=None)


def begin_presence() -> ClientPresence:
    """Have the current task be the request's own."""
    presence = ClientPresence()
    _presence.set(presence)
    return presence


def current_presence() -> ClientPresence | None:
    """Return what is known of the client of this very task, if it has one."""
    presence = _presence.get()
    return presence if presence is not None and presence.is_own_task else None


def refuse_departed() -> None:
    """
    :raises ClientGone: when the client of this very task has left, and it was not told so before
    """
    presence = current_presence()
    if presence is not None and presence.take_leave():
        raise ClientGone
