"""Notifications and the audit trail, which MariaDB keeps in partitions by year."""

import sqlalchemy as sa
from alembic import op

from saraban_history.columns import BIG, MOMENT, NOW, TABLE, on_sqlite

TABLES = ["notifications", "audit_logs"]


def create() -> None:
    op.create_table(
        "notifications",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("title", sa.String(255), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("notification_type", sa.Enum("EMAIL", "LINE", "SYSTEM", name="notification_type"), nullable=False),
        sa.Column("is_read", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("entity_type", sa.String(50), nullable=True),
        sa.Column("entity_id", sa.Integer(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        _key("id"),
        **TABLE,
    )
    _part_by_year("notifications")
    op.create_index("idx_notifications_created_at", "notifications", ["created_at"])
    op.create_index("idx_notifications_entity", "notifications", ["entity_type", "entity_id"])
    op.create_index("idx_notifications_user_unread", "notifications", ["user_id", "is_read", "created_at"])

    op.create_table(
        "audit_logs",
        sa.Column("audit_id", BIG, autoincrement=True, nullable=False),
        sa.Column("request_id", sa.String(100), nullable=True),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("action", sa.String(100), nullable=False),
        sa.Column(
            "severity",
            sa.Enum("INFO", "WARN", "ERROR", "CRITICAL", name="severity"),
            nullable=False,
            server_default="INFO",
        ),
        sa.Column("entity_type", sa.String(50), nullable=True),
        sa.Column("entity_id", sa.String(50), nullable=True),
        sa.Column("details_json", sa.JSON(), nullable=True),
        sa.Column("ip_address", sa.String(45), nullable=True),
        sa.Column("user_agent", sa.String(255), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False, server_default=NOW),
        _key("audit_id"),
        **TABLE,
    )
    _part_by_year("audit_logs")
    op.create_index("idx_audit_logs_action", "audit_logs", ["action"])
    op.create_index("idx_audit_logs_created_at", "audit_logs", ["created_at"])
    op.create_index("idx_audit_logs_entity", "audit_logs", ["entity_type", "entity_id"])
    op.create_index("idx_audit_logs_user", "audit_logs", ["user_id"])
    op.create_index("idx_audit_request_id", "audit_logs", ["request_id"])


def _key(column: str) -> sa.PrimaryKeyConstraint:
    """Each key of a partitioned table contains the column it is parted by; SQLite counts up single keys only."""
    return sa.PrimaryKeyConstraint(column) if on_sqlite() else sa.PrimaryKeyConstraint(column, "created_at")


def _part_by_year(table: str) -> None:
    """The last partition takes whatever comes after it, until somebody adds the years."""
    if on_sqlite():
        return
    years = ", ".join(f"PARTITION p{year} VALUES LESS THAN ({year + 1})" for year in range(2024, 2031))
    op.execute(
        f"ALTER TABLE {table} PARTITION BY RANGE (YEAR(created_at)) "
        f"({years}, PARTITION p_future VALUES LESS THAN MAXVALUE)"
    )
