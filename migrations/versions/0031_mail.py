"""How people want to be told by e-mail, and the e-mail that waits to be sent."""

import sqlalchemy as sa
from alembic import op
from saraban_history.columns import BIG, MOMENT, TABLE, code
from saraban_history.rebuild import changing

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    with changing("user_preferences") as batch:
        batch.add_column(sa.Column("digest_hour", sa.Integer(), nullable=False, server_default="8"))
        batch.add_column(sa.Column("quiet_from", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("quiet_until", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("channels", sa.JSON(), nullable=True))
    op.create_table(
        "notification_mails",
        sa.Column("id", BIG, nullable=False, autoincrement=True),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("event_uuid", sa.Uuid(), nullable=False),
        sa.Column("template", sa.String(50), nullable=False),
        sa.Column("template_values", sa.JSON(), nullable=False),
        sa.Column("entity_type", sa.String(50), nullable=True),
        sa.Column("entity_id", sa.String(50), nullable=True),
        sa.Column("bundle", code(100), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("due_at", MOMENT, nullable=False),
        sa.Column("batch_uuid", sa.Uuid(), nullable=True),
        sa.Column("claimed_until", MOMENT, nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("sent_at", MOMENT, nullable=True),
        sa.Column("given_up_at", MOMENT, nullable=True),
        sa.Column("last_error", sa.String(500), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("event_uuid", "user_id", name="uq_notification_mails_event_user"),
        sa.ForeignKeyConstraint(["user_id"], ["users.user_id"], name="fk_notification_mails_user_id"),
        **TABLE,
    )
    op.create_index("idx_notification_mails_due", "notification_mails", ["sent_at", "given_up_at", "due_at"])
    op.create_index("idx_notification_mails_bundle", "notification_mails", ["user_id", "bundle"])
    op.create_index("idx_notification_mails_batch", "notification_mails", ["batch_uuid"])


def downgrade() -> None:
    op.drop_table("notification_mails")
    with changing("user_preferences") as batch:
        for column in ("channels", "quiet_until", "quiet_from", "digest_hour"):
            batch.drop_column(column)
