"""Tell the operators' webhook of dead letters, each at most once; a failure is logged and never stops the worker."""

from datetime import datetime

import httpx
import structlog

from saraban.events import service as events
from saraban.kit.db import Database

log = structlog.get_logger(__name__)

PER_MINUTE = 50


async def send_alerts(
    db: Database, *, url: str, now: datetime, transport: httpx.AsyncBaseTransport | None = None
) -> int:
    """
    Tell `url` of the dead letters nobody was told of, at most 50 a minute, and return their number.

    :param url: `N8N_WEBHOOK_URL`, set by the operator, so an address in the private network is fine; may be empty
    """
    dead = await db.transact(lambda session: events.take_unreported(session, now=now, per_minute=PER_MINUTE))
    if not dead:
        return 0
    if not url:
        log.warning("N8N_WEBHOOK_URL not configured", dead_letters=[str(event.public_id) for event in dead])
        return len(dead)
    async with httpx.AsyncClient(timeout=5.0, transport=transport) as client:
        for event in dead:
            await _tell(client, url, event)
    return len(dead)


async def _tell(client: httpx.AsyncClient, url: str, event: events.DeadLetterView) -> None:
    try:
        answer = await client.post(url, json=_words(event))
        answer.raise_for_status()
    except httpx.HTTPError as error:
        log.warning("ops_webhook_failed", dead_letter=str(event.public_id), reason=type(error).__name__)


def _words(event: events.DeadLetterView) -> dict[str, object]:
    return {
        "event": "workflow_event_failed",
        "jobId": str(event.event_public_id),
        "deadLetterId": str(event.public_id),
        "queue": event.queue,
        "keptIn": events.DEAD_QUEUE,
        "name": event.name,
        "workflowCode": event.data.get("workflowCode"),
        "instanceId": event.data.get("instancePublicId"),
        "error": event.error,
        "timestamp": event.failed_at.isoformat().replace("+00:00", "Z"),
    }
