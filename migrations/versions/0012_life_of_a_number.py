"""
The whole life of a number: where it came from, what voided and replaced it, and the ranges a series steps over.

What is in the ledger was drawn, or taken over from the first schema, which its token does not tell apart: all are DRAW.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, TABLE, code
from saraban_history.rebuild import changing

revision = "0012"
down_revision = "0011"

CHECKS = ("ck_document_number_reservations_status", "ck_document_number_reservations_source")
STATES = "document_number_status IN ('RESERVED', 'CONFIRMED', 'CANCELLED', 'EXPIRED', 'VOID')"


def upgrade() -> None:
    with changing("document_number_counters") as batch:
        batch.add_column(sa.Column("range_count", sa.Integer(), nullable=False, server_default="0"))
    with changing("document_number_reservations") as batch:
        batch.add_column(sa.Column("source", sa.String(10), nullable=False, server_default="DRAW"))
        batch.add_column(sa.Column("voided_at", MOMENT, nullable=True))
        batch.add_column(sa.Column("replaces_uuid", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("replaced_by_uuid", sa.Uuid(), nullable=True))
        batch.create_check_constraint("ck_document_number_reservations_status", STATES)
        batch.create_check_constraint("ck_document_number_reservations_source", "source IN ('DRAW', 'OVERRIDE', 'IMPORT', 'MIGRATED')")
        batch.drop_index("idx_docnum_ledger_holder")
        batch.create_index("idx_docnum_ledger_holder", ["holder_public_id", "document_number_status", "expires_at"])
    with changing("document_number_audit") as batch:
        batch.add_column(sa.Column("format_uuid", sa.Uuid(), nullable=True))
        batch.create_index("idx_audit_format", ["format_uuid"])
    op.execute(
        "UPDATE document_number_audit SET format_uuid = (SELECT f.uuid FROM document_number_formats f "
        "LEFT JOIN correspondence_types t ON t.id = f.correspondence_type_id "
        "WHERE f.project_id = document_number_audit.project_id "
        "AND coalesce(t.type_code, '') = coalesce(document_number_audit.document_type, '')) "
        "WHERE operation = 'FORMAT_CHANGE'"
    )
    _create_ranges()


def _create_ranges() -> None:
    op.create_table(
        "document_number_ranges",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("series", code(255), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("first_number", sa.Integer(), nullable=False),
        sa.Column("last_number", sa.Integer(), nullable=False),
        sa.Column("organization_id", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("released_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_document_number_ranges_project_id"),
        sa.ForeignKeyConstraint(
            ["organization_id"], ["organizations.id"], name="fk_document_number_ranges_organization_id"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_document_number_ranges_user_id"),
        sa.CheckConstraint("first_number >= 1 AND last_number >= first_number", name="ck_document_number_ranges_stretch"),
        sa.CheckConstraint("kind IN ('KEPT', 'BARRED')", name="ck_document_number_ranges_kind"),
        **TABLE,
    )
    public_ids.add("document_number_ranges")
    op.create_index(
        "idx_docnum_ranges_number", "document_number_ranges", ["project_id", "series", "number"], unique=True
    )


def downgrade() -> None:
    op.drop_table("document_number_ranges")
    with changing("document_number_audit") as batch:
        batch.drop_index("idx_audit_format")
        batch.drop_column("format_uuid")
    with changing("document_number_reservations", without=CHECKS) as batch:
        batch.drop_index("idx_docnum_ledger_holder")
        batch.create_index("idx_docnum_ledger_holder", ["holder_public_id"])
        for column in ("replaced_by_uuid", "replaces_uuid", "voided_at", "source"):
            batch.drop_column(column)
    with changing("document_number_counters") as batch:
        batch.drop_column("range_count")
