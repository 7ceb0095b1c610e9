"""The audit in sealed blocks: each header holds the digest of its rows and of the block before (SHA-256)."""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import BIG, MOMENT, TABLE

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "audit_blocks",
        sa.Column("id", BIG, nullable=False),
        sa.Column("journal", sa.String(20), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("first_id", sa.BigInteger(), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("rows_digest", sa.String(64), nullable=False),
        sa.Column("previous_head", sa.String(64), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("first_at", MOMENT, nullable=False),
        sa.Column("last_at", MOMENT, nullable=False),
        sa.Column("sealed_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )
    public_ids.add("audit_blocks")
    op.create_index("idx_audit_blocks_number", "audit_blocks", ["journal", "number"], unique=True)


def downgrade() -> None:
    op.drop_table("audit_blocks")
