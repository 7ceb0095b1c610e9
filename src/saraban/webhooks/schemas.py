"""API schemas of webhooks."""

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
    Field(max_length=20, description="Topics of `workflow.webhook` in workflow definitions; empty: all topics."),
]


class WebhookIn(Schema):
    """The address of a webhook, and the events it receives."""

    model_config = ConfigDict(json_schema_extra={"example": _IN})

    url: Address
    description: Annotated[str, SingleLine(200, shortest=0)] = ""
    events: Events
    topics: Topics = Field(default=[])


class OwnWebhookIn(Schema):
    """A webhook that receives your notices for which you chose the channel webhook."""

    model_config = ConfigDict(json_schema_extra={"example": _OWN})

    url: Address
    description: Annotated[str, SingleLine(200, shortest=0)] = ""


class WebhookChangeIn(Schema):
    """Fields that are left out stay unchanged."""

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
        description="Why Saraban disabled it: `gone` after a response of 410, `failing` when nothing was delivered "
        "for days, `address` when the address is not allowed. The owner was notified; `isActive` enables it again."
    )
    failing_since: datetime | None = Field(description="When the first attempt after the last delivery failed.")
    version: int
    previous_secret_until: datetime | None = Field(
        description="Until then messages are also signed with earlier secrets."
    )
    created_at: datetime
    updated_at: datetime


class WebhookSecretOut(WebhookOut):
    """The only response with the secret, which a repeated request returns until a change."""

    model_config = ConfigDict(
        json_schema_extra={"example": {**_OUT, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="}}
    )

    secret: str | None


class OutcomeOut(Schema):
    """
    One attempt to deliver a message.

    Without a response, `error` is `timeout`, `unreachable`, `private_address` or `bad_address`. It is
    `secret_unreadable` if the signing key of the installation has changed: rotate the secret.
    """

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
    """The message that was queued."""

    model_config = ConfigDict(json_schema_extra={"example": {"messagePublicId": _ID}})

    message_public_id: UUID
