"""Tables of the drawing registers."""

from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from saraban.imports.domain import ImportState
from saraban.imports.models import FileImport
from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index
from saraban.kit.keys import sort_key_of

NOW = sa.text("CURRENT_TIMESTAMP")


class Drawing(HasPublicId, Base):
    """
    :param audience_kind: with `audience_id` as `domain.audience_of` returns them
    :param number_uuid: public id of its row in the number register
    :param version: raise it with every write to the drawing or its revisions
    """

    __abstract__ = True
    number_sort: Mapped[str]

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"))
    contract_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contracts.id"))
    originator_id: Mapped[int | None] = mapped_column(sa.ForeignKey("organizations.id"))
    discipline_id: Mapped[int | None] = mapped_column(sa.ForeignKey("disciplines.id"))
    audience_kind: Mapped[int] = mapped_column(sa.SmallInteger, server_default="1")
    audience_id: Mapped[int] = mapped_column(server_default="0")
    number_uuid: Mapped[UUID | None]
    scale: Mapped[str | None] = mapped_column(sa.String(50))
    sheet_size: Mapped[str | None] = mapped_column(sa.String(20))
    zone: Mapped[str | None] = mapped_column(sa.String(100))
    version: Mapped[int] = mapped_column(default=1, server_default="1")
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    updated_at: Mapped[datetime] = mapped_column(server_default=NOW)
    deleted_at: Mapped[datetime | None]
    updated_by: Mapped[int | None]


def _indexes(table: str, number: str, unique: str) -> TableArguments:
    # `created_at` lets the register as of an early day skip later drawings without reading their rows.
    audience, order = ("project_id", "audience_kind", "audience_id"), ("number_sort", number, "created_at")
    return public_id_index(
        table,
        sa.UniqueConstraint("project_id", number, name=unique),
        sa.Index(f"ix_{table}_number", "project_id", *order),
        sa.Index(f"ix_{table}_discipline", "project_id", "discipline_id", *order),
        sa.Index(f"ix_{table}_audience", *audience, *order),
        sa.Index(f"ix_{table}_audience_discipline", *audience, "discipline_id", *order),
    )


class _NumberedDrawing(Drawing):
    __abstract__ = True

    drawing_number: Mapped[str] = mapped_column(Code(255))
    number_sort: Mapped[str] = sort_key_of("drawing_number")
    main_category_id: Mapped[int | None] = mapped_column(sa.ForeignKey("shop_drawing_main_categories.id"))
    sub_category_id: Mapped[int | None] = mapped_column(sa.ForeignKey("shop_drawing_sub_categories.id"))


class DrawingRevision(HasPublicId, Base):
    """
    :param revision_number: position in the history, from 0
    :param drawing_number: as printed, if the number prints the revision
    :param is_current: true or null: the unique constraint allows one current revision
    :param status_code: suitability code
    :param rfa_approve_code_id: of the latest RFA or workflow
    """

    __abstract__ = True

    id: Mapped[int] = mapped_column(primary_key=True)
    revision_number: Mapped[int]
    revision_label: Mapped[str | None] = mapped_column(Code(10))
    drawing_number: Mapped[str | None] = mapped_column(Code(255))
    is_current: Mapped[bool | None]
    rfa_approve_code_id: Mapped[int | None] = mapped_column(sa.ForeignKey("rfa_approve_codes.id"))
    revision_date: Mapped[date | None]
    title: Mapped[str] = mapped_column(sa.String(500))
    title_en: Mapped[str | None] = mapped_column(sa.String(500))
    description: Mapped[str | None] = mapped_column(sa.Text)
    status_code: Mapped[str | None] = mapped_column(Code(20))
    legacy_drawing_number: Mapped[str | None] = mapped_column(Code(100))
    current_from: Mapped[datetime] = mapped_column(server_default=NOW)
    current_until: Mapped[datetime | None]
    created_at: Mapped[datetime] = mapped_column(server_default=NOW)
    created_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_by: Mapped[int | None] = mapped_column(sa.ForeignKey("users.user_id"))


class DrawingFile(Base):
    __abstract__ = True

    attachment_id: Mapped[int] = mapped_column(sa.ForeignKey("attachments.id"), primary_key=True)
    file_type: Mapped[str | None] = mapped_column(
        sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10)
    )
    is_main_document: Mapped[bool] = mapped_column(default=False, server_default=sa.false())


class ContractDrawing(Drawing):
    """`title` of the current revision."""

    __tablename__ = "contract_drawings"

    condwg_no: Mapped[str] = mapped_column(Code(255))
    number_sort: Mapped[str] = sort_key_of("condwg_no")
    title: Mapped[str] = mapped_column(sa.String(255))
    map_cat_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contract_drawing_subcat_cat_maps.id"))
    volume_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contract_drawing_volumes.id"))
    volume_page: Mapped[int | None]

    __table_args__ = _indexes(__tablename__, "condwg_no", "ux_condwg_no_project")


class ContractDrawingRevision(DrawingRevision):
    __tablename__ = "contract_drawing_revisions"

    contract_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawings.id"))

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("contract_drawing_id", "revision_number", name="ux_cd_rev_drawing_revision"),
        sa.UniqueConstraint("contract_drawing_id", "is_current", name="uq_cd_current"),
    )


class ContractDrawingRevisionAttachment(DrawingFile):
    __tablename__ = "contract_drawing_revision_attachments"

    contract_drawing_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("contract_drawing_revisions.id"), primary_key=True
    )


class ShopDrawing(_NumberedDrawing):
    __tablename__ = "shop_drawings"

    __table_args__ = _indexes(__tablename__, "drawing_number", "ux_shop_dwg_no_project")


class ShopDrawingRevision(DrawingRevision):
    __tablename__ = "shop_drawing_revisions"

    shop_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawings.id"))

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("shop_drawing_id", "revision_number", name="ux_sd_rev_drawing_revision"),
        sa.UniqueConstraint("shop_drawing_id", "is_current", name="uq_sd_current"),
    )


class ShopDrawingRevisionAttachment(DrawingFile):
    __tablename__ = "shop_drawing_revision_attachments"

    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)


class ShopDrawingRevisionContractRef(Base):
    __tablename__ = "shop_drawing_revision_contract_refs"

    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)
    contract_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawings.id"), primary_key=True)


class AsbuiltDrawing(_NumberedDrawing):
    __tablename__ = "asbuilt_drawings"

    __table_args__ = _indexes(__tablename__, "drawing_number", "ux_asbuilt_no_project")


class AsbuiltDrawingRevision(DrawingRevision):
    __tablename__ = "asbuilt_drawing_revisions"

    asbuilt_drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("asbuilt_drawings.id"))

    __table_args__ = public_id_index(
        __tablename__,
        sa.UniqueConstraint("asbuilt_drawing_id", "revision_number", name="ux_asbuilt_rev_drawing_revision"),
        sa.UniqueConstraint("asbuilt_drawing_id", "is_current", name="uq_asbuilt_current"),
    )


class AsbuiltDrawingRevisionAttachment(DrawingFile):
    __tablename__ = "asbuilt_drawing_revision_attachments"

    asbuilt_drawing_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("asbuilt_drawing_revisions.id"), primary_key=True
    )


class AsbuiltRevisionShopRevisionRef(Base):
    __tablename__ = "asbuilt_revision_shop_revisions_refs"

    asbuilt_drawing_revision_id: Mapped[int] = mapped_column(
        sa.ForeignKey("asbuilt_drawing_revisions.id"), primary_key=True
    )
    shop_drawing_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"), primary_key=True)


class DrawingTag(Base):
    __abstract__ = True

    tag_id: Mapped[int] = mapped_column(sa.ForeignKey("tags.id"), primary_key=True)


class ContractDrawingTag(DrawingTag):
    __tablename__ = "contract_drawing_tags"

    drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("contract_drawings.id"), primary_key=True)

    __table_args__ = (sa.Index("idx_contract_drawing_tags_tag", "tag_id"),)


class ShopDrawingTag(DrawingTag):
    __tablename__ = "shop_drawing_tags"

    drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("shop_drawings.id"), primary_key=True)

    __table_args__ = (sa.Index("idx_shop_drawing_tags_tag", "tag_id"),)


class AsbuiltDrawingTag(DrawingTag):
    __tablename__ = "asbuilt_drawing_tags"

    drawing_id: Mapped[int] = mapped_column(sa.ForeignKey("asbuilt_drawings.id"), primary_key=True)

    __table_args__ = (sa.Index("idx_asbuilt_drawing_tags_tag", "tag_id"),)


class CarriedDrawing(Base):
    """
    Exactly one of the three columns is set.

    :param CARRIER: column of the document
    :param WRITTEN: columns of number, label, title and English title as sent
    """

    __abstract__ = True

    CARRIER: ClassVar[str]
    WRITTEN: ClassVar[tuple[str, ...]] = ()

    id: Mapped[int] = mapped_column(primary_key=True)
    contract_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey("contract_drawing_revisions.id"))
    shop_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey("shop_drawing_revisions.id"))
    asbuilt_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey("asbuilt_drawing_revisions.id"))


def carried_once(table: str, carrier: str) -> TableArguments:
    columns = {kind: f"{kind}_drawing_revision_id" for kind in ("contract", "shop", "asbuilt")}
    return (
        *(sa.UniqueConstraint(carrier, column, name=f"uq_{table}_{kind}") for kind, column in columns.items()),
        *(sa.Index(f"idx_{table}_{kind}", column) for kind, column in columns.items()),
    )


class DrawingImport(FileImport):
    """
    :param contract: default code for lines without one, like `originator`
    :param creates_missing: create missing volumes, categories and pairs
    """

    __tablename__ = "drawing_imports"
    __table_args__ = public_id_index(
        "drawing_imports",
        sa.Index("idx_drawing_imports_project", "project_id", "created_at"),
        sa.CheckConstraint("state IN (" + ", ".join(f"'{state}'" for state in ImportState) + ")", name="state"),
    )
    entity = "drawing_import"

    kind: Mapped[str] = mapped_column(sa.String(10))
    contract: Mapped[str | None] = mapped_column(sa.String(50))
    originator: Mapped[str | None] = mapped_column(sa.String(50))
    creates_missing: Mapped[bool] = mapped_column(default=False, server_default=sa.false())


class RfaItemClaim(Base):
    """The unique keys allow a revision in one open RFA at a time (EC-RFA-001)."""

    __tablename__ = "rfa_item_claims"

    id: Mapped[int] = mapped_column(primary_key=True)
    rfa_revision_id: Mapped[int] = mapped_column(sa.ForeignKey("rfa_revisions.id"))
    shop_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey(ShopDrawingRevision.id))
    asbuilt_drawing_revision_id: Mapped[int | None] = mapped_column(sa.ForeignKey(AsbuiltDrawingRevision.id))

    __table_args__ = (
        sa.UniqueConstraint("shop_drawing_revision_id", name="uq_rfa_item_claims_shop"),
        sa.UniqueConstraint("asbuilt_drawing_revision_id", name="uq_rfa_item_claims_asbuilt"),
        sa.Index("idx_rfa_item_claims_rfa", "rfa_revision_id"),
    )
