"""Which reminder goes out on which day."""

from datetime import date, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saraban.notifications.domain.reminders import Reminder, ReminderSchedule, due_reminder
from saraban.projects.domain.calendar import WorkCalendar, public_holidays

THAI = WorkCalendar(closed=frozenset(public_holidays()))
DUE = date(2026, 4, 17)  # a Friday; Monday to Wednesday before it are Songkran
LONG_AGO = date(2026, 3, 1)


def on(day: date, *, plan: ReminderSchedule | None = None, since: date = LONG_AGO) -> Reminder | None:
    return due_reminder(plan or ReminderSchedule(), THAI, due=DUE, since=since, today=day)


class TestDueReminder:
    @pytest.mark.parametrize(
        ("day", "expected"),
        [
            (date(2026, 4, 8), None),
            (date(2026, 4, 9), Reminder(-3, 3)),
            (date(2026, 4, 10), Reminder(-3, 2)),
            (date(2026, 4, 13), None),  # Songkran
            (date(2026, 4, 16), Reminder(-1, 1)),
            (date(2026, 4, 17), Reminder(-1, 0)),
            (date(2026, 4, 18), None),  # a Saturday
            (date(2026, 4, 20), Reminder(1, 1)),
            (date(2026, 4, 21), Reminder(1, 2)),
            (date(2026, 4, 22), Reminder(3, 3)),
            (date(2026, 4, 28), Reminder(3, 7)),
            (date(2026, 4, 29), Reminder(8, 8)),
            (date(2026, 5, 8), Reminder(13, 13)),  # Labour Day and Coronation Day are not counted
        ],
    )
    def test_is_the_newest_that_was_reached(self, day: date, expected: Reminder | None) -> None:
        assert on(day) == expected

    def test_is_on_the_day_itself_when_the_plan_says_so(self) -> None:
        assert on(DUE, plan=ReminderSchedule(before=(1, 0))) == Reminder(0, 0)

    def test_says_nothing_that_was_over_when_the_document_came(self) -> None:
        assert on(date(2026, 4, 10), since=date(2026, 4, 9)) is None
        assert on(date(2026, 4, 16), since=date(2026, 4, 9)) == Reminder(-1, 1)

    def test_ends_when_the_plan_has_no_more(self) -> None:
        assert on(date(2026, 6, 30), plan=ReminderSchedule(every=None)) == Reminder(
            3, 47
        )  # 13 May is the ploughing ceremony
        assert on(date(2026, 6, 30), plan=ReminderSchedule(after=(), every=None)) is None

    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        plan=st.builds(
            ReminderSchedule,
            before=st.lists(st.integers(0, 10), max_size=4).map(tuple),
            after=st.lists(st.integers(1, 12), max_size=4).map(tuple),
            every=st.none() | st.integers(1, 9),
        )
    )
    def test_looked_for_each_day_gives_each_stage_once_and_in_order(self, plan: ReminderSchedule) -> None:
        days = [LONG_AGO + timedelta(days=offset) for offset in range(120)]
        found = [one.stage for day in days if (one := on(day, plan=plan)) is not None]

        assert found == sorted(found)
        assert {-count for count in plan.before} | set(plan.after) <= set(found)
