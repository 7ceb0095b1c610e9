"""Functions of `webhooks` that other features use."""

from saraban.webhooks.domain import EVENTS
from saraban.webhooks.models import Webhook, WebhookOutcome
from saraban.webhooks.service.delivery import SWITCHED_OFF, WebhookSender, purge_outcomes, subscribe, test
from saraban.webhooks.service.subscriptions import (
    change,
    create,
    create_own,
    earlier_until,
    encrypt_secrets,
    etag,
    listing,
    listing_own,
    outcomes,
    read,
    remove,
    rotate,
    secret_of,
)
