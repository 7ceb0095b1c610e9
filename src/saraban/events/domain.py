"""An event as its handlers see it, which events one dispatcher looks after, and what becomes of one whose handler failed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from saraban.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """
    Something that has happened.

    :param name: `noun.past_participle`, for example `document.created`
    :param payload: plain values and public ids, no integer keys
    :param created_at: when it happened; a handler that needs a time uses this one
    """

    public_id: UUID
    name: str
    aggregate_type: str
    aggregate_id: str
    payload: JsonObject
    created_at: datetime
    attempts: int = 0

    def uuid_in(self, name: str) -> UUID:
        return UUID(str(self.payload[name]))


class EventState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"


@dataclass(frozen=True, slots=True)
class EventSearch:
    state: EventState | None = None
    name: str | None = None
    recorded_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """
    The events that one dispatcher looks after, so that a slow receiver outside never holds up what happens in here.

    :param names: events that have a sender
    :param outside: those, or all others
    """

    names: frozenset[str]
    outside: bool


FIRST_DELAY = timedelta(milliseconds=500)
ATTEMPTS = 3


def next_attempt(
    attempts: int, *, expected: bool = False, limit: int = ATTEMPTS, first_delay: timedelta = FIRST_DELAY
) -> timedelta | None:
    """
    Return the pause after the handler's failure number `attempts` (1 for the first); None gives the event up.

    :param expected: a broken rule stays broken, however often it is tried
    """
    if expected or attempts >= limit:
        return None
    return first_delay * (1 << (attempts - 1))
