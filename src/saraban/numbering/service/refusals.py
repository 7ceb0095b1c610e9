"""What numbering refused and where it failed: read by operators, forgotten after seven years or more."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.identity.domain.permission import Scope
from saraban.kit.pagination import Page
from saraban.numbering.repository import refused
from saraban.numbering.repository.refused import NumberErrorRow

READS = "system.view_logs"
ERROR_RETENTION: Final = timedelta(days=2557)  # seven years, as the audit
_BATCH = 1000


async def list_errors(
    session: AsyncSession,
    *,
    caller: Caller,
    kind: str | None = None,
    username: str | None = None,
    trace: str | None = None,
    since: datetime | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[NumberErrorRow]:
    """
    Return refused and failed calls of every project, newest first.

    :param kind: only those of this type, such as `LOCK_TIMEOUT`
    :param trace: only that of the request with this trace id
    :raises Forbidden: for who may not read the system's logs: a row may name a project, or nobody at all
    """
    caller.require(READS, Scope())
    return await refused.errors_page(
        session, kind=kind, username=username, trace=trace, since=since, cursor=cursor, limit=limit
    )


async def delete_old_errors(session: AsyncSession, *, now: datetime, keep: timedelta = ERROR_RETENTION) -> int:
    """Delete a bounded number of rows that are older than `keep`, and return their number."""
    return await refused.delete_errors(session, before=now - keep, limit=_BATCH)
