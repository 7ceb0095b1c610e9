"""
Rows of the drawing registers: contract drawings, shop drawings, as-built drawings; their categories are master data of `projects`.

`is_current` is true or null, never false: the unique constraint over it lets one revision be current on both databases.
"""

from datetime import date, datetime

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, public_id_index

NOW = sa.text("CURRENT_TIMESTAMP")


class _Stamped:
    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)


class _NumberedDrawing(_Stamped, HasPublicId):
    drawing_number: Mapped[str] = mapped_column(Code(255))
    main_category_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_main_categories.id"))
    sub_category_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_sub_categories.id"))
    deleted_at: Mapped[datetime | None]
    updated_by: Mapped[int | None]


class _DrawingRevision(HasPublicId):
    id: Mapped[int] = mapped_column(primary_key=True)
    revision_number: Mapped[int]
    revision_label: Mapped[str | None] = mapped_column(Code(10))
    is_current: Mapped[bool | None]
    revision_date: Mapped[date | None]
    title: Mapped[str] = mapped_column(sa.String(500))
    description: Mapped[str | None] = mapped_column(sa.Text)
    legacy_drawing_number: Mapped[str | None] = mapped_column(Code(100))
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    created_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))


class _DrawingFile:
    attachment_id: Mapped[int] = mapped_column(sa.ForeignKey("attachments.id"), primary_key=True)
    file_type: Mapped[str | None] = mapped_column(
        sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10)
    )
    is_main_document: Mapped[bool] = mapped_column(default=False, server_default=sa.false())


class ContractDrawing(_Stamped, HasPublicId, Base):
    __tablename__ = "contract_drawings"

    condwg_no: Mapped[str] = mapped_column(Code(255))
    title: Mapped[str] = mapped_column(sa.String(255))
    map_cat_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contract_drawing_subcat_cat_maps.id"))
    volume_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contract_drawing_volumes.id"))
    volume_page: Mapped[int | None]
    deleted_at: Mapped[datetime | None]
    updated_by: Mapped[int | None]

    __table_args__ = public_id_index(
        __tablename__, sa.UniqueConstraint("project_id", "condwg_no", name="ux_condwg_no_project")
    )


class ContractDrawingAttachment(_DrawingFile, Base):
    __tablename__ = "contract_drawing_attachments"

    contract_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawings.id"), primary_key=True)


class ShopDrawing(_NumberedDrawing, Base):
    __tablename__ = "shop_drawings"

    __table_args__ = public_id_index(
        __tablename__, sa.UniqueConstraint("project_id", "drawing_number", name="ux_shop_dwg_no_project")
    )


class ShopDrawingRevision(_DrawingRevision, Base):
    __tablename__ = "shop_drawing_revisions"

    shop_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawings.id"))

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("shop_drawing_id", "revision_number", name="ux_sd_rev_drawing_revision"),
        sa.UniqueConstraint("shop_drawing_id", "is_current", name="uq_sd_current"),
    )


class ShopDrawingRevisionAttachment(_DrawingFile, Base):
    __tablename__ = "shop_drawing_revision_attachments"

    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)


class ShopDrawingRevisionContractRef(Base):
    """The contract drawing that a shop drawing revision was drawn from."""

    __tablename__ = "shop_drawing_revision_contract_refs"

    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)
    contract_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawings.id"), primary_key=True)


class AsbuiltDrawing(_NumberedDrawing, Base):
    __tablename__ = "asbuilt_drawings"

    __table_args__ = public_id_index(
        __tablename__, sa.UniqueConstraint("project_id", "drawing_number", name="ux_asbuilt_no_project")
    )


class AsbuiltDrawingRevision(_DrawingRevision, Base):
    __tablename__ = "asbuilt_drawing_revisions"

    asbuilt_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("asbuilt_drawings.id"))

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("asbuilt_drawing_id", "revision_number", name="ux_asbuilt_rev_drawing_revision"),
        sa.UniqueConstraint("asbuilt_drawing_id", "is_current", name="uq_asbuilt_current"),
    )


class AsbuiltDrawingRevisionAttachment(_DrawingFile, Base):
    __tablename__ = "asbuilt_drawing_revision_attachments"

    asbuilt_drawing_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("asbuilt_drawing_revisions.id"), primary_key=True
    )


class AsbuiltRevisionShopRevisionRef(Base):
    """The shop drawing revision that an as-built revision records."""

    __tablename__ = "asbuilt_revision_shop_revisions_refs"

    asbuilt_drawing_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("asbuilt_drawing_revisions.id"), primary_key=True
    )
    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)
