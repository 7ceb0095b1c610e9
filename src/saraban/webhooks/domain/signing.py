"""Signatures after Standard Webhooks: HMAC-SHA256 over id, timestamp and body, one for each secret that is valid."""

import base64
import hashlib
import hmac
from collections.abc import Sequence

PREFIX = "whsec_"


def encoded(key: bytes) -> str:
    """Return a secret in the form that receivers are handed."""
    return PREFIX + base64.b64encode(key).decode()


def signature(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> str:
    """Return the header `webhook-signature`: while a secret is being changed it has one for each."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return " ".join("v1," + _signed(secret, signed) for secret in secrets)


def _signed(secret: str, signed: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
