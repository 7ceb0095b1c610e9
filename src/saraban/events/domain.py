"""Events, their lanes and the pauses between attempts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from saraban.kit.json import JsonObject


@dataclass(frozen=True, slots=True)
class Event:
    """
    :param payload: plain values and public ids, no integer keys
    :param created_at: the time that handlers must use
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
    :param names: events with a sender
    :param outside: whether the lane has these or all other events
    """

    names: frozenset[str]
    outside: bool


FIRST_DELAY = timedelta(milliseconds=500)
ATTEMPTS = 3


def next_attempt(
    attempts: int, *, expected: bool = False, limit: int = ATTEMPTS, first_delay: timedelta = FIRST_DELAY
) -> timedelta | None:
    """
    Return None to give the event up.

    :param expected: a broken rule, for which a further attempt is useless
    """
    if expected or attempts >= limit:
        return None
    return first_delay * (1 << (attempts - 1))
