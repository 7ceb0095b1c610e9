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
from saraban.kit.db import Base, Database

CLAIM_LIFE: Final = timedelta(hours=1)
RETRY_PAUSE: Final = timedelta(minutes=10)


class TimerRun(Base):
    """
    A timer with a time of day.

    :param done_for: the moment whose run is done
    :param claimed_until: until when no other process begins the run that is due
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
        worker ran follows at the start, a failed run after ten minutes. After an hour another process may start it too: longer work is a `Job`.
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
        daily = DailyRun(timer.name, last_due(timer.at, now=now, zone=self.system.clock.zone), now)
        if not await daily.claim(db):
            return False
        try:
            await timer.run(self.system, now)
        except BaseException:
            await db.transact(daily.put_off)
            raise
        await db.transact(daily.complete)
        return True


@dataclass(frozen=True, slots=True)
class DailyRun:
    """The run of a timer that was due last."""

    name: str
    due: datetime
    now: datetime

    async def claim(self, db: Database) -> bool:
        """Return whether this process is to run it; a run that is done or claimed costs a read."""
        async with db.reading() as session:
            if not self._is_open(await session.get(TimerRun, self.name)):
                return False
        try:
            return await db.transact(self._take)
        except IntegrityError:  # another process added the row in this moment
            return False

    async def put_off(self, session: AsyncSession) -> None:
        row = await session.get_one(TimerRun, self.name)
        row.claimed_until = self.now + RETRY_PAUSE

    async def complete(self, session: AsyncSession) -> None:
        row = await session.get_one(TimerRun, self.name)
        row.done_for, row.claimed_until = self.due, None

    def _is_open(self, row: TimerRun | None) -> bool:
        if row is None:
            return True
        is_done = row.done_for is not None and row.done_for >= self.due
        return not is_done and (row.claimed_until is None or row.claimed_until <= self.now)

    async def _take(self, session: AsyncSession) -> bool:
        row = await session.get(TimerRun, self.name, with_for_update=True)
        if not self._is_open(row):
            return False
        row = row or TimerRun(name=self.name)
        row.claimed_until = self.now + CLAIM_LIFE
        session.add(row)
        await session.flush()
        return True
