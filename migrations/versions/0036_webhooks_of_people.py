"""Webhooks that people set up for themselves, and the topics that a project's webhook listens to."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    with changing("webhooks") as batch:
        batch.alter_column("project_id", existing_type=sa.Integer(), nullable=True)
        batch.add_column(sa.Column("topics", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.execute("DELETE FROM webhook_outcomes WHERE webhook_id IN (SELECT id FROM webhooks WHERE project_id IS NULL)")
    op.execute("DELETE FROM webhooks WHERE project_id IS NULL")
    with changing("webhooks") as batch:
        batch.drop_column("topics")
        batch.alter_column("project_id", existing_type=sa.Integer(), nullable=False)
