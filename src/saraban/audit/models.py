"""The audit trail of everything but numbers: rows are added, never changed, never deleted."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from saraban.kit.db import Base, HasPublicId, public_id_index

SEVERITIES = ("INFO", "WARN", "ERROR", "CRITICAL")


class AuditLog(HasPublicId, Base):
    """
    One thing that somebody did.

    `user_id` and `actor_uuid` have no foreign key: the trail outlives whatever it speaks of.
    """

    __tablename__ = "audit_logs"

    audit_id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    request_id: Mapped[str | None] = mapped_column(sa.String(100))
    user_id: Mapped[int | None]
    actor_uuid: Mapped[UUID | None] = mapped_column(sa.Uuid())
    action: Mapped[str] = mapped_column(sa.String(100))
    severity: Mapped[str] = mapped_column(sa.Enum(*SEVERITIES, name="severity"), default="INFO", server_default="INFO")
    entity_type: Mapped[str | None] = mapped_column(sa.String(50))
    entity_id: Mapped[str | None] = mapped_column(sa.String(50))
    details_json: Mapped[dict[str, Any] | None]
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    user_agent: Mapped[str | None] = mapped_column(sa.String(255))
    created_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> tuple[Any, ...]:
        return public_id_index(
            "audit_logs",
            sa.Index("idx_audit_request_id", "request_id"),
            sa.Index("idx_audit_logs_user", "user_id"),
            sa.Index("idx_audit_logs_action", "action"),
            sa.Index("idx_audit_logs_entity", "entity_type", "entity_id"),
            sa.Index("idx_audit_logs_created_at", "created_at"),
            unique=False,  # partitioned by year on MariaDB, where a unique index would have to contain the year
        )


@event.listens_for(AuditLog, "before_update")
@event.listens_for(AuditLog, "before_delete")
def _refuse(_mapper: object, _connection: object, _row: AuditLog) -> None:
    raise RuntimeError("the audit trail is append-only")


class AuditBlock(HasPublicId, Base):
    """
    The header of a sealed block of audit rows; it outlives the rows, whose lawful deletion it makes visible.

    `head` is the SHA-256 over `previous_head` and the block's own facts; all digests in lower-case hex.
    """

    __tablename__ = "audit_blocks"
    __table_args__ = public_id_index(
        "audit_blocks", sa.Index("idx_audit_blocks_number", "journal", "number", unique=True)
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    journal: Mapped[str] = mapped_column(sa.String(20))
    number: Mapped[int]
    first_id: Mapped[int] = mapped_column(sa.BigInteger)
    last_id: Mapped[int] = mapped_column(sa.BigInteger)
    row_count: Mapped[int]
    rows_digest: Mapped[str] = mapped_column(sa.String(64))
    previous_head: Mapped[str] = mapped_column(sa.String(64))
    head: Mapped[str] = mapped_column(sa.String(64))
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    sealed_at: Mapped[datetime]
