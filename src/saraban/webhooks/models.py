"""Tables of webhooks and of their delivery attempts."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, HasPublicId, TableArguments, public_id_index


class Webhook(HasPublicId, Base):
    """
    Without a project it receives the notices of its owner.

    :ivar topics: of `workflow.webhook`; None for all
    :ivar earlier_secrets: `{"secret", "until"}` of secrets that still sign
    :ivar failing_since: first failed attempt after the last delivery
    :ivar off_because: set if Saraban disabled it
    """

    __tablename__ = "webhooks"

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int | None] = mapped_column(sa.ForeignKey("projects.id"))
    user_id: Mapped[int] = mapped_column(sa.ForeignKey("users.user_id"))
    url: Mapped[str] = mapped_column(sa.String(500))
    description: Mapped[str] = mapped_column(sa.String(200))
    event_names: Mapped[list[str]]
    topics: Mapped[list[str] | None] = mapped_column(sa.JSON(none_as_null=True))
    is_active: Mapped[bool]
    secret: Mapped[str] = mapped_column(sa.String(100))
    earlier_secrets: Mapped[list[dict[str, str]] | None] = mapped_column(sa.JSON(none_as_null=True))
    failing_since: Mapped[datetime | None]
    given_up: Mapped[int] = mapped_column(default=0, server_default="0")
    off_because: Mapped[str | None] = mapped_column(sa.String(20))
    version: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index("webhooks", sa.Index("idx_webhooks_project", "project_id", "created_at"))


class WebhookOutcome(HasPublicId, Base):
    __tablename__ = "webhook_outcomes"

    id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    webhook_id: Mapped[int] = mapped_column(sa.ForeignKey("webhooks.id", ondelete="CASCADE"))
    event_uuid: Mapped[UUID] = mapped_column(sa.Uuid())
    name: Mapped[str] = mapped_column(sa.String(100))
    delivered: Mapped[bool]
    status: Mapped[int | None]
    error: Mapped[str | None] = mapped_column(sa.String(50))
    milliseconds: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(index=True)

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index("webhook_outcomes", sa.Index("idx_webhook_outcomes_webhook", "webhook_id", "created_at"))
