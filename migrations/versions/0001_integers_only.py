"""The schema of the specification before public ids: integer keys are the only identifiers."""

from alembic import op
from saraban_history.first import GROUPS

revision = "0001"
down_revision = None


def upgrade() -> None:
    for group in GROUPS:
        group.create()


def downgrade() -> None:
    for group in reversed(GROUPS):
        for table in reversed(group.TABLES):
            op.drop_table(table)
