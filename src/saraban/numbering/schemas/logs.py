"""What numbering refused, as operators read it."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from saraban.kit.schema import Schema

ErrorType = Literal[
    "LOCK_TIMEOUT", "VERSION_CONFLICT", "DB_ERROR", "REDIS_ERROR", "VALIDATION_ERROR", "SEQUENCE_EXHAUSTED"
]


class NumberErrorOut(Schema):
    """A call that was refused, or that failed."""

    public_id: UUID
    error_type: ErrorType
    message: str | None = Field(examples=["Two formats can print the same number."])
    context: dict[str, Any] = Field(
        description="What is known of it: the request, the code, the series, the codes asked for."
    )
    username: str | None = Field(description="null: nobody had signed in.")
    address: str | None
    trace_id: str | None
    created_at: datetime


class NumberErrorsOut(Schema):
    items: list[NumberErrorOut]
    next_cursor: str | None
