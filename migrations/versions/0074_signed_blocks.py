"""Blocks of the audit trail are signed from now on; the older ones stay without a signature."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code

revision = "0074"
down_revision = "0073"


def upgrade() -> None:
    op.add_column("audit_blocks", sa.Column("signature", code(128), nullable=True))
    op.add_column("audit_blocks", sa.Column("public_key", code(64), nullable=True))


def downgrade() -> None:
    for column in ("public_key", "signature"):
        op.drop_column("audit_blocks", column)
