"""
A repeated request is answered from a receipt: what was done and to what. Whole answers are not stored any more.

A key that was answered before this cannot be answered again: it is refused as one that came for something else, and
nothing is done twice. It is forgotten after its 24 hours like any other.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT
from saraban_history.rebuild import changing

revision = "0048"
down_revision = "0047"

TABLE = "idempotency_keys"


def upgrade() -> None:
    op.execute(f"UPDATE {TABLE} SET payload_hash = '' WHERE answer IS NOT NULL")
    with changing(TABLE) as batch:
        batch.add_column(sa.Column("resource_kind", sa.String(40), nullable=True))
        batch.add_column(sa.Column("resource_uuid", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("outcome", sa.String(2000), nullable=True))
        batch.add_column(sa.Column("completed_at", MOMENT, nullable=True))
        batch.drop_column("answer")


def downgrade() -> None:
    op.execute(f"UPDATE {TABLE} SET payload_hash = '' WHERE completed_at IS NOT NULL")
    with changing(TABLE) as batch:
        for column in ("resource_kind", "resource_uuid", "outcome", "completed_at"):
            batch.drop_column(column)
        batch.add_column(sa.Column("answer", sa.Text(length=16_000_000), nullable=True))
