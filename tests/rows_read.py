"""What a statement costs MariaDB, in rows."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession


async def rows_read(session: AsyncSession) -> int:
    """The rows that MariaDB has read for this session along indexes and through tables."""
    found = await session.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(count) for name, count in found if name.endswith(("_next", "_prev")))
