"""Writes and reads the audit trail, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import repository
from saraban.audit.models import AuditLog, Severity
from saraban.audit.repository import AuditRecord, AuditSearch
from saraban.kit.db import table_of
from saraban.kit.fastlane import insert_rows
from saraban.kit.ids import new_id, trace_id
from saraban.kit.pagination import Page, page_of


class Actor(Protocol):
    @property
    def user_id(self) -> int: ...

    @property
    def public_id(self) -> UUID: ...


class AuditContext(Protocol):
    @property
    def caller(self) -> Actor | None: ...

    @property
    def now(self) -> datetime: ...

    @property
    def address(self) -> str: ...


@dataclass(frozen=True, slots=True)
class AuditOrigin:
    """:param caller: None if nobody is signed in, as for a failed log-in"""

    caller: Actor | None
    now: datetime
    address: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """
    :param action: `<module>.<action>`, such as `rfa.create`
    :param entity_id: public id; never use integer keys, also in `details`
    :param request_id: None for the trace of the running task
    """

    action: str
    entity_type: str
    entity_id: str
    details: Mapping[str, object]
    severity: Severity = Severity.INFO
    request_id: str | None = None


async def record(ctx: AuditContext, session: AsyncSession, entry: AuditEntry) -> None:
    await record_all(ctx, session, [entry])


async def record_all(ctx: AuditContext, session: AsyncSession, entries: Sequence[AuditEntry]) -> None:
    if entries:
        await insert_rows(session, table_of(AuditLog), [_row(ctx, entry) for entry in entries])


def _row(ctx: AuditContext, entry: AuditEntry) -> dict[str, object]:
    return {
        "uuid": new_id(),
        "request_id": entry.request_id or trace_id() or None,
        "user_id": ctx.caller.user_id if ctx.caller else None,
        "actor_uuid": ctx.caller.public_id if ctx.caller else None,
        "action": entry.action,
        "severity": entry.severity,
        "entity_type": entry.entity_type,
        "entity_id": entry.entity_id,
        "details_json": dict(entry.details),
        "ip_address": ctx.address[:45] or None,
        "created_at": ctx.now,
    }


async def list_records(
    session: AsyncSession,
    *,
    entity_type: str | None = None,
    entity_id: str | None = None,
    action: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[AuditRecord]:
    search = AuditSearch((entity_id,) if entity_id else (), entity_type, (action,) if action else ())
    return await search_records(session, search, cursor=cursor, limit=limit)


async def search_records(
    session: AsyncSession, search: AuditSearch, *, cursor: str | None = None, limit: int = 50
) -> Page[AuditRecord]:
    records = await repository.search(session, search, cursor=cursor, limit=limit)
    return page_of(records, limit=limit, key=lambda record: (record.created_at, record.public_id))
