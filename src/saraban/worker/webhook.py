"""Tells the operators' webhook of dead letters: at most once each, and never so that a failure hurts the worker."""

from datetime import datetime

import httpx
import structlog

from saraban.events import service as events
from saraban.kit.db import Database

log = structlog.get_logger(__name__)

PER_MINUTE = 50


async def announce(db: Database, *, url: str, now: datetime, transport: httpx.AsyncBaseTransport | None = None) -> int:
    """
    Tell `url` of the dead letters nobody was told of, at most 50 a minute, and return their number.

    :param url: `N8N_WEBHOOK_URL`, set by the operator, so an address in the private network is fine; may be empty
    """
    letters = await db.transact(lambda session: events.take_unreported(session, now=now, per_minute=PER_MINUTE))
    if not letters:
        return 0
    if not url:
        log.warning("N8N_WEBHOOK_URL not configured", dead_letters=[str(letter.public_id) for letter in letters])
        return len(letters)
    async with httpx.AsyncClient(timeout=5.0, transport=transport) as client:
        for letter in letters:
            await _tell(client, url, letter)
    return len(letters)


async def _tell(client: httpx.AsyncClient, url: str, letter: events.DeadLetterView) -> None:
    try:
        answer = await client.post(url, json=_words(letter))
        answer.raise_for_status()
    except httpx.HTTPError as error:
        log.warning("ops_webhook_failed", dead_letter=str(letter.public_id), reason=type(error).__name__)


def _words(letter: events.DeadLetterView) -> dict[str, object]:
    return {
        "event": "workflow_event_failed",
        "jobId": str(letter.event_public_id),
        "deadLetterId": str(letter.public_id),
        "queue": letter.queue,
        "keptIn": events.DEAD_QUEUE,
        "name": letter.name,
        "workflowCode": letter.data.get("workflowCode"),
        "instanceId": letter.data.get("instancePublicId"),
        "error": letter.error,
        "timestamp": letter.failed_at.isoformat().replace("+00:00", "Z"),
    }
