"""The only module that creates public ids, tokens and trace ids."""

import secrets
import uuid
from contextvars import ContextVar
from uuid import UUID

import uuid_utils
import uuid_utils.compat


def new_id() -> UUID:
    """Return a UUIDv7: time-ordered, monotonic within the process (REQ-IDN-04)."""
    return uuid_utils.compat.uuid7()


_TOKENS = UUID("9d0c6a0e-4d1b-5f0a-8a39-6f7b1f6a2c55")


def derived_id(*parts: str) -> UUID:
    return uuid.uuid5(_TOKENS, "\x1f".join(parts))


def new_secret(length: int = 32) -> str:
    return secrets.token_urlsafe(length)


_trace: ContextVar[str] = ContextVar("trace_id", default="")


def begin_trace(traceparent: str | None = None) -> str:
    """Set the trace id: of a valid W3C `traceparent` header, or a new one."""
    parts = (traceparent or "").split("-")
    is_valid = (
        len(parts) == 4 and len(parts[1]) == 32 and set(parts[1]) <= set("0123456789abcdef") and set(parts[1]) != {"0"}
    )
    trace_id = parts[1] if is_valid else uuid_utils.uuid7().hex
    _trace.set(trace_id)
    return trace_id


def trace_id() -> str:
    return _trace.get()
