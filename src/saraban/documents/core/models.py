"""
Tables that letters, RFAs and transmittals share.

Nothing is deleted with its parent: a number keeps its proof (REQ-NUM-01).
"""

from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, public_id_index
from saraban.kit.json import Json
from saraban.kit.keys import sort_key_of
from saraban.kit.text import MOST_KEY

NOW = sa.text("CURRENT_TIMESTAMP")
_KEY = ("project_id", "reader_kind", "reader_id", "kind")
_NEWEST = ("created_at", "document_id")
PRIORITIES = ("URGENT", "HIGH", "MEDIUM", "LOW")


def priority_type() -> sa.Enum:
    return sa.Enum(*PRIORITIES, name="priority", native_enum=False, length=10)


class Document(HasPublicId, Base):
    """
    :param correspondence_number: as printed on the current revision
    :param number_uuid: public id of its row in the number register
    """

    __tablename__ = "correspondences"

    id: Mapped[int] = mapped_column(primary_key=True)
    correspondence_type_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_types.id"))
    correspondence_number: Mapped[str] = mapped_column(Code(255))
    number_uuid: Mapped[UUID | None]
    discipline_id: Mapped[int | None] = mapped_column(sa.ForeignKey("disciplines.id"))
    sub_type_id: Mapped[int | None] = mapped_column(sa.ForeignKey("correspondence_sub_types.id"))
    is_internal_communication: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    contract_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contracts.id"))
    originator_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    created_by: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    deleted_at: Mapped[datetime | None]
    cancelled_at: Mapped[datetime | None]
    cancelled_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    cancel_reason: Mapped[str | None] = mapped_column(sa.Text)

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("project_id", "correspondence_number", name="uq_corr_no_per_project"),
        sa.Index("idx_corr_number", "correspondence_number"),
        sa.Index("idx_correspondences_type_project", "correspondence_type_id", "project_id"),
        sa.Index("idx_correspondences_page", "project_id", "correspondence_type_id", "created_at", "uuid"),
        sa.Index("idx_correspondences_originator", "originator_id"),
        sa.Index("idx_correspondences_author", "created_by", "created_at", "id"),
    )


class DocumentRevision(HasPublicId, Base):
    """
    A revision, with the number as printed on it (REQ-NUM-06).

    :param current_corr_key: computed; unique: one current revision
    :param withdrawn_at: a later revision may reuse the label of a withdrawn draft
    """

    __tablename__ = "correspondence_revisions"

    id: Mapped[int] = mapped_column(primary_key=True)
    correspondence_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"))
    correspondence_number: Mapped[str] = mapped_column(Code(255))
    number_sort: Mapped[str] = sort_key_of("correspondence_number")
    revision_number: Mapped[int]
    revision_label: Mapped[str] = mapped_column(Code(10))
    is_current: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    current_corr_key: Mapped[int | None] = mapped_column(
        sa.Integer, sa.Computed("CASE WHEN is_current = 1 THEN correspondence_id END", persisted=True)
    )
    correspondence_status_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_status.id"))
    subject: Mapped[str] = mapped_column(sa.String(500))
    description: Mapped[str | None] = mapped_column(sa.Text)
    body: Mapped[str | None] = mapped_column(sa.Text)
    remarks: Mapped[str | None] = mapped_column(sa.Text)
    priority: Mapped[str] = mapped_column(priority_type(), default="MEDIUM", server_default="MEDIUM")
    document_date: Mapped[date | None]
    issued_date: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    received_date: Mapped[datetime | None]
    sender_number: Mapped[str | None] = mapped_column(Code(255))
    sender_number_key: Mapped[str | None] = mapped_column(Code(255))
    sender_date: Mapped[date | None]
    due_date: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    created_by: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    details: Mapped[dict[str, Json] | None] = mapped_column(sa.JSON(none_as_null=True))
    schema_version: Mapped[int] = mapped_column(default=1, server_default="1")
    version: Mapped[int] = mapped_column(default=1, server_default="1")

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("correspondence_id", "revision_number", name="uq_master_revision_number"),
        sa.UniqueConstraint("current_corr_key", name="uq_master_current_active"),
        sa.Index("idx_corr_rev_current", "correspondence_id", "is_current"),
        sa.Index("idx_corr_revisions_status_current", "correspondence_status_id", "is_current"),
        sa.Index("idx_corr_revisions_number", "correspondence_number"),
        sa.Index("idx_corr_revisions_sender", "sender_number_key"),
    )


class DocumentRecipient(Base):
    """The TO with the lowest position is the main recipient (REQ-NUM-31)."""

    __tablename__ = "correspondence_recipients"

    correspondence_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"), primary_key=True)
    recipient_organization_id: Mapped[int] = mapped_column(sa.ForeignKey("organizations.id"), primary_key=True)
    recipient_type: Mapped[str] = mapped_column(
        sa.Enum("TO", "CC", name="recipient_type", native_enum=False, length=10), primary_key=True
    )
    position: Mapped[int] = mapped_column(default=0, server_default="0")

    __table_args__ = (sa.Index("idx_corr_recipients_organization", "recipient_organization_id"),)


class DocumentReference(Base):
    """`src` refers to `tgt`."""

    __tablename__ = "correspondence_references"

    src_correspondence_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"), primary_key=True)
    tgt_correspondence_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"), primary_key=True)

    __table_args__ = (sa.Index("idx_corr_references_target", "tgt_correspondence_id"),)


class DocumentRevisionAttachment(Base):
    __tablename__ = "correspondence_revision_attachments"

    correspondence_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("correspondence_revisions.id"), primary_key=True
    )
    attachment_id: Mapped[int] = mapped_column(sa.ForeignKey("attachments.id"), primary_key=True)
    is_main_document: Mapped[bool] = mapped_column(default=False, server_default=sa.false())

    __table_args__ = (sa.Index("idx_corr_rev_att_attachment", "attachment_id"),)


class DocumentReach(Base):
    """
    A document in the register of one reader. Grants are checked when a register is read.

    :param document_id: key of the document or sheet, as `kind` tells: no foreign key
    :param revision_id: of the visible revision; 0 for a sheet
    :param is_draft: the visible revision was never issued
    :param behind: a newer draft is hidden from this reader
    :param status: key of the status, or position of a sheet's status
    """

    __tablename__ = "document_reach"

    project_id: Mapped[int] = mapped_column(primary_key=True)
    reader_kind: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    reader_id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[int] = mapped_column(sa.SmallInteger, primary_key=True)
    created_at: Mapped[datetime] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(primary_key=True)
    revision_id: Mapped[int]
    is_draft: Mapped[bool]
    behind: Mapped[bool]
    is_open: Mapped[bool]
    status: Mapped[int] = mapped_column(sa.SmallInteger)
    type_id: Mapped[int]
    discipline_id: Mapped[int]
    contract_id: Mapped[int]
    originator_id: Mapped[int]
    author_id: Mapped[int]
    document_date: Mapped[date]
    due_date: Mapped[datetime]
    document_number: Mapped[str] = mapped_column(Code(255))
    number_sort: Mapped[str] = mapped_column(Code(MOST_KEY), server_default="")

    __table_args__ = (
        sa.Index("ix_reach_status", *_KEY, "status", *_NEWEST),
        sa.Index("ix_reach_type", *_KEY, "type_id", *_NEWEST),
        sa.Index("ix_reach_discipline", *_KEY, "discipline_id", *_NEWEST),
        sa.Index("ix_reach_due", *_KEY, "is_open", "due_date", *_NEWEST),
        sa.Index("ix_reach_date", *_KEY, "document_date", *_NEWEST),
        sa.Index("ix_reach_number", *_KEY, "number_sort", *_NEWEST),
        # Not unique: deleting from a unique index and inserting again would lock neighbouring rows.
        sa.Index("ix_reach_document", "document_id", "kind"),
        {"sqlite_with_rowid": False},
    )
