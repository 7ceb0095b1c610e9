"""How much of the processor the worker may use beside the requests of its process."""

import types
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from time import thread_time
from typing import Any, Final, TypeVar

from saraban.kit.clock import stopwatch

T = TypeVar("T")
REST: Final = 3  # seconds of rest for each second of work: a quarter of the processor


class ProcessorShare:
    """
    Measures the processor time of the worker's coroutines. While requests are in progress each second of it is followed by
    three of rest, which all lanes, jobs and timers keep together. A unit of work that has begun is not interrupted.

    :param busy: whether requests are in progress
    """

    def __init__(self, busy: Callable[[], bool]) -> None:
        self.busy = busy
        self._rests_until = 0.0

    @property
    def must_rest(self) -> bool:
        return stopwatch() < self._rests_until and self.busy()

    def spend(self, seconds: float) -> None:
        if self.busy():
            self._rests_until = max(self._rests_until, stopwatch()) + REST * seconds

    @types.coroutine
    def measure(self, work: Awaitable[T]) -> Generator[Any, Any, T]:
        """Run a coroutine of the worker; one that it starts as another task is measured by itself."""
        steps = work.__await__()
        resume: Callable[[], Any] = partial(steps.send, None)
        while True:
            began = thread_time()
            try:
                awaited = resume()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self.spend(thread_time() - began)
            try:
                resume = partial(steps.send, (yield awaited))
            except BaseException as error:  # noqa: BLE001  the cancellation and whatever else is thrown in belong to the work
                resume = partial(steps.throw, error)


NO_LIMIT: Final = ProcessorShare(bool)  # never busy
