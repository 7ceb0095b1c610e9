"""An RFA type says whether its RFAs carry drawings and documents: none, optional or required."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0064"
down_revision = "0063"


def upgrade() -> None:
    op.add_column("rfa_types", sa.Column("items", sa.String(10), nullable=False, server_default="optional"))


def downgrade() -> None:
    with changing("rfa_types") as batch:
        batch.drop_column("items")
