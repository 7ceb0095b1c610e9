"""
Detect that the client of a request has disconnected.

The request is marked, not cancelled: cancelling would lose the connection or the outcome of a commit. It checks the
mark only before it starts a connection, transaction, batch or key, never inside a transaction.
"""

import asyncio
from contextvars import ContextVar


class ClientGone(Exception):  # an expected outcome
    """The client has disconnected, and nothing was started."""


class ClientPresence:
    """The connection handler sets `has_left`."""

    __slots__ = ("_task", "has_left")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self.has_left = False

    @property
    def is_own_task(self) -> bool:
        return self._task is asyncio.current_task()

    def end(self) -> None:
        self._task, self.has_left = None, False

    def take_leave(self) -> bool:
        """Return only once that the client has left, so that cleanup can run."""
        left, self.has_left = self.has_left, False
        return left


_presence: ContextVar[ClientPresence | None] = ContextVar("client_presence", default=None)


def begin_presence() -> ClientPresence:
    presence = ClientPresence()
    _presence.set(presence)
    return presence


def current_presence() -> ClientPresence | None:
    """Tasks that the request started return None."""
    presence = _presence.get()
    return presence if presence is not None and presence.is_own_task else None


def refuse_departed() -> None:
    """:raises ClientGone: once, when the client of the current task has left"""
    presence = current_presence()
    if presence is not None and presence.take_leave():
        raise ClientGone
