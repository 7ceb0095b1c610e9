"""Webhooks in JSON."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from saraban.kit.schema import Schema, SingleLine
from saraban.webhooks.domain import EventName, OffReason, ProjectEvent
from saraban.workflow.language.dsl.parts import TOPIC

_ID: Final = "01976c5e-5a3b-7c1d-9b1e-2f0a4c6d8e10"
_MOMENT: Final = "2026-03-02T03:15:00Z"
_IN: Final[JsonDict] = {
    "url": "https://hooks.example.com/saraban",
    "description": "Schedule of the contractor",
    "events": ["workflow.transitioned", "workflow.webhook"],
    "topics": ["drawings.approved"],
}
_OWN: Final[JsonDict] = {"url": "https://hooks.example.com/mine", "description": "Chat of my team"}
_OUT: Final[JsonDict] = {
    "publicId": _ID,
    **_IN,
    "isActive": True,
    "version": 1,
    "offBecause": None,
    "failingSince": None,
    "previousSecretUntil": None,
    "createdAt": _MOMENT,
    "updatedAt": _MOMENT,
}

Address = Annotated[str, SingleLine(500, shortest=12)]
Events = Annotated[list[ProjectEvent], Field(min_length=1, max_length=10)]
Topic = Annotated[str, Field(max_length=204, pattern=f"^(?:{TOPIC.pattern})$")]
Topics = Annotated[
    list[Topic],
    Field(max_length=20, description="Of `workflow.webhook`, as definitions name them; empty: whatever the topic."),
]


class WebhookIn(Schema):
    """An address outside, and what it is to be told of."""

    model_config = ConfigDict(json_schema_extra={"example": _IN})

    url: Address
    description: Annotated[str, SingleLine(200, shortest=0)] = ""
    events: Events
    topics: Topics = Field(default=[])


class OwnWebhookIn(Schema):
    """An address outside that is told what you chose to be told by webhook."""

    model_config = ConfigDict(json_schema_extra={"example": _OWN})

    url: Address
    description: Annotated[str, SingleLine(200, shortest=0)] = ""


class WebhookChangeIn(Schema):
    """What is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"example": {"isActive": False}})

    url: Address | None = None
    description: Annotated[str, SingleLine(200, shortest=0)] | None = None
    events: Events | None = None
    topics: Topics | None = None
    is_active: Annotated[bool, Field(strict=True)] | None = None


class WebhookOut(Schema):
    """One webhook, without its secret."""

    model_config = ConfigDict(json_schema_extra={"example": _OUT})

    public_id: UUID
    url: str
    description: str
    events: list[EventName]
    topics: list[str]
    is_active: bool
    off_because: OffReason | None = Field(
        description="When Saraban has switched it off: `gone` for an answer of 410, `failing` when nothing got through "
        "for days, `address` when none may lead there; the owner was notified, and `isActive` switches it on again."
    )
    failing_since: datetime | None = Field(description="When the first attempt failed after the last that did not.")
    version: int
    previous_secret_until: datetime | None = Field(description="Until then messages carry earlier secrets' signatures.")
    created_at: datetime
    updated_at: datetime


class WebhookSecretOut(WebhookOut):
    """The one answer that shows the secret; a repeated request is told it until somebody changes the webhook."""

    model_config = ConfigDict(
        json_schema_extra={"example": {**_OUT, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}}
    )

    secret: str | None


class OutcomeOut(Schema):
    """One attempt; `error` is `timeout`, `unreachable`, `private_address` or `bad_address` when nobody answered,
    and `secret_unreadable` when the installation's signing key has changed since: rotate the secret."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "publicId": _ID,
                "messagePublicId": _ID,
                "type": "workflow.transitioned",
                "delivered": False,
                "status": 503,
                "error": None,
                "milliseconds": 84,
                "at": _MOMENT,
            }
        }
    )

    public_id: UUID
    message_public_id: UUID
    type: str
    delivered: bool
    status: int | None
    error: str | None
    milliseconds: int
    at: datetime


class TestOut(Schema):
    """The message that was put into the outbox."""

    model_config = ConfigDict(json_schema_extra={"example": {"messagePublicId": _ID}})

    message_public_id: UUID
