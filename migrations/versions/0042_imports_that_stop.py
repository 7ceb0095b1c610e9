"""How often the worker at an import was not heard of any more."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    op.add_column(
        "document_number_imports", sa.Column("leases_lost", sa.Integer(), nullable=False, server_default="0")
    )


def downgrade() -> None:
    with changing("document_number_imports") as batch:
        batch.drop_column("leases_lost")
