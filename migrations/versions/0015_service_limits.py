"""How many numbers a service account may draw in a minute; null is the limit that everybody has, 0 is none at all."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("users", sa.Column("draws_per_minute", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("users", "draws_per_minute")
