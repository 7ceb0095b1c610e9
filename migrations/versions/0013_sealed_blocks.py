"""The audit in sealed blocks: each header holds the digest of its rows and of the block before (SHA-256), and the list of its rows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql
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
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("last_id", sa.BigInteger(), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("rows_digest", sa.String(64), nullable=False),
        sa.Column("previous_head", sa.String(64), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("first_at", MOMENT, nullable=False),
        sa.Column("last_at", MOMENT, nullable=False),
        sa.Column("sealed_at", MOMENT, nullable=False),
        sa.Column("purged_first", sa.Integer(), nullable=True),
        sa.Column("purged_last", sa.Integer(), nullable=True),
        sa.Column("row_list", sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb"), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.CheckConstraint("kind IN ('SEAL', 'PURGE')", name="ck_audit_blocks_kind"),
        **TABLE,
    )
    public_ids.add("audit_blocks")
    op.create_index("idx_audit_blocks_number", "audit_blocks", ["journal", "number"], unique=True)


def downgrade() -> None:
    op.drop_table("audit_blocks")
