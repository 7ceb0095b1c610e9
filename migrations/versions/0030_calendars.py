"""The working days of a project: its weekend, and the days on which it departs from weekend and public holidays."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE

revision = "0030"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "project_calendars",
        sa.Column("project_id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("weekend", sa.String(100), nullable=False),
        sa.Column("updated_by_user_id", sa.Integer(), nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_project_calendars_project_id"),
        sa.ForeignKeyConstraint(
            ["updated_by_user_id"], ["users.user_id"], name="fk_project_calendars_updated_by_user_id"
        ),
        **TABLE,
    )
    op.create_table(
        "project_days",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("is_working", sa.Boolean(), nullable=False),
        sa.Column("name_th", sa.String(200), nullable=False),
        sa.Column("name_en", sa.String(200), nullable=False),
        sa.Column("created_by_user_id", sa.Integer(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "day"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_project_days_project_id"),
        sa.ForeignKeyConstraint(["created_by_user_id"], ["users.user_id"], name="fk_project_days_created_by_user_id"),
        **TABLE,
    )


def downgrade() -> None:
    op.drop_table("project_days")
    op.drop_table("project_calendars")
