"""Imports whose file was uploaded: where the file lies, what was ticked, how much was written, and whose turn the work is."""

import sqlalchemy as sa
from saraban_history.columns import MOMENT
from saraban_history.rebuild import changing

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    with changing("document_number_imports") as batch:
        batch.add_column(sa.Column("file_key", sa.String(100), nullable=True))
        batch.add_column(sa.Column("moves", sa.JSON(), nullable=True))
        batch.add_column(sa.Column("rows_written", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("lease", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("lease_until", MOMENT, nullable=True))


def downgrade() -> None:
    with changing("document_number_imports") as batch:
        for column in ("lease_until", "lease", "rows_written", "moves", "file_key"):
            batch.drop_column(column)
