"""
A page of the number audit, or of refused and failed calls, costs the same however many rows there are, with each filter.

The index of refusals is widened under the name it has; the others are new.
"""

from alembic import op

revision = "0060"
down_revision = "0059"

AUDIT, ERRORS = "document_number_audit", "document_number_errors"
NEWEST = ["created_at", "uuid"]
CREATED = "idx_docnum_errors_created"
NEW = {
    "idx_audit_project": (AUDIT, ["project_id", *NEWEST]),
    "idx_audit_project_operation": (AUDIT, ["project_id", "operation", *NEWEST]),
    "idx_audit_project_user": (AUDIT, ["project_id", "user_id", *NEWEST]),
    "idx_audit_project_series": (AUDIT, ["project_id", "series", *NEWEST]),
    "idx_docnum_errors_type": (ERRORS, ["error_type", *NEWEST]),
    "idx_docnum_errors_user": (ERRORS, ["user_id", *NEWEST]),
    "idx_docnum_errors_trace": (ERRORS, ["trace_id"]),
}


def upgrade() -> None:
    _replace(NEWEST)
    for name, (table, columns) in NEW.items():
        op.create_index(name, table, columns, if_not_exists=True)


def downgrade() -> None:
    for name, (table, _) in NEW.items():
        op.drop_index(name, table, if_exists=True)
    _replace(["created_at"])


def _replace(columns: list[str]) -> None:
    # A migration that was killed between the two finds no index there.
    op.drop_index(CREATED, ERRORS, if_exists=True)
    op.create_index(CREATED, ERRORS, columns, if_not_exists=True)
