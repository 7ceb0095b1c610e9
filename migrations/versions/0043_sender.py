"""What a document that came from outside bears: the sender's number and its date."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code
from saraban_history.rebuild import changing

revision = "0043"
down_revision = "0042"

TABLE = "correspondence_revisions"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("sender_number", code(255), nullable=True))
    op.add_column(TABLE, sa.Column("sender_date", sa.Date(), nullable=True))


def downgrade() -> None:
    with changing(TABLE) as batch:
        batch.drop_column("sender_date")
        batch.drop_column("sender_number")
