"""Webhooks of projects, and what became of the messages to them."""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import BIG, MOMENT, TABLE

revision = "0020"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(500), nullable=False),
        sa.Column("description", sa.String(200), nullable=False),
        sa.Column("event_names", sa.JSON(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("previous_secret", sa.String(100), nullable=True),
        sa.Column("previous_until", MOMENT, nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_webhooks_project_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_webhooks_user_id"),
        **TABLE,
    )
    public_ids.add("webhooks")
    op.create_index("idx_webhooks_project", "webhooks", ["project_id", "created_at"])
    op.create_table(
        "webhook_outcomes",
        sa.Column("id", BIG, nullable=False, autoincrement=True),
        sa.Column("webhook_id", sa.Integer(), nullable=False),
        sa.Column("event_uuid", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("delivered", sa.Boolean(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.String(50), nullable=True),
        sa.Column("milliseconds", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name="fk_webhook_outcomes_webhook_id", ondelete="CASCADE"
        ),
        **TABLE,
    )
    public_ids.add("webhook_outcomes")
    op.create_index("idx_webhook_outcomes_webhook", "webhook_outcomes", ["webhook_id", "created_at"])
    op.create_index("ix_webhook_outcomes_created_at", "webhook_outcomes", ["created_at"])


def downgrade() -> None:
    op.drop_table("webhook_outcomes")
    op.drop_table("webhooks")
