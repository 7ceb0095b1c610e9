"""Registers of drawings are imported from files, by a worker."""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, TABLE

revision = "0063"
down_revision = "0062"


def upgrade() -> None:
    op.create_table(
        "drawing_imports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("contract", sa.String(50), nullable=True),
        sa.Column("originator", sa.String(50), nullable=True),
        sa.Column("creates_missing", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("file_name", sa.String(255), nullable=False),
        sa.Column("file_sha256", sa.String(64), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        *(sa.Column(f"rows_{name}", sa.Integer(), nullable=False) for name in ("total", "done", "refused")),
        sa.Column("rows_written", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("report", sa.JSON(), nullable=True),
        sa.Column("file_key", sa.String(100), nullable=True),
        sa.Column("lease", sa.Uuid(), nullable=True),
        sa.Column("lease_until", MOMENT, nullable=True),
        sa.Column("leases_lost", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_drawing_imports_project_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_drawing_imports_user_id"),
        sa.CheckConstraint(
            "state IN ('CHECKING', 'CHECKED', 'IMPORTING', 'DONE', 'FAILED')", name="ck_drawing_imports_state"
        ),
        **TABLE,
    )
    public_ids.add("drawing_imports")
    op.create_index("idx_drawing_imports_project", "drawing_imports", ["project_id", "created_at"])


def downgrade() -> None:
    op.drop_table("drawing_imports")
