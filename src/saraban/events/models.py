"""Tables of the outbox, the dead letters and the workers."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, HasPublicId, TableArguments, public_id_index
from saraban.kit.json import Json

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class OutboxEvent(HasPublicId, Base):
    """Kept until 24 hours after delivery; an event that is given up moves to `dead_letters`."""

    __tablename__ = "outbox_events"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(sa.String(100))
    aggregate_type: Mapped[str] = mapped_column(sa.String(50))
    aggregate_id: Mapped[str] = mapped_column(sa.String(50))
    payload: Mapped[dict[str, Json]]
    created_at: Mapped[datetime]
    available_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(default=0, server_default="0")
    claimed_until: Mapped[datetime | None]
    claimed_by: Mapped[str | None] = mapped_column(sa.String(64))
    delivered_at: Mapped[datetime | None]
    last_error: Mapped[str | None] = mapped_column(sa.String(500))

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(
            "outbox_events",
            sa.Index("idx_outbox_events_claim", "delivered_at", "available_at"),
            sa.Index("idx_outbox_events_aggregate", "aggregate_type", "aggregate_id", "delivered_at"),
        )


class WorkerHeartbeat(HasPublicId, Base):
    __tablename__ = "worker_heartbeats"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    host: Mapped[str] = mapped_column(sa.String(255))
    process_id: Mapped[int]
    started_at: Mapped[datetime]
    beat_at: Mapped[datetime]


class DeadLetter(HasPublicId, Base):
    __tablename__ = "dead_letters"

    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    event_uuid: Mapped[UUID] = mapped_column(sa.Uuid(), index=True)
    queue: Mapped[str] = mapped_column(sa.String(50))
    name: Mapped[str] = mapped_column(sa.String(100))
    aggregate_type: Mapped[str] = mapped_column(sa.String(50))
    aggregate_id: Mapped[str] = mapped_column(sa.String(50))
    data: Mapped[dict[str, Json]]
    attempts: Mapped[int]
    error: Mapped[str] = mapped_column(sa.String(500))
    recorded_at: Mapped[datetime]
    failed_at: Mapped[datetime] = mapped_column(index=True)
    notified_at: Mapped[datetime | None] = mapped_column(index=True)
