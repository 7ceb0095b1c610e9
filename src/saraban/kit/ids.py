"""Public identifiers and tokens: the only place that makes them."""

import secrets
import uuid
from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """Return a UUIDv7: time-ordered, monotonic within the process (REQ-IDN-04)."""
    return uuid_utils.compat.uuid7()


_TOKENS = UUID("9d0c6a0e-4d1b-5f0a-8a39-6f7b1f6a2c55")


def derived_id(*parts: str) -> UUID:
    """Return the same UUID for the same parts, so that a repeated request is recognised by its token."""
    return uuid.uuid5(_TOKENS, "\x1f".join(parts))


def new_secret(length: int = 32) -> str:
    """Return an unguessable URL-safe text of `length` random bytes."""
    return secrets.token_urlsafe(length)
