"""When a project is reminded of due dates, and which reminders went out: each once."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "reminder_plans",
        sa.Column("project_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("days_before", sa.JSON(), nullable=False),
        sa.Column("days_after", sa.JSON(), nullable=False),
        sa.Column("every_days", sa.Integer(), nullable=True),
        sa.Column("at_hour", sa.Integer(), nullable=False),
        sa.Column("updated_by_user_id", sa.Integer(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_reminder_plans_project_id"),
        sa.ForeignKeyConstraint(["updated_by_user_id"], ["users.user_id"], name="fk_reminder_plans_updated_by_user_id"),
        **TABLE,
    )
    op.create_table(
        "reminders_sent",
        sa.Column("subject_uuid", sa.Uuid(), nullable=False),
        sa.Column("due_day", sa.Date(), nullable=False),
        sa.Column("stage", sa.Integer(), nullable=False),
        sa.Column("sent_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("subject_uuid", "due_day", "stage"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("reminders_sent")
    op.drop_table("reminder_plans")
