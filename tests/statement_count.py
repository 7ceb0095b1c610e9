"""How many statements a block of code sends to the database, and how many rows that has it read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.kit.db import Database


@contextmanager
def counting(db: Database) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    engines = {db.engine.sync_engine, db.reading_engine.sync_engine}
    for engine in engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            sa.event.remove(engine, "before_cursor_execute", note)


async def rows_read(session: AsyncSession) -> int:
    """The rows that MariaDB has read for this session along indexes and through tables."""
    found = await session.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(count) for name, count in found if name.endswith(("_next", "_prev")))
