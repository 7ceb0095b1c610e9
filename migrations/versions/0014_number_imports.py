"""Files of legacy numbers: how far each import is and what came of it."""

import sqlalchemy as sa
from alembic import op
from saraban_history import public_ids
from saraban_history.columns import MOMENT, TABLE

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "document_number_imports",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("file_name", sa.String(255), nullable=False),
        sa.Column("file_sha256", sa.String(64), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("moves_counters", sa.Boolean(), nullable=False),
        sa.Column("rows_total", sa.Integer(), nullable=False),
        sa.Column("rows_done", sa.Integer(), nullable=False),
        sa.Column("rows_refused", sa.Integer(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name="fk_document_number_imports_project_id"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_document_number_imports_user_id"),
        sa.CheckConstraint("state IN ('CHECKING', 'CHECKED', 'IMPORTING', 'DONE', 'FAILED')", name="ck_document_number_imports_state"),
        **TABLE,
    )
    public_ids.add("document_number_imports")
    op.create_index("idx_docnum_imports_project", "document_number_imports", ["project_id", "created_at"])


def downgrade() -> None:
    op.drop_table("document_number_imports")
