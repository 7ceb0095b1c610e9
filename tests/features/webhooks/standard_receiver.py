"""A receiver as the standard describes it, written without the product's own code."""

import base64
import hashlib
import hmac
from collections.abc import Mapping


def verified(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Whether one of the signatures is that of the secret."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(one, f"v1,{expected}") for one in headers["webhook-signature"].split(" "))
