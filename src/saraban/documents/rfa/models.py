"""Tables of RFAs, whose rows share keys and public ids with the document's (REQ-IDN-03)."""

from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.documents.drawing.models import AsbuiltDrawingRevision, ShopDrawingRevision
from saraban.kit.db import Base

NOW = sa.text("CURRENT_TIMESTAMP")


class Rfa(Base):
    __tablename__ = "rfas"

    id: Mapped[int] = mapped_column(sa.ForeignKey("correspondences.id"), primary_key=True, autoincrement=False)
    rfa_type_id: Mapped[int] = mapped_column(sa.ForeignKey("rfa_types.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    created_by: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    deleted_at: Mapped[datetime | None]


class RfaRevision(Base):
    __tablename__ = "rfa_revisions"

    id: Mapped[int] = mapped_column(sa.ForeignKey("correspondence_revisions.id"), primary_key=True, autoincrement=False)
    rfa_status_code_id: Mapped[int] = mapped_column(sa.ForeignKey("rfa_status_codes.id"))
    rfa_approve_code_id: Mapped[int | None] = mapped_column(sa.ForeignKey("rfa_approve_codes.id"))
    approved_date: Mapped[date | None]
    details: Mapped[dict[str, Any] | None] = mapped_column(sa.JSON(none_as_null=True))
    schema_version: Mapped[int] = mapped_column(default=1, server_default="1")

    __table_args__ = (sa.Index("idx_rfa_revisions_status", "rfa_status_code_id"),)


class RfaItem(Base):
    """One of the three revision columns is set, as `item_type` tells."""

    __tablename__ = "rfa_items"

    id: Mapped[int] = mapped_column(primary_key=True)
    rfa_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("rfa_revisions.id"))
    item_type: Mapped[str] = mapped_column(
        sa.Enum("SHOP", "AS_BUILT", "DOCUMENT", name="rfa_item_type", native_enum=False, length=10)
    )
    shop_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey(ShopDrawingRevision.id))
    asbuilt_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey(AsbuiltDrawingRevision.id))
    document_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey("correspondence_revisions.id"))
    rfa_approve_code_id: Mapped[int | None] = mapped_column(sa.ForeignKey("rfa_approve_codes.id"))
    comment: Mapped[str | None] = mapped_column(sa.String(500))

    __table_args__ = (
        sa.UniqueConstraint("rfa_revision_id", "shop_drawing_revision_id", name="uq_rfa_items_shop"),
        sa.UniqueConstraint("rfa_revision_id", "asbuilt_drawing_revision_id", name="uq_rfa_items_asbuilt"),
        sa.UniqueConstraint("rfa_revision_id", "document_revision_id", name="uq_rfa_items_document"),
        sa.Index("idx_rfa_items_shop", "shop_drawing_revision_id"),
        sa.Index("idx_rfa_items_asbuilt", "asbuilt_drawing_revision_id"),
        sa.Index("idx_rfa_items_document", "document_revision_id"),
    )
