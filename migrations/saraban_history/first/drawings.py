"""The drawing registers and their categories."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT, NOW, TABLE

TABLES = [
    "contract_drawing_volumes",
    "contract_drawing_cats",
    "contract_drawing_sub_cats",
    "contract_drawing_subcat_cat_maps",
    "contract_drawings",
    "contract_drawing_attachments",
    "shop_drawing_main_categories",
    "shop_drawing_sub_categories",
    "shop_drawings",
    "shop_drawing_revisions",
    "shop_drawing_revision_attachments",
    "shop_drawing_revision_contract_refs",
    "asbuilt_drawings",
    "asbuilt_drawing_revisions",
    "asbuilt_drawing_revision_attachments",
    "asbuilt_revision_shop_revisions_refs",
]


def create() -> None:
    op.create_table(
        "contract_drawing_volumes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("volume_code", sa.String(50), nullable=False),
        sa.Column("volume_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contract_drawing_volumes_project_id"),
        sa.UniqueConstraint("project_id", "volume_code", name="ux_volume_project"),
        **TABLE,
    )

    op.create_table(
        "contract_drawing_cats",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("cat_code", sa.String(50), nullable=False),
        sa.Column("cat_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contract_drawing_cats_project_id"),
        sa.UniqueConstraint("project_id", "cat_code", name="ux_cat_project"),
        **TABLE,
    )

    op.create_table(
        "contract_drawing_sub_cats",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("sub_cat_code", sa.String(50), nullable=False),
        sa.Column("sub_cat_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contract_drawing_sub_cats_project_id"),
        sa.UniqueConstraint("project_id", "sub_cat_code", name="ux_subcat_project"),
        **TABLE,
    )

    op.create_table(
        "contract_drawing_subcat_cat_maps",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("sub_cat_id", sa.Integer(), nullable=False),
        sa.Column("cat_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contract_drawing_subcat_cat_maps_project_id"),
        sa.ForeignKeyConstraint(
            ["sub_cat_id"], ["contract_drawing_sub_cats.id"], name="fk_contract_drawing_subcat_cat_maps_sub_cat_id"
        ),
        sa.ForeignKeyConstraint(
            ["cat_id"], ["contract_drawing_cats.id"], name="fk_contract_drawing_subcat_cat_maps_cat_id"
        ),
        sa.UniqueConstraint("project_id", "sub_cat_id", "cat_id", name="ux_map_unique"),
        **TABLE,
    )

    op.create_table(
        "contract_drawings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("condwg_no", sa.String(255), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("map_cat_id", sa.Integer(), nullable=True),
        sa.Column("volume_id", sa.Integer(), nullable=True),
        sa.Column("volume_page", sa.Integer(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_contract_drawings_project_id"),
        sa.ForeignKeyConstraint(
            ["map_cat_id"], ["contract_drawing_subcat_cat_maps.id"], name="fk_contract_drawings_map_cat_id"
        ),
        sa.ForeignKeyConstraint(["volume_id"], ["contract_drawing_volumes.id"], name="fk_contract_drawings_volume_id"),
        sa.UniqueConstraint("project_id", "condwg_no", name="ux_condwg_no_project"),
        **TABLE,
    )

    op.create_table(
        "contract_drawing_attachments",
        sa.Column("contract_drawing_id", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.Integer(), nullable=False),
        sa.Column(
            "file_type",
            sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10),
            nullable=True,
        ),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("contract_drawing_id", "attachment_id"),
        sa.ForeignKeyConstraint(
            ["contract_drawing_id"],
            ["contract_drawings.id"],
            name="fk_contract_drawing_attachments_contract_drawing_id",
        ),
        sa.ForeignKeyConstraint(
            ["attachment_id"], ["attachments.id"], name="fk_contract_drawing_attachments_attachment_id"
        ),
        **TABLE,
    )

    op.create_table(
        "shop_drawing_main_categories",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("main_category_code", sa.String(50), nullable=False),
        sa.Column("main_category_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_shop_drawing_main_categories_project_id"),
        sa.UniqueConstraint("main_category_code", name="uq_shop_drawing_main_categories_main_category_code"),
        **TABLE,
    )

    op.create_table(
        "shop_drawing_sub_categories",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("sub_category_code", sa.String(50), nullable=False),
        sa.Column("sub_category_name", sa.String(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("sort_order", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_shop_drawing_sub_categories_project_id"),
        sa.UniqueConstraint("sub_category_code", name="uq_shop_drawing_sub_categories_sub_category_code"),
        **TABLE,
    )

    op.create_table(
        "shop_drawings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("drawing_number", sa.String(100), nullable=False),
        sa.Column("main_category_id", sa.Integer(), nullable=False),
        sa.Column("sub_category_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_shop_drawings_project_id"),
        sa.ForeignKeyConstraint(
            ["main_category_id"], ["shop_drawing_main_categories.id"], name="fk_shop_drawings_main_category_id"
        ),
        sa.ForeignKeyConstraint(
            ["sub_category_id"], ["shop_drawing_sub_categories.id"], name="fk_shop_drawings_sub_category_id"
        ),
        sa.UniqueConstraint("project_id", "drawing_number", name="ux_shop_dwg_no_project"),
        **TABLE,
    )

    op.create_table(
        "shop_drawing_revisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("shop_drawing_id", sa.Integer(), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("revision_label", sa.String(10), nullable=True),
        sa.Column("is_current", sa.Boolean(), nullable=True),
        sa.Column("revision_date", sa.Date(), nullable=True),
        sa.Column("title", sa.String(500), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("legacy_drawing_number", sa.String(100), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["shop_drawing_id"], ["shop_drawings.id"], name="fk_shop_drawing_revisions_shop_drawing_id"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.user_id"], name="fk_shop_drawing_revisions_created_by"),
        sa.ForeignKeyConstraint(["updated_by"], ["users.user_id"], name="fk_shop_drawing_revisions_updated_by"),
        sa.UniqueConstraint("shop_drawing_id", "is_current", name="uq_sd_current"),
        sa.UniqueConstraint("shop_drawing_id", "revision_number", name="ux_sd_rev_drawing_revision"),
        **TABLE,
    )

    op.create_table(
        "shop_drawing_revision_attachments",
        sa.Column("shop_drawing_revision_id", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.Integer(), nullable=False),
        sa.Column(
            "file_type",
            sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10),
            nullable=True,
        ),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("shop_drawing_revision_id", "attachment_id"),
        sa.ForeignKeyConstraint(
            ["shop_drawing_revision_id"],
            ["shop_drawing_revisions.id"],
            name="fk_shop_drawing_revision_attachments_shop_drawing_revision_id",
        ),
        sa.ForeignKeyConstraint(
            ["attachment_id"], ["attachments.id"], name="fk_shop_drawing_revision_attachments_attachment_id"
        ),
        **TABLE,
    )

    op.create_table(
        "shop_drawing_revision_contract_refs",
        sa.Column("shop_drawing_revision_id", sa.Integer(), nullable=False),
        sa.Column("contract_drawing_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("shop_drawing_revision_id", "contract_drawing_id"),
        sa.ForeignKeyConstraint(
            ["shop_drawing_revision_id"],
            ["shop_drawing_revisions.id"],
            name="fk_shop_drawing_revision_contract_refs_shop_drawing_revision_id",
        ),
        sa.ForeignKeyConstraint(
            ["contract_drawing_id"],
            ["contract_drawings.id"],
            name="fk_shop_drawing_revision_contract_refs_contract_drawing_id",
        ),
        **TABLE,
    )

    op.create_table(
        "asbuilt_drawings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("drawing_number", sa.String(100), nullable=False),
        sa.Column("main_category_id", sa.Integer(), nullable=False),
        sa.Column("sub_category_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_asbuilt_drawings_project_id"),
        sa.ForeignKeyConstraint(
            ["main_category_id"], ["shop_drawing_main_categories.id"], name="fk_asbuilt_drawings_main_category_id"
        ),
        sa.ForeignKeyConstraint(
            ["sub_category_id"], ["shop_drawing_sub_categories.id"], name="fk_asbuilt_drawings_sub_category_id"
        ),
        sa.UniqueConstraint("project_id", "drawing_number", name="ux_asbuilt_no_project"),
        **TABLE,
    )

    op.create_table(
        "asbuilt_drawing_revisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("asbuilt_drawing_id", sa.Integer(), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("revision_label", sa.String(10), nullable=True),
        sa.Column("is_current", sa.Boolean(), nullable=True),
        sa.Column("revision_date", sa.Date(), nullable=True),
        sa.Column("title", sa.String(500), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("legacy_drawing_number", sa.String(100), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), nullable=True),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["asbuilt_drawing_id"], ["asbuilt_drawings.id"], name="fk_asbuilt_drawing_revisions_asbuilt_drawing_id"
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.user_id"], name="fk_asbuilt_drawing_revisions_created_by"),
        sa.ForeignKeyConstraint(["updated_by"], ["users.user_id"], name="fk_asbuilt_drawing_revisions_updated_by"),
        sa.UniqueConstraint("asbuilt_drawing_id", "is_current", name="uq_asbuilt_current"),
        sa.UniqueConstraint("asbuilt_drawing_id", "revision_number", name="ux_asbuilt_rev_drawing_revision"),
        **TABLE,
    )

    op.create_table(
        "asbuilt_drawing_revision_attachments",
        sa.Column("asbuilt_drawing_revision_id", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.Integer(), nullable=False),
        sa.Column(
            "file_type",
            sa.Enum("PDF", "DWG", "SOURCE", "OTHER", name="drawing_file_type", native_enum=False, length=10),
            nullable=True,
        ),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("asbuilt_drawing_revision_id", "attachment_id"),
        sa.ForeignKeyConstraint(
            ["asbuilt_drawing_revision_id"],
            ["asbuilt_drawing_revisions.id"],
            name="fk_asbuilt_drawing_revision_attachments_revision_id",
        ),
        sa.ForeignKeyConstraint(
            ["attachment_id"], ["attachments.id"], name="fk_asbuilt_drawing_revision_attachments_attachment_id"
        ),
        **TABLE,
    )

    op.create_table(
        "asbuilt_revision_shop_revisions_refs",
        sa.Column("asbuilt_drawing_revision_id", sa.Integer(), nullable=False),
        sa.Column("shop_drawing_revision_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("asbuilt_drawing_revision_id", "shop_drawing_revision_id"),
        sa.ForeignKeyConstraint(
            ["asbuilt_drawing_revision_id"],
            ["asbuilt_drawing_revisions.id"],
            name="fk_asbuilt_revision_shop_revisions_refs_asbuilt_id",
        ),
        sa.ForeignKeyConstraint(
            ["shop_drawing_revision_id"],
            ["shop_drawing_revisions.id"],
            name="fk_asbuilt_revision_shop_revisions_refs_shop_drawing_revision_id",
        ),
        **TABLE,
    )
