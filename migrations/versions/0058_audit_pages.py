"""
A page of the audit trail costs the same however long the trail is: each index gives its rows in the order of the page.

Three are widened under the names that they have; those of objects and kinds are new.
"""

from alembic import op

revision = "0058"
down_revision = "0057"

TABLE = "audit_logs"
NEWEST = ["created_at", "uuid"]
INDEXES = {
    "idx_audit_logs_user": ["user_id"],
    "idx_audit_logs_action": ["action"],
    "idx_audit_logs_created_at": [],
}
NEW = {"idx_audit_logs_object": "entity_id", "idx_audit_logs_kind": "entity_type"}


def upgrade() -> None:
    for name, columns in INDEXES.items():
        _replace(name, [*columns, *NEWEST])
    for name, column in NEW.items():
        op.create_index(name, TABLE, [column, *NEWEST], if_not_exists=True)


def downgrade() -> None:
    for name in NEW:
        op.drop_index(name, TABLE, if_exists=True)
    for name, columns in INDEXES.items():
        _replace(name, columns or ["created_at"])


def _replace(name: str, columns: list[str]) -> None:
    # A migration that was killed between the two finds no index there.
    op.drop_index(name, TABLE, if_exists=True)
    op.create_index(name, TABLE, columns, if_not_exists=True)
