"""Tables of the audit trail, whose rows are never changed."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, ORMExecuteState, Session, declared_attr, mapped_column

from saraban.kit.db import Base, Code, HasPublicId, TableArguments, public_id_index
from saraban.kit.json import Json

_NEWEST = ("created_at", "uuid")


class Severity(StrEnum):
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"
    CRITICAL = "CRITICAL"


class AuditLog(HasPublicId, Base):
    """The keys of users are no foreign keys, because rows outlive what they refer to."""

    __tablename__ = "audit_logs"

    audit_id: Mapped[int] = mapped_column(
        sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True, autoincrement=True
    )
    request_id: Mapped[str | None] = mapped_column(sa.String(100))
    user_id: Mapped[int | None]
    actor_uuid: Mapped[UUID | None] = mapped_column(sa.Uuid())
    action: Mapped[str] = mapped_column(sa.String(100))
    severity: Mapped[str] = mapped_column(
        sa.Enum(*Severity, name="severity"), default=Severity.INFO, server_default=Severity.INFO
    )
    entity_type: Mapped[str | None] = mapped_column(sa.String(50))
    entity_id: Mapped[str | None] = mapped_column(sa.String(50))
    details_json: Mapped[dict[str, Json] | None]
    ip_address: Mapped[str | None] = mapped_column(sa.String(45))
    user_agent: Mapped[str | None] = mapped_column(sa.String(255))
    created_at: Mapped[datetime]

    @declared_attr.directive
    @classmethod
    def __table_args__(cls) -> TableArguments:
        return public_id_index(
            "audit_logs",
            sa.Index("idx_audit_request_id", "request_id"),
            # All but the index of entities return rows in the order of a page.
            sa.Index("idx_audit_logs_user", "user_id", *_NEWEST),
            sa.Index("idx_audit_logs_action", "action", *_NEWEST),
            sa.Index("idx_audit_logs_entity", "entity_type", "entity_id"),
            sa.Index("idx_audit_logs_object", "entity_id", *_NEWEST),
            sa.Index("idx_audit_logs_kind", "entity_type", *_NEWEST),
            sa.Index("idx_audit_logs_created_at", *_NEWEST),
            unique=False,  # partitioned by year on MariaDB, where a unique index would have to contain the year
        )


SEALED_TABLES = frozenset({"audit_logs", "document_number_audit", "audit_blocks"})
ALLOW_PURGE = "saraban_lawful_deletion"  # execution option of the statements of `purge`


@event.listens_for(Session, "before_flush")
def _refuse_changed_rows(session: Session, _context: object, _instances: object) -> None:
    touched = [*session.deleted, *(row for row in session.dirty if session.is_modified(row))]
    if any(getattr(row, "__tablename__", "") in SEALED_TABLES for row in touched):
        raise RuntimeError("the audit trail is append-only")


@event.listens_for(Session, "do_orm_execute")
def _refuse_statements(state: ORMExecuteState) -> None:
    statement = state.statement
    if not isinstance(statement, sa.Update | sa.Delete) or state.execution_options.get(ALLOW_PURGE):
        return
    if getattr(statement.table, "name", "") in SEALED_TABLES:
        raise RuntimeError("the audit trail is append-only")


class AuditBlock(HasPublicId, Base):
    """
    The header of a sealed block of rows; it outlives the rows and shows their deletion.

    The block contains the rows after the last key of the previous block, up to `last_id`. `row_list` has the public id
    and digest of each row, to name a changed row. A `PURGE` block has no rows. Blocks from before revision 0074 are not
    signed.
    """

    __tablename__ = "audit_blocks"
    __table_args__ = public_id_index(
        "audit_blocks",
        sa.Index("idx_audit_blocks_number", "journal", "number", unique=True),
        sa.CheckConstraint("kind IN ('SEAL', 'PURGE')", name="kind"),
    )

    id: Mapped[int] = mapped_column(sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True)
    journal: Mapped[str] = mapped_column(sa.String(20))
    number: Mapped[int]
    kind: Mapped[str] = mapped_column(sa.String(10))
    last_id: Mapped[int] = mapped_column(sa.BigInteger)
    row_count: Mapped[int]
    rows_digest: Mapped[str] = mapped_column(sa.String(64))
    previous_head: Mapped[str] = mapped_column(sa.String(64))
    head: Mapped[str] = mapped_column(sa.String(64))
    first_at: Mapped[datetime]
    last_at: Mapped[datetime]
    sealed_at: Mapped[datetime]
    purged_first: Mapped[int | None]
    purged_last: Mapped[int | None]
    signature: Mapped[str | None] = mapped_column(Code(128))
    public_key: Mapped[str | None] = mapped_column(Code(64))
    row_list: Mapped[bytes | None] = mapped_column(
        sa.LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb"), deferred=True
    )
