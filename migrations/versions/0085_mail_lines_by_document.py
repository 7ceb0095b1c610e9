"""
An index for the lines of e-mail about a document: they are settled together with its notifications.

Lines that wait, and whose notification was settled before, are settled here. The statement may run again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0085"
down_revision = "0084"

INDEX = "idx_notification_mails_entity"
MAILS = sa.table(
    "notification_mails",
    *map(sa.column, ("event_uuid", "user_id", "template", "due_at", "sent_at", "given_up_at")),
)
NOTICES = sa.table("notifications", *map(sa.column, ("event_uuid", "user_id", "template")))


def upgrade() -> None:
    if INDEX not in _indexes():
        op.create_index(INDEX, "notification_mails", ["entity_id", "sent_at"])
    settled = sa.exists().where(
        NOTICES.c.event_uuid == MAILS.c.event_uuid,
        NOTICES.c.user_id == MAILS.c.user_id,
        NOTICES.c.template == "settled",
    )
    given_up = sa.func.coalesce(MAILS.c.given_up_at, MAILS.c.due_at)
    op.execute(
        sa.update(MAILS).where(MAILS.c.sent_at.is_(None), settled).values(template="settled", given_up_at=given_up)
    )


def downgrade() -> None:
    if INDEX in _indexes():
        op.drop_index(INDEX, "notification_mails")


def _indexes() -> set[str | None]:
    return {index["name"] for index in sa.inspect(op.get_bind()).get_indexes("notification_mails")}
