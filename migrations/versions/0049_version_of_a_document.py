"""Every write to a revision or to a circulation raises its version: `If-Match` compares a number, and nothing is rendered for it."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0049"
down_revision = "0048"

TABLES = ("correspondence_revisions", "circulations")


def upgrade() -> None:
    for table in TABLES:
        op.add_column(table, sa.Column("version", sa.Integer(), nullable=False, server_default="1"))


def downgrade() -> None:
    for table in TABLES:
        with changing(table) as batch:
            batch.drop_column("version")
