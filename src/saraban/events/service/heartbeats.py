"""Heartbeats: whether a worker lives, in whichever process or machine it runs."""

import math
from datetime import timedelta
from typing import Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events import repository
from saraban.kit.db import Database

LATE_SECONDS: Final = 60.0
_KEEP: Final = timedelta(hours=1)


async def record_heartbeat(session: AsyncSession, *, worker: UUID, host: str, process_id: int) -> None:
    """Record, by the database's clock, that the worker of a process lives."""
    await repository.save_heartbeat(session, worker=worker, host=host, process_id=process_id, keep=_KEEP)


async def heartbeat_age(db: Database) -> float:
    """Return the seconds since the newest heartbeat of any worker; infinity where there is none."""
    async with db.reading() as session:
        age = await repository.newest_heartbeat_age(session)
    return math.inf if age is None else age.total_seconds()
