"""Parallel review: the branches that a state asks, and the teams of a project whose members answer for them."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    _teams()
    _branches()


def _teams() -> None:
    op.create_table(
        "review_teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("team_code", code(50), nullable=False),
        sa.Column("name_th", sa.String(200), nullable=False),
        sa.Column("name_en", sa.String(200), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("project_id", "team_code", name="uk_review_team_project_code"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_review_teams_project_id"),
        **TABLE,
    )
    op.create_table(
        "review_team_members",
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("discipline_code", code(10), nullable=True),
        sa.Column("member_role", sa.String(20), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("team_id", "user_id"),
        sa.ForeignKeyConstraint(["team_id"], ["review_teams.id"], name="fk_review_team_members_team_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_review_team_members_user_id"),
        **TABLE,
    )


def _branches() -> None:
    op.create_table(
        "workflow_branches",
        sa.Column("id", sa.CHAR(36), nullable=False),
        sa.Column("instance_id", sa.CHAR(36), nullable=False),
        sa.Column("state", code(50), nullable=False),
        sa.Column("opened_version", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", code(50), nullable=False),
        sa.Column("assignee_kind", sa.String(20), nullable=False),
        sa.Column("assignee_name", code(100), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("answer", code(20), nullable=True),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.Column("answered_by_user_id", sa.Integer(), nullable=True),
        sa.Column("answered_by_user_uuid", sa.String(36), nullable=True),
        sa.Column("on_behalf_of_user_id", sa.Integer(), nullable=True),
        sa.Column("on_behalf_of_user_uuid", sa.String(36), nullable=True),
        sa.Column("history_id", sa.CHAR(36), nullable=True),
        sa.Column("answered_at", MOMENT, nullable=True),
        sa.Column("version_no", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("instance_id", "opened_version", "name", name="uk_wf_branch_round_name"),
        sa.ForeignKeyConstraint(
            ["instance_id"], ["workflow_instances.id"], name="fk_wf_branch_inst", ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(["answered_by_user_id"], ["users.user_id"], name="fk_wf_branch_answered_by"),
        sa.ForeignKeyConstraint(["on_behalf_of_user_id"], ["users.user_id"], name="fk_wf_branch_on_behalf"),
        sa.ForeignKeyConstraint(["history_id"], ["workflow_histories.id"], name="fk_wf_branch_history"),
        **TABLE,
    )
    op.create_index("idx_wf_branch_open", "workflow_branches", ["status", "assignee_kind", "assignee_name"])


def downgrade() -> None:
    op.drop_table("workflow_branches")
    op.drop_table("review_team_members")
    op.drop_table("review_teams")
