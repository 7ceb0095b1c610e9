"""`action_by_user_uuid` on workflow histories: who acted, for answers. Null on older rows, as nobody wrote it down."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.add_column("workflow_histories", sa.Column("action_by_user_uuid", sa.String(36), nullable=True))


def downgrade() -> None:
    op.drop_column("workflow_histories", "action_by_user_uuid")
