"""A receiver of webhooks that keeps what it is sent, the worker that sends to it, and the webhook itself."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import httpx

from saraban.events.service import Handlers
from saraban.kit.clock import FixedClock
from saraban.kit.db import Database
from saraban.kit.rate_limits import RateLimiter
from saraban.notifications import service as notifications
from saraban.webhooks import service as webhooks
from saraban.webhooks.domain import NotSent, WebhookTransport
from saraban.worker.loop import Worker

HOOK = "https://hooks.example.com/saraban"


class Receiver:
    """Takes what is posted and gives the answers it was told to."""

    def __init__(self, *answers: int | NotSent) -> None:
        self.answers = list(answers)
        self.got: list[tuple[str, dict[str, str], bytes]] = []

    async def __call__(self, url: str, *, body: bytes, headers: Mapping[str, str]) -> int:
        self.got.append((url, dict(headers), body))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, NotSent):
            raise answer
        return answer


def worker(
    db: Database,
    clock: FixedClock,
    receiver: WebhookTransport,
    *,
    per_minute: int = 0,
    each: int = 0,
    limiter: RateLimiter | None = None,
    notices: bool = False,
) -> Worker:
    handlers = Handlers()
    limiter = limiter or RateLimiter()
    sender = webhooks.WebhookSender(
        db, clock=clock, transport=receiver, limiter=limiter, per_minute=per_minute, each_per_minute=each
    )
    webhooks.subscribe(handlers, sender, first_delay=timedelta(seconds=5))
    if notices:
        handlers.add_all(webhooks.SWITCHED_OFF, notifications.react_all)
    return Worker(db=db, clock=clock, handlers=handlers)


async def make(client: httpx.AsyncClient, project: str, **changes: Any) -> dict[str, Any]:
    body = {"url": HOOK, "events": ["document.created"]} | changes
    answer = await client.post(f"/api/v1/projects/{project}/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())
