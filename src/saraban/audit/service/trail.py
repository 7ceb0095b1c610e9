"""Writing and reading the audit trail; a row is written in the transaction of the deed it tells of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.models import AuditLog
from saraban.kit.db import table_of
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page, newest_first, page_of
from saraban.kit.pipeline import DriverConnection, SqlStatement, insert_mappings_statement
from saraban.kit.trace import trace_id

_INSERT = sa.insert(table_of(AuditLog))

Severity = Literal["INFO", "WARN", "ERROR", "CRITICAL"]


class AuditActor(Protocol):
    """As much of a caller as the trail needs; `identity` stands above and hands in its own."""

    @property
    def user_id(self) -> int: ...

    @property
    def public_id(self) -> UUID: ...


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the trail, without integer keys."""

    public_id: UUID
    action: str
    severity: str
    entity_type: str | None
    entity_id: str | None
    details: Mapping[str, Any]
    actor_public_id: UUID | None
    address: str | None
    request_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """
    What somebody did, for the trail.

    :param action: `<module>.<action>`, for example `rfa.create`
    :param caller: None for a deed of nobody who is known, such as a failed log-in
    :param entity_id: the public id; an integer key has no place here, nor in `details`
    :param request_id: the trace of its request; None for that of the running task
    """

    action: str
    caller: AuditActor | None
    entity_type: str
    entity_id: str
    details: Mapping[str, Any]
    address: str
    now: datetime
    severity: Severity = "INFO"
    user_agent: str | None = None
    request_id: str | None = None


async def write(
    session: AsyncSession,
    *,
    action: str,
    caller: AuditActor | None,
    entity_type: str,
    entity_id: str,
    details: Mapping[str, Any],
    address: str,
    now: datetime,
    severity: Severity = "INFO",
    user_agent: str | None = None,
) -> None:
    """Add one row, in the caller's transaction; the parameters are those of `Deed`."""
    deed = AuditEntry(action, caller, entity_type, entity_id, details, address, now, severity, user_agent)
    await session.flush()  # the deed itself, where it is still in the session's memory
    await session.execute(_INSERT, _row(deed))


def insert_statement(driver: DriverConnection, deeds: Sequence[AuditEntry]) -> SqlStatement:
    """Return the one statement that adds the rows of several deeds, in their order."""
    return insert_mappings_statement(driver, table_of(AuditLog), [_row(deed) for deed in deeds])


def _row(deed: AuditEntry) -> dict[str, Any]:
    return {
        "uuid": new_id(),
        "request_id": deed.request_id or trace_id() or None,
        "user_id": deed.caller.user_id if deed.caller else None,
        "actor_uuid": deed.caller.public_id if deed.caller else None,
        "action": deed.action,
        "severity": deed.severity,
        "entity_type": deed.entity_type,
        "entity_id": deed.entity_id,
        "details_json": dict(deed.details),
        "ip_address": deed.address[:45] or None,
        "user_agent": deed.user_agent[:255] if deed.user_agent else None,
        "created_at": deed.now,
    }


async def list_records(
    session: AsyncSession,
    *,
    entity_type: str | None = None,
    entity_id: str | None = None,
    action: str | None = None,
    actor_public_id: UUID | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[AuditRecord]:
    """Return the trail newest first; each filter that is given narrows it."""
    chosen = {
        AuditLog.entity_type: entity_type,
        AuditLog.entity_id: entity_id,
        AuditLog.action: action,
        AuditLog.actor_uuid: actor_public_id,
    }
    conditions = [column == value for column, value in chosen.items() if value is not None]
    statement = newest_first(
        sa.select(AuditLog).where(*conditions),
        at=AuditLog.created_at,
        public_id=AuditLog.public_id,
        cursor=cursor,
        limit=limit,
    )
    rows = [_entry(row) for row in (await session.scalars(statement)).all()]
    return page_of(rows, limit=limit, key=lambda entry: (entry.created_at, entry.public_id))


def _entry(row: AuditLog) -> AuditRecord:
    return AuditRecord(
        public_id=row.public_id,
        action=row.action,
        severity=row.severity,
        entity_type=row.entity_type,
        entity_id=row.entity_id,
        details=row.details_json or {},
        actor_public_id=row.actor_uuid,
        address=row.ip_address,
        request_id=row.request_id,
        created_at=row.created_at,
    )
