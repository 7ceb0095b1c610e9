"""What became of an attempt is kept, and a webhook whose receiver takes nothing for days is switched off; those it belongs to are told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events import service as events
from saraban.webhooks import repository
from saraban.webhooks.domain.health import Off, WebhookHealth
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service.subscriptions import MANAGES

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
    off: Off | None = None

    @property
    def delivered(self) -> bool:
        return bool(self.outcome["delivered"])

    @property
    def at(self) -> datetime:
        moment: datetime = self.outcome["created_at"]
        return moment


async def record_attempt(session: AsyncSession, public_id: UUID, attempt: DeliveryAttempt) -> None:
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
        await _switch_off(session, row, attempt.off or "failing", now=attempt.at)
    await session.flush()


async def _switch_off(session: AsyncSession, row: Webhook, because: Off, *, now: datetime) -> None:
    row.is_active, row.off_because, row.version, row.updated_at = False, because, row.version + 1, now
    log.warning("webhook_switched_off", webhook=str(row.public_id), because=because)
    since = (row.failing_since or now).isoformat()
    details = {"url": row.url, "because": because, "failingSince": since, "version": row.version}
    await events.record(
        session,
        events.NewEvent(
            SWITCHED_OFF,
            "webhook",
            str(row.public_id),
            {
                "webhookPublicId": str(row.public_id),
                "userPublicIds": [str(one) for one in await repository.concerned(session, row, permission=MANAGES)],
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
