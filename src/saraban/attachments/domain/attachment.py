"""A file as other features see it."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from saraban.attachments.domain.kinds import BY_MIME_TYPE


@dataclass(frozen=True, slots=True)
class AttachmentRow:
    """
    :param id: for use inside the process only
    :param workflow_history_id: of the step it came with, None for a document's own file
    """

    id: int
    public_id: UUID
    file_name: str
    mime_type: str
    size: int
    checksum: str | None
    storage_key: str
    is_temporary: bool
    uploaded_by_user_id: int
    created_at: datetime
    expires_at: datetime | None
    workflow_history_id: str | None

    @property
    def download_url(self) -> str:
        return f"/api/v1/attachments/{self.public_id}/content"

    @property
    def shows_inline(self) -> bool:
        kind = BY_MIME_TYPE.get(self.mime_type)
        return kind is not None and kind.inline
