"""
Writing and reading the audit trail; a row is written in the transaction of what it tells of.

`AuditContext` is as much of a request as that needs; `identity` stands above and hands in its own.
"""

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
    """A request context, or what stands for it where nobody is signed in."""

    @property
    def caller(self) -> Actor | None: ...

    @property
    def now(self) -> datetime: ...

    @property
    def address(self) -> str: ...


@dataclass(frozen=True, slots=True)
class AuditOrigin:
    """
    What stands for a request where nobody is signed in.

    :param caller: None for an act of nobody who is known, such as a failed log-in
    """

    caller: Actor | None
    now: datetime
    address: str = ""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """
    What somebody did, for the trail.

    :param action: `<module>.<action>`, for example `rfa.create`
    :param entity_id: the public id; an integer key has no place here, nor in `details`
    :param request_id: the trace of its request; None for that of the running task
    """

    action: str
    entity_type: str
    entity_id: str
    details: Mapping[str, object]
    severity: Severity = Severity.INFO
    request_id: str | None = None


async def record(ctx: AuditContext, session: AsyncSession, entry: AuditEntry) -> None:
    """Add one row, in the caller's transaction."""
    await record_all(ctx, session, [entry])


async def record_all(ctx: AuditContext, session: AsyncSession, entries: Sequence[AuditEntry]) -> None:
    """Add the rows of several entries, in their order, with one statement."""
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
    """Return the trail newest first; each filter that is given narrows it."""
    search = AuditSearch((entity_id,) if entity_id else (), entity_type, (action,) if action else ())
    return await search_records(session, search, cursor=cursor, limit=limit)


async def search_records(
    session: AsyncSession, search: AuditSearch, *, cursor: str | None = None, limit: int = 50
) -> Page[AuditRecord]:
    """Return the rows newest first, at a cost that does not grow with the trail."""
    records = await repository.search(session, search, cursor=cursor, limit=limit)
    return page_of(records, limit=limit, key=lambda record: (record.created_at, record.public_id))
