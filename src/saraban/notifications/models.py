"""Tables of notifications, of e-mail to send, and of reminders."""

from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index
from saraban.kit.json import Json

CHANNELS = ("EMAIL", "LINE", "SYSTEM")


class Notification(HasPublicId, Base):
    """
    `title` and `message` contain the Thai text; pages render `template` instead.

    The primary key is (id, created_at) on MariaDB, because of its partitions, and `id` on SQLite.
    """

    __tablename__ = "notifications"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    user_id: Mapped[int]
    title: Mapped[str] = mapped_column(sa.String(255))
    message: Mapped[str] = mapped_column(sa.Text())
    notification_type: Mapped[str] = mapped_column(
        sa.Enum(*CHANNELS, name="notification_type"), default="SYSTEM", server_default="SYSTEM"
    )
    is_read: Mapped[bool] = mapped_column(default=False, server_default=sa.false())
    entity_type: Mapped[str | None] = mapped_column(sa.String(50))
    entity_id: Mapped[str | None] = mapped_column(sa.String(50))
    template: Mapped[str] = mapped_column(sa.String(50))
    template_values: Mapped[dict[str, Json]]
    event_uuid: Mapped[UUID | None] = mapped_column(sa.Uuid())
    created_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(
            "notifications",
            sa.Index("idx_notifications_user_unread", "user_id", "is_read", "created_at"),
            sa.Index("idx_notifications_event", "event_uuid", "user_id"),
            sa.Index("idx_notifications_entity", "entity_type", "entity_id"),
            sa.Index("idx_notifications_created_at", "created_at"),
            unique=False,
        )


class MailLine(Base):
    """
    Lines with the same `bundle` can share a mail.

    The first attempt sets `batch_uuid`; further attempts send the same lines under the same Message-ID.
    """

    __tablename__ = "notification_mails"
    __table_args__ = (
        sa.UniqueConstraint("event_uuid", "user_id", name="uq_notification_mails_event_user"),
        sa.Index("idx_notification_mails_due", "sent_at", "given_up_at", "due_at"),
        sa.Index("idx_notification_mails_bundle", "user_id", "bundle"),
        sa.Index("idx_notification_mails_batch", "batch_uuid"),
        sa.Index("idx_notification_mails_entity", "entity_id", "sent_at"),
    )

    id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    event_uuid: Mapped[UUID]
    template: Mapped[str] = mapped_column(sa.String(50))
    template_values: Mapped[dict[str, Json]]
    entity_type: Mapped[str | None] = mapped_column(sa.String(50))
    entity_id: Mapped[str | None] = mapped_column(sa.String(50))
    bundle: Mapped[str] = mapped_column(Code(100))
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    batch_uuid: Mapped[UUID | None]
    claimed_until: Mapped[datetime | None]
    attempts: Mapped[int] = mapped_column(default=0)
    sent_at: Mapped[datetime | None]
    given_up_at: Mapped[datetime | None]
    last_error: Mapped[str | None] = mapped_column(sa.String(500))


class ReminderPlan(Base):
    __tablename__ = "reminder_plans"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True, autoincrement=False)
    days_before: Mapped[list[int]]
    days_after: Mapped[list[int]]
    every_days: Mapped[int | None]
    at_hour: Mapped[int]
    updated_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_at: Mapped[datetime]


class ReminderSent(Base):
    """The key prevents a second reminder of the same stage."""

    __tablename__ = "reminders_sent"

    subject_uuid: Mapped[UUID] = mapped_column(primary_key=True)
    due_day: Mapped[date] = mapped_column(primary_key=True)
    stage: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sent_at: Mapped[datetime]
