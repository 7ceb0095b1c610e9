"""What the doors use of `webhooks`."""

from saraban.webhooks.domain.message import EVENTS, EventName, ProjectEvent
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service.delivery import (
    REQUESTED,
    WebhookSender,
    purge_outcomes,
    react_all,
    subscribe,
    tell_owners,
    test,
)
from saraban.webhooks.service.delivery_results import SWITCHED_OFF
from saraban.webhooks.service.subscriptions import (
    TooManyOwnWebhooks,
    TooManySecrets,
    TooManyWebhooks,
    WebhookChange,
    WebhookChanged,
    change,
    create,
    create_own,
    earlier_until,
    etag,
    listing,
    listing_own,
    outcomes,
    read,
    remove,
    rotate,
)

__all__ = [
    "EVENTS",
    "REQUESTED",
    "SWITCHED_OFF",
    "EventName",
    "ProjectEvent",
    "TooManyOwnWebhooks",
    "TooManySecrets",
    "TooManyWebhooks",
    "Webhook",
    "WebhookChange",
    "WebhookChanged",
    "WebhookOutcome",
    "WebhookSender",
    "change",
    "create",
    "create_own",
    "earlier_until",
    "etag",
    "listing",
    "listing_own",
    "outcomes",
    "purge_outcomes",
    "react_all",
    "read",
    "remove",
    "rotate",
    "subscribe",
    "tell_owners",
    "test",
]
