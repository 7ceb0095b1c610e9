"""The numbering tables after the change. Foreign keys have names of their own: the older ones still hold theirs."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import BIG, MOMENT, TABLE, code, on_sqlite


def public_id() -> sa.Column:
    return sa.Column("uuid", sa.Uuid(), nullable=False, server_default=None if on_sqlite() else sa.text("UUID()"))


def formats() -> sa.Table:
    return op.create_table(
        "document_number_formats",
        sa.Column("id", sa.Integer(), nullable=False),
        public_id(),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=True),
        sa.Column("type_key", sa.Integer(), sa.Computed("coalesce(correspondence_type_id, 0)", persisted=True)),
        sa.Column("format_template", code(255), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("reset_sequence_yearly", sa.Boolean(), nullable=False),
        sa.Column("overflow", sa.String(10), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_docnum_formats_project"),
        sa.ForeignKeyConstraint(["correspondence_type_id"], ["correspondence_types.id"], name="fk_docnum_formats_type"),
        **TABLE,
    )


def counters() -> sa.Table:
    return op.create_table(
        "document_number_counters",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("series", code(255), nullable=False),
        sa.Column("range", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("originator_organization_id", sa.Integer(), nullable=False),
        sa.Column("recipient_organization_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("sub_type_id", sa.Integer(), nullable=False),
        sa.Column("rfa_type_id", sa.Integer(), nullable=False),
        sa.Column("discipline_id", sa.Integer(), nullable=False),
        sa.Column("current_year", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "series", "range"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_docnum_counters_project"),
        sa.CheckConstraint("last_number >= 0", name="ck_document_number_counters_last_number"),
        **TABLE,
    )


def entries() -> sa.Table:
    return op.create_table(
        "document_number_reservations",
        sa.Column("id", BIG, nullable=False),
        public_id(),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("correspondence_type_id", sa.Integer(), nullable=False),
        sa.Column("originator_organization_id", sa.Integer(), nullable=False),
        sa.Column("recipient_organization_id", sa.Integer(), nullable=False),
        sa.Column("series", code(255), nullable=False),
        sa.Column("range", sa.Integer(), nullable=False),
        sa.Column("sequence_number", sa.Integer(), nullable=False),
        sa.Column("base_number", code(255), nullable=False),
        sa.Column("document_number", code(255), nullable=False),
        sa.Column("revision_label", sa.String(10), nullable=False),
        sa.Column("document_number_status", sa.String(20), nullable=False),
        sa.Column("holder_kind", sa.String(40), nullable=True),
        sa.Column("holder_public_id", sa.Uuid(), nullable=True),
        sa.Column("format_template", code(255), nullable=False),
        sa.Column("format_values", sa.JSON(), nullable=False),
        sa.Column("issue_year", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("reason", sa.String(500), nullable=True),
        sa.Column("reserved_at", MOMENT, nullable=True),
        sa.Column("expires_at", MOMENT, nullable=True),
        sa.Column("confirmed_at", MOMENT, nullable=True),
        sa.Column("cancelled_at", MOMENT, nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_docnum_ledger_project"),
        sa.ForeignKeyConstraint(["correspondence_type_id"], ["correspondence_types.id"], name="fk_docnum_ledger_type"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_docnum_ledger_user"),
        **TABLE,
    )


def renderings() -> sa.Table:
    return op.create_table(
        "document_number_renderings",
        sa.Column("id", BIG, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("reservation_id", BIG, nullable=False),
        sa.Column("document_number", code(255), nullable=False),
        sa.Column("revision_label", sa.String(10), nullable=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_docnum_rendering_project"),
        sa.ForeignKeyConstraint(
            ["reservation_id"], ["document_number_reservations.id"], name="fk_docnum_rendering_ledger"
        ),
        **TABLE,
    )


def audit() -> sa.Table:
    return op.create_table(
        "document_number_audit",
        sa.Column("id", BIG, nullable=False),
        public_id(),
        sa.Column("operation", sa.String(20), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("reservation_uuid", sa.Uuid(), nullable=True),
        sa.Column("document_number", code(255), nullable=True),
        sa.Column("document_type", sa.String(50), nullable=True),
        sa.Column("holder_public_id", sa.Uuid(), nullable=True),
        sa.Column("series", code(255), nullable=True),
        sa.Column("counter_key", sa.Text(), nullable=True),
        sa.Column("template_used", code(255), nullable=True),
        sa.Column("sequence_number", sa.Integer(), nullable=True),
        sa.Column("skipped_to", sa.Integer(), nullable=True),
        sa.Column("old_value", sa.Text(), nullable=True),
        sa.Column("new_value", sa.Text(), nullable=True),
        sa.Column("reason", sa.String(500), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("idempotency_key", code(128), nullable=True),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("lock_wait_ms", sa.Integer(), nullable=False),
        sa.Column("lock_path", sa.String(10), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_docnum_audit_user"),
        sa.CheckConstraint(
            "operation NOT IN ('GENERATE', 'RESERVE', 'REVISE') OR (document_number IS NOT NULL "
            "AND sequence_number IS NOT NULL AND template_used IS NOT NULL)",
            name="ck_document_number_audit_draw_is_complete",
        ),
        sa.CheckConstraint(
            "operation <> 'SKIP' OR skipped_to IS NOT NULL", name="ck_document_number_audit_skip_has_an_end"
        ),
        **TABLE,
    )


def errors() -> sa.Table:
    return op.create_table(
        "document_number_errors",
        sa.Column("id", BIG, nullable=False),
        public_id(),
        sa.Column("error_type", sa.String(30), nullable=False),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("context_data", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("trace_id", sa.String(32), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("resolved_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )


def indexes() -> None:
    for table in ("formats", "reservations", "audit", "errors"):
        name = f"document_number_{table}"
        op.create_index(f"idx_{name}_uuid", name, ["uuid"], unique=True)
    op.create_index("unique_format", "document_number_formats", ["project_id", "type_key"], unique=True)
    ledger = "document_number_reservations"
    op.create_index("idx_docnum_ledger_token", ledger, ["token"], unique=True)
    op.create_index("idx_docnum_ledger_base", ledger, ["project_id", "base_number"], unique=True)
    op.create_index("idx_docnum_ledger_series", ledger, ["project_id", "series", "range", "sequence_number"])
    op.create_index("idx_docnum_ledger_holder", ledger, ["holder_public_id"])
    renderings = "document_number_renderings"
    op.create_index("idx_docnum_rendering_number", renderings, ["project_id", "document_number"], unique=True)
    op.create_index("idx_docnum_rendering_ledger", renderings, ["reservation_id"])
    op.create_index("idx_audit_number", "document_number_audit", ["document_number"])
    op.create_index("idx_audit_user", "document_number_audit", ["user_id", "created_at"])
    op.create_index("idx_audit_created", "document_number_audit", ["created_at"])
    op.create_index("idx_audit_reservation", "document_number_audit", ["reservation_uuid"])
    op.create_index("idx_docnum_errors_created", "document_number_errors", ["created_at"])
