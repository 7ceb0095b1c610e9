"""The comments that the specification states for columns, which MariaDB keeps with the schema."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import on_sqlite

revision = "0075"
down_revision = "0074"

PUBLIC_ID = ("UUID NOT NULL DEFAULT UUID()", "UUID Public Identifier (ADR-019)")
COLUMNS = {
    ("workflow_instances", "version_no"): (
        "INT NOT NULL DEFAULT 1",
        "Optimistic lock counter — incremented on every successful transition (ADR-001 v1.1 FR-002)",
    ),
    ("workflow_histories", "action_by_user_uuid"): (
        "VARCHAR(36) NULL",
        "UUID ของ User ผู้ดำเนินการ — ใช้ใน API Response (ADR-019). INT FK action_by_user_id ยังคงอยู่สำหรับ Internal use",
    ),
}


def upgrade() -> None:
    for (table, column), (kind, comment) in _columns().items():
        op.execute(f"ALTER TABLE {table} MODIFY {column} {kind} COMMENT '{comment}'")


def downgrade() -> None:
    for (table, column), (kind, _) in _columns().items():
        op.execute(f"ALTER TABLE {table} MODIFY {column} {kind}")


def _columns() -> dict[tuple[str, str], tuple[str, str]]:
    if on_sqlite():
        return {}
    public = sa.text(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = DATABASE() AND column_name = 'uuid' "
        "ORDER BY table_name"
    )
    return {(table, "uuid"): PUBLIC_ID for table in op.get_bind().scalars(public)} | COLUMNS
