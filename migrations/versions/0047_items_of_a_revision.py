"""What a transmittal carries belongs to its revision: what went with an earlier one stays when the next one is issued."""

import sqlalchemy as sa
from alembic import op
from saraban_history.rebuild import changing

revision = "0047"
down_revision = "0046"

TABLE, COLUMN = "transmittal_items", "transmittal_revision_id"
FOREIGN_KEY = "fk_transmittal_items_transmittal_revision_id"
COPIED = ("transmittal_id", "item_correspondence_id", "item_revision_id", "quantity", "remarks")
# The list of a transmittal was that of its newest issue, or of the draft where nothing was issued yet.
OWNER = (
    "(SELECT id FROM correspondence_revisions AS own WHERE own.correspondence_id = transmittal_items.transmittal_id "
    "ORDER BY CASE WHEN own.issued_date IS NULL THEN 1 ELSE 0 END, own.is_current DESC, own.revision_number DESC LIMIT 1)"
)


def upgrade() -> None:
    with changing(TABLE) as batch:
        batch.add_column(sa.Column(COLUMN, sa.Integer(), nullable=True))
        batch.create_foreign_key(FOREIGN_KEY, "correspondence_revisions", [COLUMN], ["id"])
        batch.create_unique_constraint(
            "ux_transmittal_revision_item", ["transmittal_id", COLUMN, "item_correspondence_id"]
        )
    with changing(TABLE) as batch:
        batch.drop_constraint("ux_transmittal_item", type_="unique")
    op.execute(f"UPDATE {TABLE} SET {COLUMN} = {OWNER}")
    _begin_drafts()
    with changing(TABLE) as batch:
        batch.alter_column(COLUMN, existing_type=sa.Integer(), nullable=False)


def _begin_drafts() -> None:
    """Give a draft that follows an issue the list that both had together."""
    values = ", ".join(f"{TABLE}.{name}" for name in COPIED)
    op.execute(
        f"INSERT INTO {TABLE} ({', '.join(COPIED)}, {COLUMN}) SELECT {values}, own.id FROM {TABLE} "
        f"JOIN correspondence_revisions AS own ON own.correspondence_id = {TABLE}.transmittal_id AND own.is_current "
        f"WHERE own.id <> {TABLE}.{COLUMN} ORDER BY {TABLE}.id"
    )


def downgrade() -> None:
    op.execute(f"DELETE FROM {TABLE} WHERE {COLUMN} <> {OWNER}")
    with changing(TABLE) as batch:
        batch.create_unique_constraint("ux_transmittal_item", ["transmittal_id", "item_correspondence_id"])
    with changing(TABLE) as batch:
        batch.drop_constraint(FOREIGN_KEY, type_="foreignkey")
        batch.drop_constraint("ux_transmittal_revision_item", type_="unique")
        batch.drop_column(COLUMN)
