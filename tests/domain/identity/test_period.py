"""From when until when a role counts: days outside, moments inside."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from saraban.identity.domain.period import PeriodState, RolePeriod
from saraban.kit.errors import Invalid

BANGKOK = ZoneInfo("Asia/Bangkok")
NOW = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)  # in Bangkok it is the 24th
DAY = timedelta(days=1)


class TestDays:
    def test_last_until_their_midnight_in_the_zone(self) -> None:
        period = RolePeriod.of_days(date(2026, 11, 23), date(2026, 11, 24), BANGKOK)

        assert period.begins == datetime(2026, 11, 22, 17, 0, tzinfo=UTC)
        assert period.ends == datetime(2026, 11, 24, 17, 0, tzinfo=UTC)
        assert (period.first_day(BANGKOK), period.last_day(BANGKOK)) == (date(2026, 11, 23), date(2026, 11, 24))

    def test_end_on_the_day_they_begin_at_the_earliest(self) -> None:
        RolePeriod.of_days(date(2026, 11, 23), date(2026, 11, 23), BANGKOK)
        with pytest.raises(Invalid) as refusal:
            RolePeriod.of_days(date(2026, 11, 23), date(2026, 11, 22), BANGKOK)

        assert [one.pointer for one in refusal.value.fields] == ["/until"]


@pytest.mark.parametrize(
    ("period", "state", "change"),
    [
        (RolePeriod(), PeriodState.ACTIVE, None),
        (RolePeriod(NOW, NOW + DAY), PeriodState.ACTIVE, NOW),
        (RolePeriod(NOW - DAY, NOW + DAY), PeriodState.ACTIVE, NOW + DAY),
        (RolePeriod(NOW + DAY, None), PeriodState.UPCOMING, NOW + DAY),
        (RolePeriod(NOW - 2 * DAY, NOW - DAY), PeriodState.ENDED, None),
    ],
)
def test_it_begins_counts_and_ends(period: RolePeriod, state: PeriodState, change: datetime | None) -> None:
    assert (period.state(NOW), period.next_change(NOW)) == (state, change)


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        (RolePeriod(), RolePeriod(), True),
        (RolePeriod(), RolePeriod(NOW + DAY, NOW + 2 * DAY), True),
        (RolePeriod(None, NOW + DAY), RolePeriod(NOW + DAY, None), False),
        (RolePeriod(NOW + DAY, NOW + 3 * DAY), RolePeriod(NOW + 2 * DAY, None), True),
        (RolePeriod(None, NOW - DAY), RolePeriod(), False),
    ],
)
def test_two_meet_where_both_count_from_now_on(one: RolePeriod, other: RolePeriod, meet: bool) -> None:
    assert (one.meets(other, NOW), other.meets(one, NOW)) == (meet, meet)
