"""Formats, counters with the eight-column key, reservations, audit and errors, as they were before the ledger."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import BIG, MOMENT, NOW, TABLE

TABLES = [
    "document_number_formats",
    "document_number_counters",
    "document_number_reservations",
    "document_number_audit",
    "document_number_errors",
]
STATUSES = ("RESERVED", "CONFIRMED", "CANCELLED", "VOID")


def create() -> None:
    _formats()
    _counters()
    _reservations()
    _audit()
    _errors()


def _formats() -> None:
    op.create_table(
        "document_number_formats",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=True),
        sa.Column("format_template", sa.String(100), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("reset_sequence_yearly", sa.Boolean(), nullable=False, server_default=sa.true()),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_document_number_formats_project_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["correspondence_type_id"],
            ["correspondence_types.id"],
            name="fk_document_number_formats_correspondence_type_id",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("project_id", "correspondence_type_id", name="unique_format"),
        **TABLE,
    )


def _counters() -> None:
    op.create_table(
        "document_number_counters",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("originator_organization_id", sa.Integer(), nullable=False),
        sa.Column("recipient_organization_id", sa.Integer(), nullable=False, server_default="-1"),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("sub_type_id", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("rfa_type_id", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("discipline_id", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("current_year", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("version", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("updated_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint(
            "project_id",
            "originator_organization_id",
            "recipient_organization_id",
            "correspondence_type_id",
            "sub_type_id",
            "rfa_type_id",
            "discipline_id",
            "current_year",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_document_number_counters_project_id", ondelete="CASCADE"
        ),
        **TABLE,
    )


def _reservations() -> None:
    op.create_table(
        "document_number_reservations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(36), nullable=False),
        sa.Column("document_number", sa.String(100), nullable=False),
        sa.Column(
            "document_number_status",
            sa.Enum(*STATUSES, name="document_number_status", native_enum=False, length=20),
            nullable=False,
            server_default="RESERVED",
        ),
        sa.Column("document_id", sa.Integer(), nullable=True),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("originator_organization_id", sa.Integer(), nullable=False),
        sa.Column("recipient_organization_id", sa.Integer(), nullable=True, server_default="0"),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("reserved_at", MOMENT, nullable=True, server_default=NOW),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("confirmed_at", MOMENT, nullable=True),
        sa.Column("cancelled_at", MOMENT, nullable=True),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("user_agent", sa.Text(), nullable=True),
        sa.Column("metadata", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["correspondence_revisions.id"],
            name="fk_document_number_reservations_document_id",
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_document_number_reservations_project_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["correspondence_type_id"],
            ["correspondence_types.id"],
            name="fk_document_number_reservations_correspondence_type_id",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.user_id"], name="fk_document_number_reservations_user_id", ondelete="CASCADE"
        ),
        sa.UniqueConstraint("token", name="uq_document_number_reservations_token"),
        sa.UniqueConstraint("document_number", name="uq_document_number_reservations_document_number"),
        **TABLE,
    )
    op.create_index("idx_status_expires", "document_number_reservations", ["document_number_status", "expires_at"])


def _audit() -> None:
    op.create_table(
        "document_number_audit",
        sa.Column("id", BIG, nullable=False),
        sa.Column("document_id", sa.Integer(), nullable=True),
        sa.Column("generated_number", sa.String(255), nullable=False),
        sa.Column("counter_key", sa.String(500), nullable=False),
        sa.Column("template_used", sa.String(255), nullable=False),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("retry_count", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("lock_wait_ms", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_document_number_audit_user_id"),
        sa.ForeignKeyConstraint(
            ["document_id"], ["correspondences.id"], name="fk_document_number_audit_document_id", ondelete="CASCADE"
        ),
        **TABLE,
    )
    op.create_index("idx_audit_number", "document_number_audit", ["generated_number"])
    op.create_index("idx_audit_user", "document_number_audit", ["user_id", "created_at"])
    op.create_index("idx_audit_created", "document_number_audit", ["created_at"])


def _errors() -> None:
    op.create_table(
        "document_number_errors",
        sa.Column("id", BIG, nullable=False),
        sa.Column("error_type", sa.String(30), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("stack_trace", sa.Text(), nullable=True),
        sa.Column("context_data", sa.JSON(), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        sa.Column("resolved_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    op.create_index("idx_error_type", "document_number_errors", ["error_type"])
    op.create_index("idx_unresolved", "document_number_errors", ["resolved_at"])
