"""What the doors use of `webhooks`."""

from saraban.webhooks.domain.message import EVENTS, EventName, ProjectEvent
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service.faring import SWITCHED_OFF
from saraban.webhooks.service.sending import REQUESTED, Sender, forget_outcomes, react_all, subscribe, tell_owners, test
from saraban.webhooks.service.subscribing import (
    Change,
    TooManyOwnWebhooks,
    TooManySecrets,
    TooManyWebhooks,
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
    "Change",
    "EventName",
    "ProjectEvent",
    "Sender",
    "TooManyOwnWebhooks",
    "TooManySecrets",
    "TooManyWebhooks",
    "Webhook",
    "WebhookChanged",
    "WebhookOutcome",
    "change",
    "create",
    "create_own",
    "earlier_until",
    "etag",
    "forget_outcomes",
    "listing",
    "listing_own",
    "outcomes",
    "react_all",
    "read",
    "remove",
    "rotate",
    "subscribe",
    "tell_owners",
    "test",
]
