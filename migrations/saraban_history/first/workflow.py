"""Workflow definitions, instances and histories, keyed by UUID text; and the files that document steps."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import MOMENT, NOW, TABLE

TABLES = ["workflow_definitions", "workflow_instances", "workflow_histories", "attachments"]


def create() -> None:
    op.create_table(
        "workflow_definitions",
        sa.Column("id", sa.CHAR(36), nullable=False),
        sa.Column("workflow_code", sa.String(50), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False, server_default="1"),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("dsl", sa.JSON(), nullable=False),
        sa.Column("compiled", sa.JSON(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("workflow_code", "version", name="uq_workflow_version"),
        **TABLE,
    )
    op.create_index("idx_workflow_active", "workflow_definitions", ["workflow_code", "is_active", "version"])

    op.create_table(
        "workflow_instances",
        sa.Column("id", sa.CHAR(36), nullable=False),
        sa.Column("definition_id", sa.CHAR(36), nullable=False),
        sa.Column("contract_id", sa.Integer(), nullable=True),
        sa.Column("entity_type", sa.String(50), nullable=False),
        sa.Column("entity_id", sa.String(50), nullable=False),
        sa.Column("current_state", sa.String(50), nullable=False),
        sa.Column(
            "status",
            sa.Enum("ACTIVE", "COMPLETED", "CANCELLED", "TERMINATED", name="workflow_instance_status"),
            nullable=False,
            server_default="ACTIVE",
        ),
        sa.Column("context", sa.JSON(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["definition_id"], ["workflow_definitions.id"], name="fk_wf_inst_def", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(["contract_id"], ["contracts.id"], name="fk_wf_inst_contract", ondelete="SET NULL"),
        **TABLE,
    )
    op.create_index("idx_wf_inst_contract", "workflow_instances", ["contract_id", "entity_type", "status"])
    op.create_index("idx_wf_inst_entity", "workflow_instances", ["entity_type", "entity_id"])
    op.create_index("idx_wf_inst_state", "workflow_instances", ["current_state"])

    op.create_table(
        "workflow_histories",
        sa.Column("id", sa.CHAR(36), nullable=False),
        sa.Column("instance_id", sa.CHAR(36), nullable=False),
        sa.Column("from_state", sa.String(50), nullable=False),
        sa.Column("to_state", sa.String(50), nullable=False),
        sa.Column("action", sa.String(50), nullable=False),
        sa.Column("action_by_user_id", sa.Integer(), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("metadata", sa.JSON(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["workflow_instances.id"], name="fk_wf_hist_inst", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["action_by_user_id"], ["users.user_id"], name="fk_workflow_histories_action_by_user_id"
        ),
        **TABLE,
    )
    op.create_index("idx_wf_hist_instance", "workflow_histories", ["instance_id"])
    op.create_index("idx_wf_hist_user", "workflow_histories", ["action_by_user_id"])

    op.create_table(
        "attachments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("original_filename", sa.String(255), nullable=False),
        sa.Column("stored_filename", sa.String(255), nullable=False),
        sa.Column("file_path", sa.String(500), nullable=False),
        sa.Column("mime_type", sa.String(100), nullable=False),
        sa.Column("file_size", sa.Integer(), nullable=False),
        sa.Column("is_temporary", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("temp_id", sa.String(100), nullable=True),
        sa.Column("uploaded_by_user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("checksum", sa.String(64), nullable=True),
        sa.Column("reference_date", sa.Date(), nullable=True),
        sa.Column("workflow_history_id", sa.CHAR(36), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["uploaded_by_user_id"], ["users.user_id"], name="fk_attachments_uploaded_by_user_id"),
        sa.ForeignKeyConstraint(
            ["workflow_history_id"],
            ["workflow_histories.id"],
            name="fk_attachments_workflow_history_id",
            ondelete="SET NULL",
        ),
        **TABLE,
    )
    op.create_index("idx_att_wfhist_created", "attachments", ["workflow_history_id", "created_at"])
    op.create_index("idx_attachments_reference_date", "attachments", ["reference_date"])
    op.create_index("idx_attachments_temp_cleanup", "attachments", ["is_temporary", "expires_at"])
    op.create_index("idx_attachments_temp_id", "attachments", ["temp_id"])
