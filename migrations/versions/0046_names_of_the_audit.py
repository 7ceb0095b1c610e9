"""
The audit's names as the specification has them, and in the ledger which format numbered a document and why.

Nothing that is sealed changes: a row's digest is over its line in the export, which names the field `documentNumber` as before.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import on_sqlite
from saraban_history.rebuild import changing

revision = "0046"
down_revision = "0045"

AUDIT, LEDGER = "document_number_audit", "document_number_reservations"
CHECK = "ck_document_number_audit_draw_is_complete"
COMPLETE = (
    "operation NOT IN ('GENERATE', 'RESERVE', 'REVISE') OR ({} IS NOT NULL "
    "AND sequence_number IS NOT NULL AND template_used IS NOT NULL)"
)


def upgrade() -> None:
    op.drop_index("idx_audit_number", AUDIT)
    _rename("document_number", "generated_number")
    op.create_index("idx_audit_number", AUDIT, ["generated_number"])
    op.create_index("idx_audit_series", AUDIT, ["series", "operation"])
    op.create_index(
        "idx_counter_lookup", "document_number_counters", ["project_id", "correspondence_type_id", "current_year"]
    )
    op.add_column(LEDGER, sa.Column("format_uuid", sa.Uuid(), nullable=True))
    op.add_column(LEDGER, sa.Column("format_source", sa.String(10), nullable=True))


def downgrade() -> None:
    with changing(LEDGER) as batch:
        batch.drop_column("format_source")
        batch.drop_column("format_uuid")
    op.drop_index("idx_counter_lookup", "document_number_counters")
    op.drop_index("idx_audit_series", AUDIT)
    op.drop_index("idx_audit_number", AUDIT)
    _rename("generated_number", "document_number")
    op.create_index("idx_audit_number", AUDIT, ["document_number", "series"])


def _rename(old: str, new: str) -> None:
    """SQLite carries the new name into the CHECK; MariaDB refuses to rename a column that a CHECK names."""
    if on_sqlite():
        op.execute(f"ALTER TABLE {AUDIT} RENAME COLUMN {old} TO {new}")
        return
    op.execute(f"ALTER TABLE {AUDIT} DROP CONSTRAINT {CHECK}")
    op.execute(f"ALTER TABLE {AUDIT} RENAME COLUMN {old} TO {new}")
    op.execute(f"ALTER TABLE {AUDIT} ADD CONSTRAINT {CHECK} CHECK ({COMPLETE.format(new)})")
