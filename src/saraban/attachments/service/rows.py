"""From the table to the file that other features see."""

from saraban.attachments.domain.attachment import AttachmentRow
from saraban.attachments.models import Attachment


def as_row(row: Attachment) -> AttachmentRow:
    return AttachmentRow(
        id=row.id,
        public_id=row.public_id,
        file_name=row.original_filename,
        mime_type=row.mime_type,
        size=row.file_size,
        checksum=row.checksum,
        storage_key=row.file_path,
        is_temporary=row.is_temporary,
        uploaded_by_user_id=row.uploaded_by_user_id,
        created_at=row.created_at,
        expires_at=row.expires_at,
        workflow_history_id=row.workflow_history_id,
    )
