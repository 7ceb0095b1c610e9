"""What the doors use of `webhooks`."""

from saraban.webhooks.domain.message import EVENTS, EventName
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service.sending import REQUESTED, Sender, forget_outcomes, react_all, subscribe, test
from saraban.webhooks.service.subscribing import (
    Change,
    TooManyWebhooks,
    WebhookChanged,
    change,
    create,
    etag,
    listing,
    outcomes,
    read,
    remove,
    rotate,
)

__all__ = [
    "EVENTS",
    "REQUESTED",
    "Change",
    "EventName",
    "Sender",
    "TooManyWebhooks",
    "Webhook",
    "WebhookChanged",
    "WebhookOutcome",
    "change",
    "create",
    "etag",
    "forget_outcomes",
    "listing",
    "outcomes",
    "react_all",
    "read",
    "remove",
    "rotate",
    "subscribe",
    "test",
]
