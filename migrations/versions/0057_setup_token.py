"""The one-time token that opens the set-up page of an empty installation."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    op.create_table(
        "setup_tokens",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token_hash", code(64), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("setup_tokens")
