"""What a transmittal says of each document since it was issued; the queue that a dead letter came from."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import code
from saraban_history.rebuild import changing

revision = "0045"
down_revision = "0044"

TABLE = "transmittal_items"
QUEUES = {"workflow-events-failed": "workflow-events", "mails-failed": "mails"}


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("document_number", code(255), nullable=True))
    op.add_column(TABLE, sa.Column("revision_label", code(10), nullable=True))
    op.add_column(TABLE, sa.Column("subject", sa.String(500), nullable=True))
    op.execute(_as_issued())
    _rename(QUEUES)


def _as_issued() -> sa.Update:
    """Write down what transmittals that were issued already say of their documents today."""
    item = sa.table(TABLE, *map(sa.column, ("transmittal_id", "item_revision_id", "document_number", "revision_label", "subject")))
    revision = sa.table(
        "correspondence_revisions",
        *map(sa.column, ("id", "correspondence_id", "correspondence_number", "revision_label", "subject", "issued_date")),
    )
    own = revision.alias("own")

    def stands(column: str) -> sa.ScalarSelect[str]:
        return sa.select(revision.c[column]).where(revision.c.id == item.c.item_revision_id).scalar_subquery()

    return (
        sa.update(item)
        .where(
            item.c.item_revision_id.is_not(None),
            sa.exists().where(own.c.correspondence_id == item.c.transmittal_id, own.c.issued_date.is_not(None)),
        )
        .values(
            document_number=stands("correspondence_number"),
            revision_label=stands("revision_label"),
            subject=stands("subject"),
        )
    )


def _rename(names: dict[str, str]) -> None:
    letter = sa.table("dead_letters", sa.column("queue"))
    for before, after in names.items():
        op.execute(sa.update(letter).where(letter.c.queue == before).values(queue=after))


def downgrade() -> None:
    _rename({after: before for before, after in QUEUES.items()})
    with changing(TABLE) as batch:
        for column in ("subject", "revision_label", "document_number"):
            batch.drop_column(column)
