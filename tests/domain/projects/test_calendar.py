"""Counting in working days."""

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saraban.projects.domain.calendar import (
    WEEKDAYS,
    YEARS,
    WorkCalendar,
    public_holidays,
    working_days_after,
    working_days_between,
)

HOLIDAYS = public_holidays()
DAYS = st.dates(date(2024, 1, 1), date(2029, 12, 31))
SETS = st.frozensets(st.dates(date(2025, 1, 1), date(2025, 3, 31)), max_size=12)
CALENDARS = st.builds(
    WorkCalendar, weekend=st.frozensets(st.sampled_from(WEEKDAYS), max_size=6), closed=SETS, open=SETS
)
# A machine that is busy with something else is no reason to fail.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
THAI = WorkCalendar(closed=frozenset(HOLIDAYS))


class TestAfter:
    @pytest.mark.parametrize(
        ("start", "count", "expected"),
        [
            (date(2026, 4, 10), 1, date(2026, 4, 16)),  # Friday before Songkran
            (date(2026, 4, 16), -1, date(2026, 4, 10)),
            (date(2026, 12, 4), 1, date(2026, 12, 8)),  # the 5th is a Saturday, its substitute the Monday
            (date(2026, 11, 21), 0, date(2026, 11, 21)),
            (date(2026, 11, 21), 5, date(2026, 11, 27)),
        ],
    )
    def test_steps_over_weekends_and_thai_holidays(self, start: date, count: int, expected: date) -> None:
        assert working_days_after(THAI, start, count) == expected

    def test_counts_a_day_that_is_worked_all_the_same(self) -> None:
        saturday = date(2026, 11, 21)
        calendar = WorkCalendar(open=frozenset({saturday}))

        assert working_days_after(calendar, date(2026, 11, 20), 1) == saturday

    @PATIENT
    @given(calendar=CALENDARS, start=DAYS, count=st.integers(-60, 60))
    def test_is_undone_by_between(self, calendar: WorkCalendar, start: date, count: int) -> None:
        end = working_days_after(calendar, start, count)

        assert working_days_between(calendar, start, end) == count
        assert count == 0 or calendar.is_working(end)

    @PATIENT
    @given(calendar=CALENDARS, start=DAYS, one=st.integers(0, 30), two=st.integers(0, 30))
    def test_goes_as_far_in_two_steps_as_in_one(self, calendar: WorkCalendar, start: date, one: int, two: int) -> None:
        halfway = working_days_after(calendar, start, one)

        assert working_days_after(calendar, halfway, two) == working_days_after(calendar, start, one + two)


class TestBetween:
    @PATIENT
    @given(calendar=CALENDARS, first=DAYS, length=st.integers(0, 200))
    def test_counts_each_working_day_once(self, calendar: WorkCalendar, first: date, length: int) -> None:
        days = [first + timedelta(days=offset) for offset in range(1, length + 1)]

        found = working_days_between(calendar, first, first + timedelta(days=length))

        assert found == sum(calendar.is_working(day) for day in days)

    @PATIENT
    @given(calendar=CALENDARS, first=DAYS, length=st.integers(0, 100))
    def test_never_counts_more_backwards_than_the_days_there_are(
        self, calendar: WorkCalendar, first: date, length: int
    ) -> None:
        assert -length <= working_days_between(calendar, first, first - timedelta(days=length)) <= 0


class TestCalendar:
    def test_of_a_week_without_work_is_refused(self) -> None:
        with pytest.raises(ValueError, match="working day"):
            WorkCalendar(weekend=frozenset(WEEKDAYS))


class TestThaiHolidays:
    def test_on_a_weekend_have_a_substitute_on_the_next_working_day(self) -> None:
        plain = WorkCalendar(closed=frozenset(day for day, name in HOLIDAYS.items() if "(in lieu)" not in name.en))
        lost = sorted(day for day, name in HOLIDAYS.items() if day.weekday() >= 5 and "(in lieu)" not in name.en)
        wanted = {working_days_after(plain, day, 1) for day in lost}

        assert wanted == {day for day, name in HOLIDAYS.items() if "(in lieu)" in name.en}

    @pytest.mark.parametrize("year", sorted(YEARS))
    def test_of_a_year_are_at_least_the_thirteen_of_the_labour_law(self, year: int) -> None:
        assert sum(day.year == year for day in HOLIDAYS) >= 13

    @pytest.mark.parametrize(
        "day", [date(2025, 5, 9), date(2026, 5, 13), date(2025, 7, 11), date(2026, 7, 30), date(2027, 7, 19)]
    )
    def test_are_those_of_government_offices_not_of_banks(self, day: date) -> None:
        """The ploughing ceremony and the first day of Buddhist Lent, on which banks are open."""
        assert day in HOLIDAYS

    def test_keep_the_day_of_workers(self) -> None:
        assert all(date(year, 5, 1) in HOLIDAYS for year in YEARS)

    def test_have_names_in_both_languages(self) -> None:
        assert all(name.th and name.en.isascii() for name in HOLIDAYS.values())
