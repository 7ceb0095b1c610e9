"""Files in JSON."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ConfigDict

from saraban.kit.schema import Schema

_EXAMPLE: dict[str, Any] = {
    "publicId": "019505a1-7c3e-7000-8000-abc123def456",
    "fileName": "รายการคำนวณโครงสร้าง.pdf",
    "mimeType": "application/pdf",
    "size": 184320,
    "checksum": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "expiresAt": "2026-11-21T03:00:00Z",
}


class UploadedFile(Schema):
    """A file that waits for its document: name it by `publicId` before `expiresAt`, which is null once a document holds it."""

    model_config = ConfigDict(json_schema_extra={"example": _EXAMPLE})

    public_id: UUID
    file_name: str
    mime_type: str
    size: int
    checksum: str
    expires_at: datetime | None


class AttachmentDetail(Schema):
    """What is known of a file; `expiresAt` is null once a document holds it."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": _EXAMPLE
            | {
                "expiresAt": None,
                "isTemporary": False,
                "createdAt": "2026-11-20T03:00:00Z",
                "downloadUrl": f"/api/v1/attachments/{_EXAMPLE['publicId']}/content",
            }
        }
    )

    public_id: UUID
    file_name: str
    mime_type: str
    size: int
    checksum: str
    is_temporary: bool
    created_at: datetime
    expires_at: datetime | None
    download_url: str
