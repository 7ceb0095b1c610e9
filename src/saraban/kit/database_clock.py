"""The database's clock, which all servers share."""

from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import SessionOrConnection


async def database_now(connected: SessionOrConnection) -> datetime:
    """Return the database's clock: what expiries are set and judged by, whichever server asks (REQ-NUM-13)."""
    if _dialect(connected).name == "sqlite":
        text = (await connected.execute(sa.text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))).scalar_one()
        return datetime.fromisoformat(str(text)).replace(tzinfo=UTC)
    moment: datetime = (await connected.execute(sa.text("SELECT UTC_TIMESTAMP(6)"))).scalar_one()
    return moment.replace(tzinfo=UTC)


def _dialect(connected: SessionOrConnection) -> sa.Dialect:
    return connected.get_bind().dialect if isinstance(connected, AsyncSession) else connected.dialect
