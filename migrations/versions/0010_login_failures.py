"""Wrong log-ins under names that no account has: they are counted and locked like those of a real one."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
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


def downgrade() -> None:
    op.drop_table("login_failures")
