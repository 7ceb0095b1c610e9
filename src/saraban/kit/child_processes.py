"""Limits on the child processes that read files. They have their own threads."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TypeVar
from uuid import UUID

from saraban.kit.errors import DomainError, ErrorKind, Text

T = TypeVar("T")
RUNNING, WAITING, OF_USER = 2, 8, 2
_RETRY_AFTER = 10  # seconds


class FileReadersBusy(DomainError):
    """The queue of file readers is full, or the caller already has two files in it."""

    kind, code = ErrorKind.THROTTLED, "FILE_READERS_BUSY"
    says = Text(
        "ระบบกำลังอ่านไฟล์อื่นอยู่ กรุณารอ {seconds} วินาทีแล้วลองใหม่",
        "The server is reading other files. Wait {seconds} seconds and try again.",
    )
    recovery = (Text("ส่งไฟล์ทีละไฟล์", "Send one file at a time."),)


class ChildPool:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(RUNNING, "saraban-child")
        self._background = ThreadPoolExecutor(1, "saraban-background-child")
        self._files: Counter[UUID] = Counter()
        self._lock = Lock()

    async def run(self, user: UUID, work: Callable[[], T]) -> T:
        """
        Run `work` in a thread. After a cancellation the place stays taken until `work` returns.
        :raises FileReadersBusy: when the queue is full, or the user has too many files in it
        """
        with self._lock:
            if self._files.total() >= RUNNING + WAITING or self._files[user] >= OF_USER:
                raise FileReadersBusy(values={"seconds": _RETRY_AFTER}, retry_after=_RETRY_AFTER)
            self._files[user] += 1
        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self._release(user))
        return await asyncio.wrap_future(future)

    async def run_in_background(self, work: Callable[[], T]) -> T:
        return await asyncio.wrap_future(self._background.submit(work))

    def _release(self, user: UUID) -> None:
        with self._lock:
            self._files -= Counter([user])  # also deletes entries at zero


CHILDREN = ChildPool()
