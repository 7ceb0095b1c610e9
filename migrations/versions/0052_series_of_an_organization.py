"""A controller sees the series in which the organization has a number: without an index each of them would be read whole."""

from alembic import op

revision = "0052"
down_revision = "0051"

NAME, TABLE = "idx_docnum_ledger_originator", "document_number_reservations"


def upgrade() -> None:
    # MariaDB keeps the index of a migration that was killed behind it.
    op.create_index(NAME, TABLE, ["originator_organization_id", "project_id", "series"], if_not_exists=True)


def downgrade() -> None:
    op.drop_index(NAME, TABLE, if_exists=True)
