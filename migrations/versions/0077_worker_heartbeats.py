"""A row for each process of the worker, which shows the servers that it lives."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import BIG, MOMENT, TABLE, on_sqlite

revision = "0077"
down_revision = "0075"

INDEX = "idx_worker_heartbeats_uuid"


def upgrade() -> None:
    inspector = sa.inspect(op.get_bind())
    default = None if on_sqlite() else sa.text("UUID()")
    if not inspector.has_table("worker_heartbeats"):
        op.create_table(
            "worker_heartbeats",
            sa.Column("id", BIG, autoincrement=True, nullable=False),
            sa.Column("uuid", sa.Uuid(), nullable=False, server_default=default, comment="UUID Public Identifier (ADR-019)"),
            sa.Column("host", sa.String(255), nullable=False),
            sa.Column("process_id", sa.Integer(), nullable=False),
            sa.Column("started_at", MOMENT, nullable=False),
            sa.Column("beat_at", MOMENT, nullable=False),
            sa.PrimaryKeyConstraint("id", name="pk_worker_heartbeats"),
            **TABLE,
        )
        inspector.clear_cache()
    if INDEX not in {index["name"] for index in inspector.get_indexes("worker_heartbeats")}:
        op.create_index(INDEX, "worker_heartbeats", ["uuid"], unique=True)


def downgrade() -> None:
    if sa.inspect(op.get_bind()).has_table("worker_heartbeats"):
        op.drop_table("worker_heartbeats")
