"""Files: one row each, temporary until a document or a workflow step claims it."""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index


class Attachment(HasPublicId, Base):
    """
    A row without `checksum` is an incomplete upload.

    :param text_due_at: postponed as a worker's lease; null for never
    """

    __tablename__ = "attachments"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    original_filename: Mapped[str] = mapped_column(sa.String(255))
    stored_filename: Mapped[str] = mapped_column(sa.String(255))
    file_path: Mapped[str] = mapped_column(sa.String(500))
    mime_type: Mapped[str] = mapped_column(sa.String(100))
    file_size: Mapped[int]
    is_temporary: Mapped[bool] = mapped_column(default=True, server_default=sa.true())
    temp_id: Mapped[str | None] = mapped_column(sa.String(100))
    uploaded_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    checksum: Mapped[str | None] = mapped_column(sa.String(64))
    reference_date: Mapped[date | None]
    workflow_history_id: Mapped[str | None] = mapped_column(
        sa.CHAR(36), sa.ForeignKey("workflow_histories.id", ondelete="SET NULL")
    )
    text_due_at: Mapped[datetime | None]
    text_tries: Mapped[int] = mapped_column(default=0, server_default="0")
    text_problem: Mapped[str | None] = mapped_column(Code(20))

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(
            "attachments",
            sa.Index("idx_att_wfhist_created", "workflow_history_id", "created_at"),
            sa.Index("idx_attachments_temp_cleanup", "is_temporary", "expires_at"),
            sa.Index("idx_attachments_text_due", "is_temporary", "text_due_at"),
            sa.Index("idx_attachments_temp_id", "temp_id"),
            sa.Index("idx_attachments_reference_date", "reference_date"),
        )


class AttachmentText(Base):
    __tablename__ = "attachment_texts"

    attachment_id: Mapped[int] = mapped_column(sa.ForeignKey("attachments.id"), primary_key=True)
    text: Mapped[str] = mapped_column(sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"))
    extracted_at: Mapped[datetime]
