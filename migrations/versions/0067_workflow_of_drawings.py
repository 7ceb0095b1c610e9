"""A register of drawings is approved by RFAs, or by a workflow of each revision."""

import sqlalchemy as sa
from alembic import op

revision = "0067"
down_revision = "0066"


def upgrade() -> None:
    op.add_column(
        "drawing_settings", sa.Column("own_workflow", sa.Boolean(), nullable=False, server_default=sa.false())
    )


def downgrade() -> None:
    op.drop_column("drawing_settings", "own_workflow")
