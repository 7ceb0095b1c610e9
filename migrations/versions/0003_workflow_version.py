"""`version_no` on workflow instances: the optimistic lock of a transition. Running instances begin at 1."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("workflow_instances", sa.Column("version_no", sa.Integer(), nullable=False, server_default="1"))
    op.create_index("idx_wf_inst_version", "workflow_instances", ["id", "version_no"])


def downgrade() -> None:
    op.drop_index("idx_wf_inst_version", "workflow_instances")
    op.drop_column("workflow_instances", "version_no")
