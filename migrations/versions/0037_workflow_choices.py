"""Which workflow the documents of a kind start on: for one project, or for the whole installation."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    op.create_table(
        "workflow_choices",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("reach", sa.Integer(), nullable=False),
        sa.Column("kind", code(20), nullable=False),
        sa.Column("type_code", code(50), nullable=False),
        sa.Column("workflow_code", code(50), nullable=False),
        sa.Column("chosen_by_user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("kind", "reach", "type_code", name="uk_wf_choice_place"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_wf_choice_project"),
        sa.ForeignKeyConstraint(["chosen_by_user_id"], ["users.user_id"], name="fk_wf_choice_chosen_by"),
        **TABLE,
    )
    op.create_index("idx_wf_choice_code", "workflow_choices", ["workflow_code"])


def downgrade() -> None:
    op.drop_table("workflow_choices")
