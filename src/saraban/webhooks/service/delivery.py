"""
Telling webhooks: an event becomes one message for each of them, and each message an event of the outbox.

So a message has the attempts, pauses and dead letters that every event has, in order for each webhook and instance. What
became of an attempt is kept; a webhook whose receiver takes nothing for days is switched off, and those it belongs to are told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.documents.access.service import can_see
from saraban.events import service as outbox
from saraban.events.service import Event, Handlers, NewEvent, Postponed
from saraban.identity import service as identity
from saraban.identity.domain.context import EVERYTHING, RequestContext, Scope
from saraban.kit.clock import Clock, stopwatch
from saraban.kit.db import Database
from saraban.kit.ids import derived_id, new_id
from saraban.kit.json import JsonObject, as_object
from saraban.kit.rate_limits import RateLimiter, RateLimitRule, outbound_rule
from saraban.webhooks import repository
from saraban.webhooks.domain import (
    EVENTS,
    NAMED,
    NOTICE,
    TEST,
    NotSent,
    OffReason,
    WebhookHealth,
    WebhookTransport,
    message,
    signature,
    valid_secrets,
)
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service import subscriptions

log = structlog.get_logger(__name__)

SWITCHED_OFF = "webhook.switched_off"
GONE = 410


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """
    One attempt.

    :param outcome: the row that is kept of it
    :param gave_up: whether the message is given up when it has failed
    :param off: why no further attempt can get through, None where one may
    """

    outcome: dict[str, Any]
    gave_up: bool
    off: OffReason | None = None

    @property
    def delivered(self) -> bool:
        return bool(self.outcome["delivered"])

    @property
    def at(self) -> datetime:
        moment: datetime = self.outcome["created_at"]
        return moment


async def record_attempt(attempt: DeliveryAttempt, session: AsyncSession, public_id: UUID) -> None:
    """Keep the outcome; the webhook itself is locked and changed only where all is not well."""
    row = await repository.one(session, public_id, locked=not attempt.delivered)
    if row is None:  # it was removed meanwhile
        return
    if attempt.delivered and row.failing_since is not None:
        row = await repository.one(session, public_id, locked=True) or row
    session.add(WebhookOutcome(**attempt.outcome))
    before = WebhookHealth(row.failing_since, row.given_up)
    after = before.after(delivered=attempt.delivered, gave_up=attempt.gave_up, now=attempt.at)
    if after != before:
        row.failing_since, row.given_up = after.failing_since, after.given_up
    if row.is_active and (attempt.off is not None or after.is_hopeless(now=attempt.at)):
        await _switch_off(session, row, attempt.off or OffReason.FAILING, now=attempt.at)
    await session.flush()


async def _switch_off(session: AsyncSession, row: Webhook, because: OffReason, *, now: datetime) -> None:
    row.is_active, row.off_because, row.version, row.updated_at = False, because.value, row.version + 1, now
    log.warning("webhook_switched_off", webhook=str(row.public_id), because=because)
    since = (row.failing_since or now).isoformat()
    details = {"url": row.url, "because": because, "failingSince": since, "version": row.version}
    await outbox.record(
        session,
        NewEvent(
            SWITCHED_OFF,
            "webhook",
            str(row.public_id),
            {
                "webhookPublicId": str(row.public_id),
                "userPublicIds": [
                    str(one) for one in await repository.concerned(session, row, permission=subscriptions.MANAGES)
                ],
                **details,
            },
            now,
        ),
    )
    await audit.record(
        audit.AuditOrigin(None, now),
        session,
        audit.AuditEntry("webhook.switch_off", "webhook", str(row.public_id), details),
    )


REQUESTED = "webhook.requested"
KEEP_OUTCOMES = timedelta(days=7)
_BREATH = 5.0
_NOWHERE = UUID(int=0)


class WebhookFailed(Exception):  # an expected outcome
    """The receiver did not say that it has taken the message."""


def subscribe(handlers: Handlers, sender: "WebhookSender", *, first_delay: timedelta) -> None:
    for name in EVENTS:
        handlers.add_all(name, react_all)
    handlers.add_all(NOTICE, tell_owners)
    handlers.send(REQUESTED, sender.send, first_delay=first_delay)


async def react_all(session: AsyncSession, events: Sequence[Event]) -> None:
    """Put a message into the outbox for each webhook of an event's project that wishes to hear of it."""
    if not await repository.any_active(session):
        return
    about = [(event, *_about(event)) for event in events]
    projects = await repository.projects_of(
        session,
        projects={project for _, project, _ in about if project},
        documents={document for _, project, document in about if document and not project},
    )
    hooks = await repository.active(session, project_ids=set(projects.values()))
    wanted = [
        _requested(row, event)
        for event, project, document in about
        for row in hooks.get(projects.get(project or document or _NOWHERE, 0), ())
        if _wishes_to_hear(row, event)
    ]
    await outbox.record_all(session, wanted)


def _wishes_to_hear(row: Webhook, event: Event) -> bool:
    if event.name not in row.event_names:
        return False
    return event.name != NAMED or row.topics is None or event.payload.get("topic") in row.topics


async def tell_owners(session: AsyncSession, events: Sequence[Event]) -> None:
    """Put a message into the outbox for each webhook that a person set up to be told what that person is told."""
    people = [event.uuid_in("userPublicId") for event in events]
    hooks = await repository.active_of_people(session, users=set(people))
    wanted = [_requested(row, event) for event, user in zip(events, people, strict=True) for row in hooks.get(user, ())]
    await outbox.record_all(session, wanted)


def _about(event: Event) -> tuple[UUID | None, UUID | None]:
    return _id(event.payload.get("projectPublicId")), _id(event.payload.get("documentPublicId"))


async def test(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> UUID:
    """Have a webhook told something that means nothing, and return the id of the message."""
    row = await subscriptions.read(ctx, session, public_id)
    event = Event(new_id(), TEST, "webhook", str(row.public_id), {}, ctx.now)
    await outbox.record_all(session, [_requested(row, event)])
    return event.public_id


def _requested(row: Webhook, event: Event) -> NewEvent:
    return NewEvent(
        name=REQUESTED,
        aggregate_type="webhook",
        # Each webhook has an order of its own for each instance: a slow one holds up nobody else's.
        aggregate_id=str(derived_id(str(row.public_id), event.aggregate_type, event.aggregate_id)),
        payload={
            "webhookPublicId": str(row.public_id),
            # A notice has an id of its own, the same however often it is written down.
            "eventPublicId": event.payload.get("noticePublicId") or str(event.public_id),
            "message": message(event.name, event.payload, at=event.created_at),
        },
        at=event.created_at,
    )


class WebhookSender:
    """
    Sends messages, outside of any transaction.

    A webhook that has used up its own minute waits without taking anything of the others'; while its receiver takes
    nothing, one message at a time is tried.

    :param per_minute: messages that leave this installation in a minute, e-mails too; 0: no limit
    :param each_per_minute: the same of one webhook
    """

    def __init__(
        self,
        db: Database,
        *,
        clock: Clock,
        transport: WebhookTransport,
        limiter: RateLimiter,
        per_minute: int = 0,
        each_per_minute: int = 0,
    ) -> None:
        self._db, self._clock, self._transport = db, clock, transport
        self._limiter, self._outbound, self._each = limiter, outbound_rule(per_minute), each_per_minute
        self._turns: dict[UUID, float] = {}
        self._trying: set[UUID] = set()

    async def send(self, event: Event) -> None:
        """
        :raises WebhookFailed: when the receiver has not taken it
        :raises Postponed: when too many have left in the last minute
        """
        async with self._db.reading() as session:
            found = await repository.to_deliver(session, event.uuid_in("webhookPublicId"))
            if found is None or not await self._may_know(session, *found, as_object(event.payload["message"])):
                return
        row, _ = found
        if row.failing_since is not None and row.public_id in self._trying:
            raise Postponed(_BREATH)
        await self._wait_its_turn(row.public_id)
        self._trying.add(row.public_id)
        try:
            kept = await self._tried(row, event)
        finally:
            self._trying.discard(row.public_id)
        await self._db.transact(record_attempt, kept, row.public_id)
        if not kept.delivered and kept.off is None:
            raise WebhookFailed(kept.outcome["error"] or f"it answered {kept.outcome['status']}")

    async def _may_know(self, session: AsyncSession, row: Webhook, owner: UUID, message: JsonObject) -> bool:
        """Return whether the owner may see, at this moment, what the message is about; nothing goes out for who has left."""
        caller = (await identity.load_callers(session, [owner])).get(owner)
        if caller is None or not subscriptions.manages(caller, row):
            return False
        document = _id(as_object(message["data"]).get("documentPublicId"))
        if document is None:
            return row.project_id is None or message["type"] == TEST or caller.may(EVERYTHING, Scope())
        ctx = RequestContext(caller, self._clock.now(), self._clock.zone)
        return await can_see(ctx, session, document)

    async def _tried(self, row: Webhook, event: Event) -> DeliveryAttempt:
        began, status, error = stopwatch(), None, None
        off: OffReason | None = None
        try:
            body = orjson.dumps(event.payload["message"])
            status = await self._transport(row.url, body=body, headers=self._signed(row, event, body))
            off = OffReason.GONE if status == GONE else None
        except NotSent as fault:
            # It was saved when addresses were looked at less closely; no later attempt could be better.
            error, off = fault.reason, OffReason.ADDRESS if fault.never else None
        outcome = {
            "public_id": new_id(),
            "webhook_id": row.id,
            "event_uuid": event.uuid_in("eventPublicId"),
            "name": as_object(event.payload["message"])["type"],
            "delivered": status is not None and 200 <= status < 300,
            "status": status,
            "error": error,
            "milliseconds": round((stopwatch() - began) * 1000),
            "created_at": self._clock.now(),
        }
        return DeliveryAttempt(outcome, gave_up=outbox.is_last_attempt(event), off=off)

    async def _wait_its_turn(self, webhook: UUID) -> None:
        """Its own budget first: what it is refused there costs the others nothing, and it pays nothing while there is no room."""
        own = RateLimitRule("webhook", str(webhook), self._each)
        rules = [rule for rule in (own, self._outbound) if rule.limit]
        if not rules:
            return
        if full := await self._limiter.seconds_left(self._outbound):
            raise Postponed(full)
        result = await self._limiter.take(rules)
        if result.refused == own:
            raise Postponed(self._turn(webhook, result.reset))
        if result.refused is not None:
            raise Postponed(result.reset)

    def _turn(self, webhook: UUID, reset: float) -> float:
        """Each message that waits gets a moment of its own, or all of a backlog would stand before the others' at once."""
        now = stopwatch()
        at = max(self._turns.get(webhook, 0.0), now + reset)
        self._turns[webhook] = at + 60 / self._each
        return at - now

    def _signed(self, row: Webhook, event: Event, body: bytes) -> dict[str, str]:
        now = self._clock.now()
        message_id, timestamp = str(event.payload["eventPublicId"]), int(now.timestamp())
        stored = [row.secret, *(one.secret for one in valid_secrets(row.earlier_secrets, now))]
        valid = [secret for one in stored if (secret := subscriptions.secret_of(one)) is not None]
        if not valid:
            raise NotSent("secret_unreadable")
        return {
            "content-type": "application/json",
            "user-agent": "Saraban-Webhook/1",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(valid, message_id, timestamp, body),
        }


async def purge_outcomes(session: AsyncSession, *, now: datetime) -> int:
    """Delete a bounded number of outcomes older than a week, and say how many."""
    return await repository.forget_outcomes(session, before=now - KEEP_OUTCOMES)


def _id(text: object) -> UUID | None:
    try:
        return UUID(str(text)) if text else None
    except ValueError:
        return None
