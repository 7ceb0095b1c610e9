"""What other features and the doors use of `events`."""

from saraban.events.domain.event import Event
from saraban.events.domain.lane import Lane
from saraban.events.service.dead import (
    DEAD_QUEUE,
    DeadEvent,
    EventNotDead,
    bury_from,
    dead_letters,
    drop,
    revive,
    take_unannounced,
)
from saraban.events.service.handlers import Handler, Handlers, Postponed, Sender
from saraban.events.service.looking import EventView, State, listing, show
from saraban.events.service.outbox import (
    LEASE,
    Backlog,
    Claim,
    any_due,
    backlog,
    claim,
    deliver,
    deliver_all,
    fail,
    finish,
    is_counted,
    purge_delivered,
    record,
    told,
)

__all__ = [
    "DEAD_QUEUE",
    "LEASE",
    "Backlog",
    "Claim",
    "DeadEvent",
    "Event",
    "EventNotDead",
    "EventView",
    "Handler",
    "Handlers",
    "Lane",
    "Postponed",
    "Sender",
    "State",
    "any_due",
    "backlog",
    "bury_from",
    "claim",
    "dead_letters",
    "deliver",
    "deliver_all",
    "drop",
    "fail",
    "finish",
    "is_counted",
    "listing",
    "purge_delivered",
    "record",
    "revive",
    "show",
    "take_unannounced",
    "told",
]
