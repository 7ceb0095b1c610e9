"""Encrypt stored secrets with a key derived from the signing key."""

import base64
import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
_key: AESGCM  # of this process's installation


def use_key(signing_key: str) -> None:
    global _key  # noqa: PLW0603  the terminal and the worker share no other object
    _key = AESGCM(hmac.digest(signing_key.encode(), b"secrets at rest", hashlib.sha256))


def encrypt(text: str) -> str:
    nonce = os.urandom(NONCE_BYTES)
    return "v1:" + base64.urlsafe_b64encode(nonce + _key.encrypt(nonce, text.encode(), None)).decode()


def decrypt(encrypted: str) -> str | None:
    """Return the text, or None if it was encrypted with another key."""
    raw = base64.urlsafe_b64decode(encrypted.removeprefix("v1:"))
    try:
        return _key.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], None).decode()
    except InvalidTag:
        return None
