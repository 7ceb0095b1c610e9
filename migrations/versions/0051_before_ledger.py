"""
A counter knows up to where it counted before there was a ledger: each page of an account read the whole series for it.

Rows from that time were marked once, in 0016, and nothing adds any.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0051"
down_revision = "0050"


def _is_there() -> bool:
    """MariaDB keeps the column of a migration that was killed behind it."""
    columns = sa.inspect(op.get_bind()).get_columns("document_number_counters")
    return any(column["name"] == "before_ledger" for column in columns)


def upgrade() -> None:
    if not _is_there():
        op.add_column(
            "document_number_counters", sa.Column("before_ledger", sa.Integer(), nullable=False, server_default="0")
        )
    found = op.get_bind().execute(
        sa.text(
            "SELECT project_id AS project, series, max(sequence_number) AS last FROM document_number_reservations "
            "WHERE source = 'MIGRATED' AND `range` = 0 GROUP BY project_id, series"
        )
    )
    for row in found.mappings().all():
        op.get_bind().execute(
            sa.text(
                "UPDATE document_number_counters SET before_ledger = :last "
                "WHERE project_id = :project AND series = :series AND `range` = 0"
            ),
            dict(row),
        )


def downgrade() -> None:
    if _is_there():
        with changing("document_number_counters") as batch:
            batch.drop_column("before_ledger")
