"""A row for each timer of the worker that has a time of day: one process runs it, and a missed run is made up for."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE

revision = "0086"
down_revision = "0085"


def upgrade() -> None:
    if not sa.inspect(op.get_bind()).has_table("timer_runs"):
        op.create_table(
            "timer_runs",
            sa.Column("name", sa.String(50), nullable=False),
            sa.Column("done_for", MOMENT, nullable=True),
            sa.Column("claimed_until", MOMENT, nullable=True),
            sa.PrimaryKeyConstraint("name", name="pk_timer_runs"),
            **TABLE,
        )


def downgrade() -> None:
    if sa.inspect(op.get_bind()).has_table("timer_runs"):
        op.drop_table("timer_runs")
