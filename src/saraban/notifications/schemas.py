"""API schemas of notifications and reminder settings."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from saraban.kit.schema import Schema
from saraban.notifications.domain.delivery_preferences import NoticeKind
from saraban.notifications.domain.reminders import FURTHEST_AFTER, FURTHEST_BEFORE


class NotificationAnswer(Schema):
    """One notification, in the language of the request."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "publicId": "019505a1-7c3e-7000-8000-abc123def456",
                "title": "LCBP3-C2-RFA-TER-RPT-0001-A waits for you",
                "message": "“Soil report” now has the status Consultant review.",
                "isRead": False,
                "entityType": "rfa",
                "entityPublicId": "019505a1-7c3e-7000-8000-abc123def457",
                "createdAt": "2026-11-20T03:00:00Z",
            }
        }
    )

    public_id: UUID
    title: str
    message: str
    is_read: bool
    entity_type: str | None
    entity_public_id: str | None
    created_at: datetime


class NotificationPage(Schema):
    """`unreadCount` counts all unread notifications, not only those of the page."""

    items: list[NotificationAnswer]
    next_cursor: str | None
    unread_count: int


_CHOSEN: JsonDict = {
    "email": True,
    "digest": False,
    "digestHour": 8,
    "quietFrom": 20,
    "quietUntil": 7,
    "channels": [{"kind": "moved", "inApp": True, "email": False, "webhook": True}],
}


class ChannelChoice(Schema):
    """The channels of one kind of notice."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"kind": "moved", "inApp": True, "email": False, "webhook": True}}
    )

    kind: NoticeKind
    in_app: bool = Field(strict=True)
    email: bool = Field(strict=True)
    webhook: bool = Field(default=False, strict=True, description="To your own webhooks, if you have any.")


class PreferencesOrder(Schema):
    """
    Hours are in the time zone of the deployment. Kinds that are left out use the
    application and e-mail.
    """

    model_config = ConfigDict(json_schema_extra={"example": _CHOSEN})

    email: bool = Field(strict=True, description="False: no e-mail at all, whatever the kinds say.")
    digest: bool = Field(strict=True, description="One e-mail a day instead of one for each document.")
    digest_hour: int = Field(8, strict=True, ge=0, le=23)
    quiet_from: int | None = Field(None, strict=True, ge=0, le=23, description="E-mail waits from this hour …")
    quiet_until: int | None = Field(None, strict=True, ge=0, le=23, description="… until this hour.")
    channels: list[ChannelChoice] = Field(default=[], max_length=20)


class PreferencesAnswer(PreferencesOrder):
    model_config = ConfigDict(
        json_schema_extra={"example": {"address": "somchai@example.org", "mailIsOn": True, **_CHOSEN}}
    )

    address: str
    mail_is_on: bool = Field(
        description="False: this installation sends no e-mail; all notices are shown in the application."
    )


_Before = Annotated[int, Field(strict=True, ge=0, le=FURTHEST_BEFORE)]
_After = Annotated[int, Field(strict=True, ge=1, le=FURTHEST_AFTER)]


class ReminderSettings(Schema):
    """When a project's assignees are reminded of due dates, in working days of the project."""

    model_config = ConfigDict(json_schema_extra={"example": {"before": [3, 1], "after": [1, 3], "every": 5, "hour": 8}})

    before: list[_Before] = Field(max_length=5, description="Working days before; 0 is the day itself.")
    after: list[_After] = Field(max_length=5, description="Working days after.")
    every: _After | None = Field(
        description="Repeat every so many working days after the last of `after`; null: do not repeat."
    )
    hour: int = Field(strict=True, ge=0, le=23, description="Reminders are sent from this hour on.")
