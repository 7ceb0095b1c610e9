"""The schema of the specification before public ids: integer keys are the only identifiers."""

from alembic import op
from saraban_history.first import documents, drawings, logs, numbering, people, projects, workflow

revision = "0001"
down_revision = None

GROUPS = (people, projects, workflow, drawings, documents, numbering, logs)


def upgrade() -> None:
    for group in GROUPS:
        group.create()


def downgrade() -> None:
    for group in reversed(GROUPS):
        for table in reversed(group.TABLES):
            op.drop_table(table)
