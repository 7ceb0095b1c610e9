"""Entries of search say whether there is text in their files, so that nobody looks for it where there is none."""

import sqlalchemy as sa
from alembic import op

revision = "0072"
down_revision = "0071"


def upgrade() -> None:
    flag = sa.Column("has_file_text", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("search_entries", flag)
    op.execute("UPDATE search_entries SET has_file_text = 1 WHERE id IN (SELECT entry_id FROM search_file_texts)")


def downgrade() -> None:
    op.drop_column("search_entries", "has_file_text")
