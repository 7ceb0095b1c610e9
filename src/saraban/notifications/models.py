"""
Notifications of one user, and the e-mail that tells them too.

The table of the first is partitioned by year on MariaDB, so it has no foreign keys and a plain uuid index.
"""

from datetime import date, datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index
from saraban.kit.json import Json

CHANNELS = ("EMAIL", "LINE", "SYSTEM")


class Notification(HasPublicId, Base):
    """
    `template` and `template_values` are rendered in the reader's language; `title` and `message` hold the Thai text.

    The primary key is (id, created_at) on MariaDB, as partitions want it, and `id` alone on SQLite, whose composite
    keys do not count up; the mapper knows the part that both have.
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
    One notice on its way to one person by e-mail. `bundle` names what it may share a mail with; `batch_uuid`, set at the
    first attempt, what it does share one with, so that every further attempt sends the same mail under the same name.
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
    """When one project is reminded of due dates, in its own working days; without a row it is as everywhere."""

    __tablename__ = "reminder_plans"

    project_id: Mapped[int] = mapped_column(sa.ForeignKey("projects.id"), primary_key=True, autoincrement=False)
    days_before: Mapped[list[int]]
    days_after: Mapped[list[int]]
    every_days: Mapped[int | None]
    at_hour: Mapped[int]
    updated_by_user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    updated_at: Mapped[datetime]


class ReminderSent(Base):
    """The key is what makes a reminder go out once: what it is about, for which due date, at which stage."""

    __tablename__ = "reminders_sent"

    subject_uuid: Mapped[UUID] = mapped_column(primary_key=True)
    due_day: Mapped[date] = mapped_column(primary_key=True)
    stage: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sent_at: Mapped[datetime]
