"""
What has no number of its own in the audit (stretches stepped over, ranges, resets) is found by its series.

Rows of the ledger without a draw in the audit were taken over from the first schema: they say so from here on.
"""

from alembic import op
from saraban_history.rebuild import changing

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    with changing("document_number_audit") as batch:
        batch.drop_index("idx_audit_number")
        batch.create_index("idx_audit_number", ["document_number", "series"])
    op.execute(
        "UPDATE document_number_reservations SET source = 'MIGRATED' WHERE source = 'DRAW' AND NOT EXISTS ("
        "SELECT 1 FROM document_number_audit a WHERE a.reservation_uuid = document_number_reservations.uuid "
        "AND a.operation IN ('GENERATE', 'RESERVE'))"
    )


def downgrade() -> None:
    op.execute("UPDATE document_number_reservations SET source = 'DRAW' WHERE source = 'MIGRATED'")
    with changing("document_number_audit") as batch:
        batch.drop_index("idx_audit_number")
        batch.create_index("idx_audit_number", ["document_number"])
