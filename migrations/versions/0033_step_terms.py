"""What a step can say of an instance: the day by which it is to be taken, and the one person it was given to."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    with changing("workflow_instances") as batch:
        batch.add_column(sa.Column("due_on", sa.Date(), nullable=True))
        batch.add_column(sa.Column("assigned_user_id", sa.Integer(), nullable=True))
        batch.create_foreign_key("fk_wf_inst_assigned", "users", ["assigned_user_id"], ["user_id"])
    op.create_index("idx_wf_inst_due", "workflow_instances", ["due_on"])


def downgrade() -> None:
    op.drop_index("idx_wf_inst_due", "workflow_instances")
    with changing("workflow_instances") as batch:
        batch.drop_constraint("fk_wf_inst_assigned", type_="foreignkey")
        batch.drop_column("assigned_user_id")
        batch.drop_column("due_on")
