"""An event as its handlers see it."""

from dataclasses import dataclass
from datetime import datetime
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
        """Return a public id of the payload."""
        return UUID(str(self.payload[name]))
