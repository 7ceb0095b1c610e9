"""
Which revision of a document a transmittal carried, and next revisions that were withdrawn as drafts.

The lists of transmittals that exist point at the newest revision, which is the one they have shown until now.
"""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import MOMENT
from saraban_history.rebuild import changing

revision = "0011"
down_revision = "0010"

FOREIGN_KEY = "fk_transmittal_items_item_revision_id"


def upgrade() -> None:
    op.add_column("correspondence_revisions", sa.Column("withdrawn_at", MOMENT, nullable=True))
    with changing("transmittal_items") as batch:
        batch.add_column(sa.Column("item_revision_id", sa.Integer(), nullable=True))
        batch.create_foreign_key(FOREIGN_KEY, "correspondence_revisions", ["item_revision_id"], ["id"])
    op.execute(
        "UPDATE transmittal_items SET item_revision_id = (SELECT id FROM correspondence_revisions "
        "WHERE correspondence_id = item_correspondence_id ORDER BY revision_number DESC LIMIT 1)"
    )


def downgrade() -> None:
    with changing("transmittal_items") as batch:
        batch.drop_constraint(FOREIGN_KEY, type_="foreignkey")
        batch.drop_column("item_revision_id")
    op.drop_column("correspondence_revisions", "withdrawn_at")
