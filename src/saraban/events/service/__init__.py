"""Functions of `events` that other features use."""

from saraban.events.domain import Event, EventSearch, EventState
from saraban.events.repository import NOW, any_unreported, due_in, heartbeat_age, record_heartbeat, what_waits
from saraban.events.service.dead_letters import (
    DEAD_QUEUE,
    DeadLetterView,
    EventView,
    add_dead_letter,
    delete_dead_letter,
    list_events,
    read_event,
    requeue_dead_letter,
    take_unreported,
)
from saraban.events.service.outbox import (
    LEASE,
    EventClaim,
    Handlers,
    NewEvent,
    Postponed,
    backlog,
    claim,
    counts_as_attempt,
    deliver_all,
    is_last_attempt,
    mark_delivered,
    purge_delivered,
    record,
    record_all,
    record_failure,
)
