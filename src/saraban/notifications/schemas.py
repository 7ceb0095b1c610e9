"""Notifications in JSON."""

from datetime import datetime
from uuid import UUID

from pydantic import ConfigDict

from saraban.kit.http import Schema


class NotificationAnswer(Schema):
    """One notification, in the language of the request."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "publicId": "019505a1-7c3e-7000-8000-abc123def456",
                "title": "LCBP3-C2-RFA-TER-RPT-0001-A waits for you",
                "message": "“Soil report” has reached the step Consultant review.",
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
    """`unreadCount` counts all unread ones, whatever the page shows."""

    items: list[NotificationAnswer]
    next_cursor: str | None
    unread_count: int
