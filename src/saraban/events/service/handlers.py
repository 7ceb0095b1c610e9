"""Which functions react to which event: inside the delivery's transaction, or outside of any, where the network is."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.domain.event import Event
from saraban.events.domain.lane import Lane
from saraban.events.domain.retry import FIRST_DELAY

Handler = Callable[[AsyncSession, Event], Awaitable[None]]
BatchHandler = Callable[[AsyncSession, Sequence[Event]], Awaitable[None]]
EventSender = Callable[[Event], Awaitable[None]]


class Postponed(Exception):  # an expected outcome
    """A limiter said: not yet. That is no attempt; `seconds` later it is asked again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"postponed by {seconds:g} s")
        self.seconds = seconds


class Handlers:
    """
    Wired in `bootstrap`; handlers of one event run in the order in which they were added.

    :param first_delay: pause after a first failure; each further one is twice as long
    """

    def __init__(self, *, first_delay: timedelta = FIRST_DELAY) -> None:
        self._by_name: dict[str, list[BatchHandler]] = defaultdict(list)
        self._senders: dict[str, EventSender] = {}
        self._delays: dict[str, timedelta] = {}
        self._first_delay = first_delay

    def add(self, name: str, handler: Handler) -> None:
        """Call `handler` in the transaction that marks the event delivered."""
        self.add_all(name, _one_by_one(handler))

    def add_all(self, name: str, handler: BatchHandler) -> None:
        """
        Call `handler` with all events of that name which one transaction delivers, each of another
        aggregate. What it raises undoes all of them; then it is called with fewer, in the end with the one that fails.
        """
        if name in self._senders:
            raise ValueError(f"{name} is sent outside")
        self._by_name[name].append(handler)

    def send(self, name: str, sender: EventSender, *, first_delay: timedelta | None = None) -> None:
        """
        Call `sender` without a transaction: it may wait for the network, and must bear being repeated.

        :param first_delay: pause after a first failure, where it is not everybody's
        """
        if name in self._by_name or name in self._senders:
            raise ValueError(f"{name} has a handler already")
        self._senders[name] = sender
        if first_delay is not None:
            self._delays[name] = first_delay

    def of(self, name: str) -> Sequence[BatchHandler]:
        return tuple(self._by_name.get(name, ()))

    def sender_of(self, name: str) -> EventSender | None:
        return self._senders.get(name)

    def first_delay_of(self, name: str) -> timedelta:
        return self._delays.get(name, self._first_delay)

    def names(self) -> frozenset[str]:
        return frozenset(self._by_name) | frozenset(self._senders)

    def lane(self, *, outside: bool) -> Lane:
        return Lane(frozenset(self._senders), outside)


def _one_by_one(handler: Handler) -> BatchHandler:
    async def react(session: AsyncSession, events: Sequence[Event]) -> None:
        for event in events:
            await handler(session, event)

    return react
