"""
Limit on the requests that a process handles at the same time, without HTTP.

A request releases its slot while it waits for a lock or another attempt. The limit falls while responses take longer
than `TARGET_SECONDS`.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from saraban.kit.clock import stopwatch
from saraban.kit.errors import DomainError, ErrorKind, Text

SLOT_WAIT_SECONDS: Final = 1.0
LOCK_WAIT_SECONDS: Final = 1.0  # shorter waits are for work of this process, which the slots already limit
TARGET_SECONDS: Final = 0.7  # from a slot to the answer
QUIET_SECONDS: Final = 0.05  # a client with consecutive requests sends the next within this time
RETRY_SECONDS: Final = 3
_FEWEST, _FIRST, _DECREASE, _INCREASE = 8, 32, 0.7, 0.25


class ServerOverloaded(DomainError):
    """
    The server has too many requests, and no slot became free within a second.
    The request was not carried out. Repeat it after `Retry-After` seconds.
    """

    kind, code = ErrorKind.BUSY, "SERVER_OVERLOADED"
    says = Text(
        "ขณะนี้มีผู้ใช้งานพร้อมกันมากเกินไป ระบบจึงยังไม่ได้ดำเนินการตามคำขอนี้",
        "The server has too many requests at the moment. This request was not carried out.",
    )
    recovery = (
        Text("รอ {seconds} วินาทีแล้วลองใหม่", "Wait {seconds} seconds, then try again."),
        Text(
            "ข้อมูลที่กรอกไว้ยังอยู่ในแบบฟอร์ม หากไม่เห็นแบบฟอร์ม ให้ย้อนกลับไปหน้าก่อน",
            "What you typed is still in the form. If you do not see the form, go back to the previous page.",
        ),
    )


class Admission:
    def __init__(self, most: int) -> None:
        self.most, self.limit = most, float(min(most, _FIRST))
        self.in_progress = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._lowered_at = self._quiet_since = 0.0

    async def enter(self) -> "Slot":
        """
        Wait for a slot; the newest request gets the next one.
        :raises ServerOverloaded:
        """
        if self.in_progress < int(self.limit):
            self.in_progress += 1
            return Slot(self)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait([turn], timeout=SLOT_WAIT_SECONDS)
        except asyncio.CancelledError:
            if turn.done():
                self.free()
            else:
                self._waiting.remove(turn)
            raise
        if not turn.done():
            self._waiting.remove(turn)
            raise ServerOverloaded(values={"seconds": RETRY_SECONDS}, retry_after=RETRY_SECONDS)
        return Slot(self)

    def free(self) -> None:
        self.in_progress -= 1
        self._quiet_since = stopwatch()
        while self._waiting and self.in_progress < int(self.limit):
            self.in_progress += 1
            self._waiting.pop().set_result(None)

    def adapt(self, seconds: float) -> None:
        """Adjust the limit; lower it once per `TARGET_SECONDS` at most."""
        if seconds <= TARGET_SECONDS:
            if self._waiting:
                self.limit = min(self.limit + (_INCREASE if self._lowered_at else 1), self.most)
        elif stopwatch() - self._lowered_at > TARGET_SECONDS:
            self.limit, self._lowered_at = max(self.limit * _DECREASE, min(_FEWEST, self.most)), stopwatch()

    def is_busy(self) -> bool:
        return self.in_progress > 0 or bool(self._waiting) or stopwatch() - self._quiet_since < QUIET_SECONDS


class Slot:
    """Only the request's own task releases it."""

    __slots__ = ("_admission", "_has_left", "_is_held", "_since", "paused", "task")

    def __init__(self, admission: Admission) -> None:
        self._admission, self.task = admission, asyncio.current_task()
        self._since, self.paused = stopwatch(), 0.0
        self._is_held, self._has_left = True, False
        _slot.set(self)

    def release(self) -> None:
        if self._is_held:
            self._is_held = False
            self._admission.free()

    def take(self) -> bool:
        """Take the slot again, beyond the limit if needed. Return whether it was released."""
        if self._is_held or self._has_left:
            return False
        self._is_held = True
        self._admission.in_progress += 1
        return True

    def leave(self) -> None:
        """A slow download of the response occupies no slot."""
        if not self._has_left:
            self._has_left = True
            self._admission.adapt(stopwatch() - self._since - self.paused)
            self.release()


_slot: ContextVar[Slot | None] = ContextVar("slot", default=None)


@contextmanager
def slot_released(*, after: float = 0.0) -> Iterator[None]:
    """:param after: seconds to wait before the slot is released"""
    slot = _slot.get()
    if slot is None or slot.task is not asyncio.current_task():
        yield
        return
    began = stopwatch()
    timer = asyncio.get_running_loop().call_later(after, slot.release)
    try:
        yield
    finally:
        timer.cancel()
        if slot.take():
            slot.paused += stopwatch() - began
