"""When the worker's timers run: every so often in each process, or at a time of day in one of them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from saraban.bootstrap import System
from saraban.kit.db import Base, Database, database_now

CLAIM_LIFE: Final = timedelta(hours=1)
RETRY_PAUSE: Final = timedelta(minutes=10)


class TimerRun(Base):
    """
    A timer with a time of day.

    :param done_for: the moment whose run is done
    :param claimed_until: until when no other process begins the run that is due, by the database's clock. It names the claim: a later
        claim ends later
    """

    __tablename__ = "timer_runs"

    name: Mapped[str] = mapped_column(sa.String(50), primary_key=True)
    done_for: Mapped[datetime | None]
    claimed_until: Mapped[datetime | None]


@dataclass(frozen=True, slots=True)
class Timer:
    """
    A row of the worker's table.

    :param run: called with the system and the present moment
    :param every: pause between two runs. Each process runs it, first at its start; with `at`, each looks this often.
    :param at: local time of a daily run, in the zone of the deployment. One process runs it. A run that was missed while no
        worker ran follows at the start, a failed run after ten minutes. Timers run one after another, and after five
        minutes of one the worker counts as hung: longer work is a `Job`.
    """

    name: str
    run: Callable[[System, datetime], Awaitable[object]]
    every: timedelta = timedelta(minutes=1)
    at: time | None = None


def last_due(at: time, *, now: datetime, zone: ZoneInfo) -> datetime:
    """
    Return the last moment until `now` at which clocks in the zone showed `at`, once for each day.

    A time that is skipped in spring counts as much later as clocks are put forward; of a time that comes twice in autumn the
    first one counts.
    """
    today = now.astimezone(zone).date()
    due = datetime.combine(today, at, zone).astimezone(UTC)
    return due if due <= now else datetime.combine(today - timedelta(days=1), at, zone).astimezone(UTC)


class Schedule:
    """Timers on one system, for its worker."""

    def __init__(self, system: System, timers: Sequence[Timer]) -> None:
        self.system, self.timers = system, tuple(timers)

    async def run(self, timer: Timer, now: datetime) -> bool:
        """Run the timer and return True, unless it has a time of day and the run that is due is done or claimed."""
        if timer.at is None:
            await timer.run(self.system, now)
            return True
        db = self.system.db
        daily = DailyRun(timer.name, last_due(timer.at, now=now, zone=self.system.clock.zone))
        if (claim := await daily.claim(db)) is None:
            return False
        try:
            await timer.run(self.system, now)
        except BaseException:
            await db.transact(daily.put_off, claim)
            raise
        await db.transact(daily.complete, claim)
        return True


@dataclass(frozen=True, slots=True)
class DailyRun:
    """The run of a timer that was due last."""

    name: str
    due: datetime

    async def claim(self, db: Database) -> datetime | None:
        """Return until when this process has the run; None for a run that is done or claimed, which costs a read."""
        async with db.reading() as session:
            if not await self._is_open(session, await session.get(TimerRun, self.name)):
                return None
        try:
            return await db.transact(self._take)
        except IntegrityError:  # another process added the row in this moment
            return None

    async def put_off(self, claim: datetime, session: AsyncSession) -> None:
        if (row := await self._lock_claimed(claim, session)) is not None:
            row.claimed_until = await database_now(session) + RETRY_PAUSE

    async def complete(self, claim: datetime, session: AsyncSession) -> None:
        if (row := await self._lock_claimed(claim, session)) is not None:
            row.claimed_until, row.done_for = None, self.due

    async def _lock_claimed(self, claim: datetime, session: AsyncSession) -> TimerRun | None:
        """Return the row, unless the claim lapsed and another process has claimed the run since."""
        row = await session.get(TimerRun, self.name, with_for_update=True)
        return row if row is not None and row.claimed_until == claim else None

    async def _is_open(self, session: AsyncSession, row: TimerRun | None) -> bool:
        if row is None:
            return True
        is_done = row.done_for is not None and row.done_for >= self.due
        return not is_done and (row.claimed_until is None or row.claimed_until <= await database_now(session))

    async def _take(self, session: AsyncSession) -> datetime | None:
        row = await session.get(TimerRun, self.name, with_for_update=True)
        if not await self._is_open(session, row):
            return None
        row = row or TimerRun(name=self.name)
        row.claimed_until = await database_now(session) + CLAIM_LIFE
        session.add(row)
        await session.flush()
        return row.claimed_until
