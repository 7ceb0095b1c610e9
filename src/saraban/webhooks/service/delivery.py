"""Delivers webhooks: each event becomes one outbox event for each webhook."""

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
    :param outcome: columns of `WebhookOutcome`
    :param off: why further attempts are useless
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
    """Save the outcome; lock the webhook only if its health changes."""
    row = await repository.one(session, public_id, locked=not attempt.delivered)
    if row is None:  # removed in the meantime
        return
    if attempt.delivered and row.failing_since is not None:
        row = await repository.one(session, public_id, locked=True) or row
    session.add(WebhookOutcome(**attempt.outcome))
    health = WebhookHealth(row.failing_since, row.given_up)
    new_health = health.after(delivered=attempt.delivered, gave_up=attempt.gave_up, now=attempt.at)
    if new_health != health:
        row.failing_since, row.given_up = new_health.failing_since, new_health.given_up
    if row.is_active and (attempt.off is not None or new_health.is_hopeless(now=attempt.at)):
        await _switch_off(session, row, attempt.off or OffReason.FAILING, now=attempt.at)
    await session.flush()


async def _switch_off(session: AsyncSession, row: Webhook, because: OffReason, *, now: datetime) -> None:
    row.is_active, row.off_because, row.version, row.updated_at = False, because.value, row.version + 1, now
    log.warning("webhook_switched_off", webhook=str(row.public_id), because=because)
    since = (row.failing_since or now).isoformat()
    owners = await repository.owners(session, row, permission=subscriptions.MANAGES)
    details = {"url": row.url, "because": because, "failingSince": since, "version": row.version}
    await outbox.record(
        session,
        NewEvent(
            SWITCHED_OFF,
            "webhook",
            str(row.public_id),
            {
                "webhookPublicId": str(row.public_id),
                "userPublicIds": [str(public_id) for public_id in owners],
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
_RETRY_SECONDS = 5.0
_NO_PROJECT = UUID(int=0)


class WebhookFailed(Exception):  # an expected outcome
    pass


def subscribe(handlers: Handlers, sender: "WebhookSender", *, first_delay: timedelta) -> None:
    for name in EVENTS:
        handlers.add_all(name, react_all)
    handlers.add_all(NOTICE, notify_owners)
    handlers.send(REQUESTED, sender.send, first_delay=first_delay)


async def react_all(session: AsyncSession, events: Sequence[Event]) -> None:
    """Queue a message for each webhook of the project that subscribes to the event."""
    if not await repository.any_active(session):
        return
    ids = [(event, *_subject_ids(event)) for event in events]
    projects = await repository.project_keys(
        session,
        projects={project for _, project, _ in ids if project},
        documents={document for _, project, document in ids if document and not project},
    )
    webhooks = await repository.active_by_project(session, project_ids=set(projects.values()))
    messages = [
        _message_event(row, event)
        for event, project, document in ids
        for row in webhooks.get(projects.get(project or document or _NO_PROJECT, 0), ())
        if _is_subscribed(row, event)
    ]
    await outbox.record_all(session, messages)


def _is_subscribed(row: Webhook, event: Event) -> bool:
    if event.name not in row.event_names:
        return False
    return event.name != NAMED or row.topics is None or event.payload.get("topic") in row.topics


async def notify_owners(session: AsyncSession, events: Sequence[Event]) -> None:
    """Queue messages for the own webhooks of the people who got a notice."""
    people = [event.uuid_in("userPublicId") for event in events]
    webhooks = await repository.active_by_owner(session, users=set(people))
    messages = [
        _message_event(row, event) for event, user in zip(events, people, strict=True) for row in webhooks.get(user, ())
    ]
    await outbox.record_all(session, messages)


def _subject_ids(event: Event) -> tuple[UUID | None, UUID | None]:
    return _id(event.payload.get("projectPublicId")), _id(event.payload.get("documentPublicId"))


async def test(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> UUID:
    row = await subscriptions.read(ctx, session, public_id)
    event = Event(new_id(), TEST, "webhook", str(row.public_id), {}, ctx.now)
    await outbox.record_all(session, [_message_event(row, event)])
    return event.public_id


def _message_event(row: Webhook, event: Event) -> NewEvent:
    return NewEvent(
        name=REQUESTED,
        aggregate_type="webhook",
        # The order is kept for each webhook and instance, so that a slow receiver delays no other one.
        aggregate_id=str(derived_id(str(row.public_id), event.aggregate_type, event.aggregate_id)),
        payload={
            "webhookPublicId": str(row.public_id),
            # The id of a notice stays the same when the notice is written again.
            "eventPublicId": event.payload.get("noticePublicId") or str(event.public_id),
            "message": message(event.name, event.payload, at=event.created_at),
        },
        at=event.created_at,
    )


class WebhookSender:
    """
    Sends messages outside of transactions.

    :param per_minute: outgoing messages, including e-mails; 0: no limit
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
        """:raises WebhookFailed, Postponed:"""
        async with self._db.reading() as session:
            target = await repository.find_for_delivery(session, event.uuid_in("webhookPublicId"))
            if target is None or not await self._can_see(session, *target, as_object(event.payload["message"])):
                return
        row, _ = target
        if row.failing_since is not None and row.public_id in self._trying:
            raise Postponed(_RETRY_SECONDS)
        await self._take_limits(row.public_id)
        self._trying.add(row.public_id)
        try:
            attempt = await self._attempt(row, event)
        finally:
            self._trying.discard(row.public_id)
        await self._db.transact(record_attempt, attempt, row.public_id)
        if not attempt.delivered and attempt.off is None:
            raise WebhookFailed(attempt.outcome["error"] or f"it answered {attempt.outcome['status']}")

    async def _can_see(self, session: AsyncSession, row: Webhook, owner: UUID, message: JsonObject) -> bool:
        caller = (await identity.load_callers(session, [owner])).get(owner)
        if caller is None or not subscriptions.can_manage(caller, row):
            return False
        document = _id(as_object(message["data"]).get("documentPublicId"))
        if document is None:
            return row.project_id is None or message["type"] == TEST or caller.may(EVERYTHING, Scope())
        ctx = RequestContext(caller, self._clock.now(), self._clock.zone)
        return await can_see(ctx, session, document)

    async def _attempt(self, row: Webhook, event: Event) -> DeliveryAttempt:
        started, status, error = stopwatch(), None, None
        off: OffReason | None = None
        try:
            body = orjson.dumps(event.payload["message"])
            status = await self._transport(row.url, body=body, headers=self._headers(row, event, body))
            off = OffReason.GONE if status == GONE else None
        except NotSent as fault:
            # An address saved before the check existed: further attempts are useless.
            error, off = fault.reason, OffReason.ADDRESS if fault.never else None
        outcome = {
            "public_id": new_id(),
            "webhook_id": row.id,
            "event_uuid": event.uuid_in("eventPublicId"),
            "name": as_object(event.payload["message"])["type"],
            "delivered": status is not None and 200 <= status < 300,
            "status": status,
            "error": error,
            "milliseconds": round((stopwatch() - started) * 1000),
            "created_at": self._clock.now(),
        }
        return DeliveryAttempt(outcome, gave_up=outbox.is_last_attempt(event), off=off)

    async def _take_limits(self, webhook: UUID) -> None:
        """Take the webhook's own limit first, so that it costs the others nothing."""
        own_rule = RateLimitRule("webhook", str(webhook), self._each)
        rules = [rule for rule in (own_rule, self._outbound) if rule.limit]
        if not rules:
            return
        if seconds := await self._limiter.seconds_left(self._outbound):
            raise Postponed(seconds)
        result = await self._limiter.take(rules)
        if result.refused == own_rule:
            raise Postponed(self._reserve_turn(webhook, result.reset))
        if result.refused is not None:
            raise Postponed(result.reset)

    def _reserve_turn(self, webhook: UUID, reset: float) -> float:
        """Return a different wait in seconds for each message of a backlog."""
        now = stopwatch()
        turn = max(self._turns.get(webhook, 0.0), now + reset)
        self._turns[webhook] = turn + 60 / self._each
        return turn - now

    def _headers(self, row: Webhook, event: Event, body: bytes) -> dict[str, str]:
        now = self._clock.now()
        message_id, timestamp = str(event.payload["eventPublicId"]), int(now.timestamp())
        stored = [row.secret, *(earlier.secret for earlier in valid_secrets(row.earlier_secrets, now))]
        secrets = [secret for text in stored if (secret := subscriptions.secret_of(text)) is not None]
        if not secrets:
            raise NotSent("secret_unreadable")
        return {
            "content-type": "application/json",
            "user-agent": "Saraban-Webhook/1",
            "webhook-id": message_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(secrets, message_id, timestamp, body),
        }


async def purge_outcomes(session: AsyncSession, *, now: datetime) -> int:
    return await repository.delete_outcomes(session, before=now - KEEP_OUTCOMES)


def _id(text: object) -> UUID | None:
    try:
        return UUID(str(text)) if text else None
    except ValueError:
        return None
