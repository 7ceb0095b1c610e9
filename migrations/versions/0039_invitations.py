"""The one-time links by which invited people set a password."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    op.create_table(
        "user_invitations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", code(64), nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_user_invitations_user_id", ondelete="CASCADE"),
        sa.UniqueConstraint("user_id", name="uq_user_invitations_user_id"),
        sa.UniqueConstraint("token_hash", name="uq_user_invitations_token_hash"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("user_invitations")
