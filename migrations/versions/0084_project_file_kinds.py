"""A project can take fewer kinds of files than the installation."""

import sqlalchemy as sa
from alembic import op

revision = "0084"
down_revision = "0083"


def upgrade() -> None:
    op.add_column("projects", sa.Column("file_kinds", sa.String(255), nullable=True))


def downgrade() -> None:
    op.drop_column("projects", "file_kinds")
