"""The text inside files, to be searched. Files that are there already wait to be read, behind those that come."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT, TABLE, code
from sqlalchemy.dialects import mysql

revision = "0071"
down_revision = "0070"

INDEX = "idx_attachments_text_due"
OFFICE = "application/vnd.openxmlformats-officedocument"
READABLE = ("application/pdf", f"{OFFICE}.wordprocessingml.document", f"{OFFICE}.spreadsheetml.sheet")


def upgrade() -> None:
    op.add_column("attachments", sa.Column("text_due_at", MOMENT, nullable=True))
    op.add_column("attachments", sa.Column("text_tries", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("attachments", sa.Column("text_problem", code(20), nullable=True))
    op.create_table(
        "attachment_texts",
        sa.Column("attachment_id", sa.Integer(), sa.ForeignKey("attachments.id"), primary_key=True),
        sa.Column("text", sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb"), nullable=False),
        sa.Column("extracted_at", MOMENT, nullable=False),
        **TABLE,
    )
    kinds = ", ".join(f"'{kind}'" for kind in READABLE)
    op.execute(f"UPDATE attachments SET text_due_at = created_at WHERE mime_type IN ({kinds})")
    op.create_index(INDEX, "attachments", ["is_temporary", "text_due_at"])


def downgrade() -> None:
    op.drop_table("attachment_texts")
    op.drop_index(INDEX, "attachments")
    for column in ("text_problem", "text_tries", "text_due_at"):
        op.drop_column("attachments", column)
