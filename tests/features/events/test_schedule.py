"""Timers with a time of day: one process runs them, and what was missed is made up for."""

from datetime import UTC, datetime, time, timedelta
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from saraban.kit.db import Database
from saraban.worker.schedule import CLAIM_LIFE, RETRY_PAUSE, DailyRun, Schedule, Timer, TimerRun

NIGHT = datetime(2026, 11, 27, 20, 0, tzinfo=UTC)  # 03:00 in Bangkok
MINUTE = timedelta(minutes=1)


class Nightly:
    def __init__(self, db: Database) -> None:
        self.now = NIGHT  # by the clock of the database
        self.runs: list[datetime] = []
        self.fault: BaseException | None = None
        self.system: Any = SimpleNamespace(db=db, clock=SimpleNamespace(zone=ZoneInfo("Asia/Bangkok")))
        self.timer = Timer("nightly", self.run, at=time(3, 0))

    async def run(self, _system: object, now: datetime) -> None:
        self.runs.append(now)
        if self.fault is not None:
            raise self.fault

    async def database_now(self, _session: object) -> datetime:
        return self.now

    async def look(self, now: datetime) -> bool:
        """Look as another process does each time."""
        self.now = now
        return await Schedule(self.system, [self.timer]).run(self.timer, now)


@pytest.fixture
def nightly(db: Database, monkeypatch: pytest.MonkeyPatch) -> Nightly:
    nightly = Nightly(db)
    monkeypatch.setattr("saraban.worker.schedule.database_now", nightly.database_now)
    return nightly


async def test_runs_once_a_day_for_all_processes(nightly: Nightly) -> None:
    looks = [NIGHT, NIGHT + MINUTE, NIGHT + timedelta(hours=23), NIGHT + timedelta(days=1), NIGHT + timedelta(days=1)]

    assert [await nightly.look(now) for now in looks] == [True, False, False, True, False]
    assert nightly.runs == [NIGHT, NIGHT + timedelta(days=1)]


async def test_makes_up_once_for_the_runs_that_were_missed(nightly: Nightly) -> None:
    await nightly.look(NIGHT)
    start = NIGHT + timedelta(days=3, hours=5)

    assert [await nightly.look(start), await nightly.look(start + MINUTE)] == [True, False]


async def test_runs_again_ten_minutes_after_it_failed(nightly: Nightly) -> None:
    nightly.fault = RuntimeError("the disk is full")
    with pytest.raises(RuntimeError):
        await nightly.look(NIGHT)
    nightly.fault = None

    assert [await nightly.look(NIGHT + pause) for pause in (MINUTE, RETRY_PAUSE, RETRY_PAUSE + MINUTE)] == [
        False,
        True,
        False,
    ]


async def test_is_claimed_for_an_hour_by_a_process_that_was_killed(
    nightly: Nightly, monkeypatch: pytest.MonkeyPatch
) -> None:
    nightly.fault = KeyboardInterrupt()
    with monkeypatch.context() as killed:
        killed.setattr("saraban.worker.schedule.DailyRun.put_off", None)
        with pytest.raises(TypeError):
            await nightly.look(NIGHT)
    nightly.fault = None

    assert [await nightly.look(NIGHT + pause) for pause in (CLAIM_LIFE - MINUTE, CLAIM_LIFE)] == [False, True]


@pytest.mark.parametrize("end", ["complete", "put_off"])
async def test_ignores_the_end_of_a_claim_that_lapsed(nightly: Nightly, db: Database, end: str) -> None:
    daily = DailyRun("nightly", NIGHT)
    slow = await daily.claim(db)
    nightly.now += CLAIM_LIFE
    quick = await daily.claim(db)
    assert slow is not None
    assert quick is not None

    await db.transact(getattr(daily, end), slow)

    async with db.reading() as session:
        row = await session.get_one(TimerRun, "nightly")
        assert (row.claimed_until, row.done_for) == (quick, None)
    await db.transact(daily.complete, quick)
    assert await daily.claim(db) is None


async def test_is_put_off_by_the_clock_of_the_database(nightly: Nightly, db: Database) -> None:
    nightly.fault = RuntimeError("the disk is full")
    nightly.now = NIGHT + timedelta(days=2)
    with pytest.raises(RuntimeError):
        await Schedule(nightly.system, [nightly.timer]).run(nightly.timer, NIGHT)

    async with db.reading() as session:
        assert (await session.get_one(TimerRun, "nightly")).claimed_until == nightly.now + RETRY_PAUSE
