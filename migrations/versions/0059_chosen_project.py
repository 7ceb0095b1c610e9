"""The project that somebody works in is remembered with the account, so that another device opens it too."""

import sqlalchemy as sa
from saraban_history.rebuild import changing

revision = "0059"
down_revision = "0058"


def upgrade() -> None:
    with changing("user_preferences") as batch:
        batch.add_column(sa.Column("project_uuid", sa.Uuid(), nullable=True))


def downgrade() -> None:
    with changing("user_preferences") as batch:
        batch.drop_column("project_uuid")
