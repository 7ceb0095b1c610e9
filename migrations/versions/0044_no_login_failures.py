"""Failed log-ins under names that no account has are counted in the limiter and stored nowhere."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    op.drop_table("login_failures")


def downgrade() -> None:
    op.create_table(
        "login_failures",
        sa.Column("name_hash", code(64), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("locked_until", MOMENT, nullable=True),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("name_hash"),
        **TABLE,
    )
    op.create_index("idx_login_failures_updated", "login_failures", ["updated_at"])
