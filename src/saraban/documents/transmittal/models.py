"""Tables of transmittals, which share key and public id with the document (REQ-IDN-03)."""

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.documents.drawing.models import CarriedDrawing, carried_once
from saraban.kit.db import Base, Code

PURPOSES = ("FOR_APPROVAL", "FOR_INFORMATION", "FOR_REVIEW", "OTHER")


class Transmittal(Base):
    __tablename__ = "transmittals"

    correspondence_id: Mapped[int] = mapped_column(
        sa.ForeignKey("correspondences.id"), primary_key=True, autoincrement=False
    )
    purpose: Mapped[str | None] = mapped_column(
        sa.Enum(*PURPOSES, name="transmittal_purpose", native_enum=False, length=20)
    )
    remarks: Mapped[str | None] = mapped_column(sa.Text)


class TransmittalItem(Base):
    """Number, revision and subject are saved when the transmittal's revision is issued."""

    __tablename__ = "transmittal_items"

    id: Mapped[int] = mapped_column(primary_key=True)
    transmittal_id: Mapped[int] = mapped_column(sa.ForeignKey("transmittals.correspondence_id"))
    transmittal_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_revisions.id"))
    item_correspondence_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"))
    item_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey("correspondence_revisions.id"))
    quantity: Mapped[int] = mapped_column(default=1, server_default="1")
    remarks: Mapped[str | None] = mapped_column(sa.String(255))
    document_number: Mapped[str | None] = mapped_column(Code(255))
    revision_label: Mapped[str | None] = mapped_column(Code(10))
    subject: Mapped[str | None] = mapped_column(sa.String(500))

    __table_args__ = (
        sa.UniqueConstraint(
            "transmittal_id", "transmittal_revision_id", "item_correspondence_id", name="ux_transmittal_revision_item"
        ),
        sa.Index("idx_transmittal_items_document", "item_correspondence_id"),
    )


class TransmittalDrawing(CarriedDrawing):
    """Number, label and titles are saved when the transmittal's revision is issued."""

    __tablename__ = "transmittal_drawings"
    CARRIER = "transmittal_revision_id"
    WRITTEN = ("drawing_number", "revision_label", "title", "title_en")

    transmittal_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_revisions.id"))
    drawing_number: Mapped[str | None] = mapped_column(Code(255))
    revision_label: Mapped[str | None] = mapped_column(Code(10))
    title: Mapped[str | None] = mapped_column(sa.String(500))
    title_en: Mapped[str | None] = mapped_column(sa.String(500))

    __table_args__ = carried_once(__tablename__, CARRIER)
