"""When a timer with a time of day was due last."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from saraban.worker.schedule import last_due

BANGKOK, BERLIN = ZoneInfo("Asia/Bangkok"), ZoneInfo("Europe/Berlin")


def utc(day: int, hour: int, minute: int = 0, *, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("at", "now", "due"),
    [
        (time(3, 0), utc(27, 20, 0), utc(27, 20, 0)),  # 03:00 of the 28th
        (time(3, 0), utc(27, 19, 59), utc(26, 20, 0)),
        (time(3, 0), utc(27, 23, 0), utc(27, 20, 0)),
        (time(3, 0), utc(28, 12, 0), utc(27, 20, 0)),
        (time(7, 0), utc(28, 0, 0), utc(28, 0, 0)),
        (time(6, 59), utc(28, 0, 0), utc(27, 23, 59)),
        (time(0, 0), utc(30, 17, 0, month=9), utc(30, 17, 0, month=9)),  # the first day of a month
    ],
)
def test_is_the_moment_at_which_local_clocks_showed_it(at: time, now: datetime, due: datetime) -> None:
    assert last_due(at, now=now, zone=BANGKOK) == due


def test_comes_once_a_day_where_clocks_are_put_forward_and_back() -> None:
    at, zone = time(2, 30), BERLIN
    spring = {
        last_due(at, now=utc(29, hour, minute, month=3), zone=zone) for hour in range(24) for minute in (0, 30, 59)
    }
    autumn = {
        last_due(at, now=utc(25, hour, minute, month=10), zone=zone) for hour in range(24) for minute in (0, 30, 59)
    }

    assert spring == {utc(28, 1, 30, month=3), utc(29, 1, 30, month=3)}
    assert autumn == {utc(24, 0, 30, month=10), utc(25, 0, 30, month=10)}
