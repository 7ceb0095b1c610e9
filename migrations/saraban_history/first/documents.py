"""The master rows of numbered documents and what each kind adds."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT, NOW, TABLE

TABLES = [
    "correspondences",
    "correspondence_revisions",
    "correspondence_recipients",
    "correspondence_references",
    "correspondence_revision_attachments",
    "rfas",
    "rfa_revisions",
    "rfa_items",
    "transmittals",
    "transmittal_items",
    "circulations",
    "circulation_routings",
    "circulation_attachments",
]


def create() -> None:
    op.create_table(
        "correspondences",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_number", sa.String(100), nullable=False),
        sa.Column("discipline_id", sa.Integer(), nullable=True),
        sa.Column("is_internal_communication", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("originator_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["correspondence_type_id"], ["correspondence_types.id"], name="fk_correspondences_correspondence_type_id"
        ),
        sa.ForeignKeyConstraint(["discipline_id"], ["disciplines.id"], name="fk_correspondences_discipline_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_correspondences_project_id"),
        sa.ForeignKeyConstraint(["originator_id"], ["organizations.id"], name="fk_correspondences_originator_id"),
        sa.ForeignKeyConstraint(["created_by"], ["users.user_id"], name="fk_correspondences_created_by"),
        sa.UniqueConstraint("project_id", "correspondence_number", name="uq_corr_no_per_project"),
        **TABLE,
    )
    op.create_index("idx_corr_number", "correspondences", ["correspondence_number"])
    op.create_index("idx_correspondences_originator", "correspondences", ["originator_id"])
    op.create_index("idx_correspondences_type_project", "correspondences", ["correspondence_type_id", "project_id"])

    op.create_table(
        "correspondence_revisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("correspondence_id", sa.Integer(), nullable=False),
        sa.Column("revision_number", sa.Integer(), nullable=False),
        sa.Column("revision_label", sa.String(10), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column(
            "current_corr_key",
            sa.Integer(),
            sa.Computed("CASE WHEN is_current = 1 THEN correspondence_id END", persisted=True),
            nullable=True,
        ),
        sa.Column("correspondence_status_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(500), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("remarks", sa.Text(), nullable=True),
        sa.Column("document_date", sa.Date(), nullable=True),
        sa.Column("issued_date", MOMENT, nullable=True),
        sa.Column("received_date", MOMENT, nullable=True),
        sa.Column("due_date", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("updated_by", sa.Integer(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=True),
        sa.Column("schema_version", sa.Integer(), nullable=False, server_default="1"),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["correspondence_id"], ["correspondences.id"], name="fk_correspondence_revisions_correspondence_id"
        ),
        sa.ForeignKeyConstraint(
            ["correspondence_status_id"],
            ["correspondence_status.id"],
            name="fk_correspondence_revisions_correspondence_status_id",
        ),
        sa.ForeignKeyConstraint(["created_by"], ["users.user_id"], name="fk_correspondence_revisions_created_by"),
        sa.ForeignKeyConstraint(["updated_by"], ["users.user_id"], name="fk_correspondence_revisions_updated_by"),
        sa.UniqueConstraint("current_corr_key", name="uq_master_current_active"),
        sa.UniqueConstraint("correspondence_id", "revision_number", name="uq_master_revision_number"),
        **TABLE,
    )
    op.create_index("idx_corr_rev_current", "correspondence_revisions", ["correspondence_id", "is_current"])
    op.create_index(
        "idx_corr_revisions_status_current", "correspondence_revisions", ["correspondence_status_id", "is_current"]
    )

    op.create_table(
        "correspondence_recipients",
        sa.Column("correspondence_id", sa.Integer(), nullable=False),
        sa.Column("recipient_organization_id", sa.Integer(), nullable=False),
        sa.Column(
            "recipient_type", sa.Enum("TO", "CC", name="recipient_type", native_enum=False, length=10), nullable=False
        ),
        sa.PrimaryKeyConstraint("correspondence_id", "recipient_organization_id", "recipient_type"),
        sa.ForeignKeyConstraint(
            ["correspondence_id"], ["correspondences.id"], name="fk_correspondence_recipients_correspondence_id"
        ),
        sa.ForeignKeyConstraint(
            ["recipient_organization_id"],
            ["organizations.id"],
            name="fk_correspondence_recipients_recipient_organization_id",
        ),
        **TABLE,
    )
    op.create_index("idx_corr_recipients_organization", "correspondence_recipients", ["recipient_organization_id"])

    op.create_table(
        "correspondence_references",
        sa.Column("src_correspondence_id", sa.Integer(), nullable=False),
        sa.Column("tgt_correspondence_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("src_correspondence_id", "tgt_correspondence_id"),
        sa.ForeignKeyConstraint(
            ["src_correspondence_id"], ["correspondences.id"], name="fk_correspondence_references_src_correspondence_id"
        ),
        sa.ForeignKeyConstraint(
            ["tgt_correspondence_id"], ["correspondences.id"], name="fk_correspondence_references_tgt_correspondence_id"
        ),
        **TABLE,
    )
    op.create_index("idx_corr_references_target", "correspondence_references", ["tgt_correspondence_id"])

    op.create_table(
        "correspondence_revision_attachments",
        sa.Column("correspondence_revision_id", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.Integer(), nullable=False),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("correspondence_revision_id", "attachment_id"),
        sa.ForeignKeyConstraint(
            ["correspondence_revision_id"],
            ["correspondence_revisions.id"],
            name="fk_correspondence_revision_attachments_revision_id",
        ),
        sa.ForeignKeyConstraint(
            ["attachment_id"], ["attachments.id"], name="fk_correspondence_revision_attachments_attachment_id"
        ),
        **TABLE,
    )
    op.create_index("idx_corr_rev_att_attachment", "correspondence_revision_attachments", ["attachment_id"])

    op.create_table(
        "rfas",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rfa_type_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("created_by", sa.Integer(), nullable=False),
        sa.Column("deleted_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["id"], ["correspondences.id"], name="fk_rfas_id"),
        sa.ForeignKeyConstraint(["rfa_type_id"], ["rfa_types.id"], name="fk_rfas_rfa_type_id"),
        sa.ForeignKeyConstraint(["created_by"], ["users.user_id"], name="fk_rfas_created_by"),
        **TABLE,
    )

    op.create_table(
        "rfa_revisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rfa_status_code_id", sa.Integer(), nullable=False),
        sa.Column("rfa_approve_code_id", sa.Integer(), nullable=True),
        sa.Column("approved_date", sa.Date(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=True),
        sa.Column("schema_version", sa.Integer(), nullable=False, server_default="1"),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["id"], ["correspondence_revisions.id"], name="fk_rfa_revisions_id"),
        sa.ForeignKeyConstraint(
            ["rfa_status_code_id"], ["rfa_status_codes.id"], name="fk_rfa_revisions_rfa_status_code_id"
        ),
        sa.ForeignKeyConstraint(
            ["rfa_approve_code_id"], ["rfa_approve_codes.id"], name="fk_rfa_revisions_rfa_approve_code_id"
        ),
        **TABLE,
    )
    op.create_index("idx_rfa_revisions_status", "rfa_revisions", ["rfa_status_code_id"])

    op.create_table(
        "rfa_items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("rfa_revision_id", sa.Integer(), nullable=False),
        sa.Column(
            "item_type", sa.Enum("SHOP", "AS_BUILT", name="rfa_item_type", native_enum=False, length=10), nullable=False
        ),
        sa.Column("shop_drawing_revision_id", sa.Integer(), nullable=True),
        sa.Column("asbuilt_drawing_revision_id", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["rfa_revision_id"], ["rfa_revisions.id"], name="fk_rfa_items_rfa_revision_id"),
        sa.ForeignKeyConstraint(
            ["shop_drawing_revision_id"], ["shop_drawing_revisions.id"], name="fk_rfa_items_shop_drawing_revision_id"
        ),
        sa.ForeignKeyConstraint(
            ["asbuilt_drawing_revision_id"],
            ["asbuilt_drawing_revisions.id"],
            name="fk_rfa_items_asbuilt_drawing_revision_id",
        ),
        sa.UniqueConstraint("rfa_revision_id", "asbuilt_drawing_revision_id", name="uq_rfa_items_asbuilt"),
        sa.UniqueConstraint("rfa_revision_id", "shop_drawing_revision_id", name="uq_rfa_items_shop"),
        **TABLE,
    )
    op.create_index("idx_rfa_items_asbuilt", "rfa_items", ["asbuilt_drawing_revision_id"])
    op.create_index("idx_rfa_items_shop", "rfa_items", ["shop_drawing_revision_id"])

    op.create_table(
        "transmittals",
        sa.Column("correspondence_id", sa.Integer(), nullable=False),
        sa.Column(
            "purpose",
            sa.Enum(
                "FOR_APPROVAL",
                "FOR_INFORMATION",
                "FOR_REVIEW",
                "OTHER",
                name="transmittal_purpose",
                native_enum=False,
                length=20,
            ),
            nullable=True,
        ),
        sa.Column("remarks", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("correspondence_id"),
        sa.ForeignKeyConstraint(
            ["correspondence_id"], ["correspondences.id"], name="fk_transmittals_correspondence_id"
        ),
        **TABLE,
    )

    op.create_table(
        "transmittal_items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("transmittal_id", sa.Integer(), nullable=False),
        sa.Column("item_correspondence_id", sa.Integer(), nullable=False),
        sa.Column("quantity", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("remarks", sa.String(255), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["transmittal_id"], ["transmittals.correspondence_id"], name="fk_transmittal_items_transmittal_id"
        ),
        sa.ForeignKeyConstraint(
            ["item_correspondence_id"], ["correspondences.id"], name="fk_transmittal_items_item_correspondence_id"
        ),
        sa.UniqueConstraint("transmittal_id", "item_correspondence_id", name="ux_transmittal_item"),
        **TABLE,
    )
    op.create_index("idx_transmittal_items_document", "transmittal_items", ["item_correspondence_id"])

    op.create_table(
        "circulations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("correspondence_id", sa.Integer(), nullable=True),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.Column("circulation_no", sa.String(100), nullable=False),
        sa.Column("circulation_subject", sa.String(500), nullable=False),
        sa.Column("circulation_status_code", sa.String(20), nullable=False),
        sa.Column("created_by_user_id", sa.Integer(), nullable=False),
        sa.Column("submitted_at", MOMENT, nullable=True),
        sa.Column("closed_at", MOMENT, nullable=True),
        sa.Column("deadline_date", sa.Date(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["correspondence_id"], ["correspondences.id"], name="fk_circulations_correspondence_id"
        ),
        sa.ForeignKeyConstraint(["organization_id"], ["organizations.id"], name="fk_circulations_organization_id"),
        sa.ForeignKeyConstraint(
            ["circulation_status_code"],
            ["circulation_status_codes.code"],
            name="fk_circulations_circulation_status_code",
        ),
        sa.ForeignKeyConstraint(["created_by_user_id"], ["users.user_id"], name="fk_circulations_created_by_user_id"),
        sa.UniqueConstraint("correspondence_id", name="uq_circulations_correspondence_id"),
        **TABLE,
    )
    op.create_index("idx_circulations_deadline", "circulations", ["deadline_date"])
    op.create_index("idx_circulations_organization", "circulations", ["organization_id"])

    op.create_table(
        "circulation_routings",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("circulation_id", sa.Integer(), nullable=False),
        sa.Column("step_number", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=False),
        sa.Column("assigned_to", sa.Integer(), nullable=True),
        sa.Column(
            "status",
            sa.Enum(
                "PENDING", "IN_PROGRESS", "COMPLETED", "REJECTED", name="routing_status", native_enum=False, length=20
            ),
            nullable=False,
            server_default="PENDING",
        ),
        sa.Column("comments", sa.Text(), nullable=True),
        sa.Column("completed_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["circulation_id"], ["circulations.id"], name="fk_circulation_routings_circulation_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_circulation_routings_organization_id"
        ),
        sa.ForeignKeyConstraint(["assigned_to"], ["users.user_id"], name="fk_circulation_routings_assigned_to"),
        **TABLE,
    )
    op.create_index("idx_circulation_routing_assignee", "circulation_routings", ["assigned_to", "status"])
    op.create_index("idx_circulation_routing_circulation", "circulation_routings", ["circulation_id"])

    op.create_table(
        "circulation_attachments",
        sa.Column("circulation_id", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.Integer(), nullable=False),
        sa.Column("is_main_document", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.PrimaryKeyConstraint("circulation_id", "attachment_id"),
        sa.ForeignKeyConstraint(
            ["circulation_id"], ["circulations.id"], name="fk_circulation_attachments_circulation_id"
        ),
        sa.ForeignKeyConstraint(["attachment_id"], ["attachments.id"], name="fk_circulation_attachments_attachment_id"),
        **TABLE,
    )
    op.create_index("idx_circulation_att_attachment", "circulation_attachments", ["attachment_id"])
