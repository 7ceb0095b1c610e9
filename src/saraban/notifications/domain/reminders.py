"""Selects the reminder of a due date for a day."""

from dataclasses import dataclass
from datetime import date

from saraban.projects.domain.calendar import WorkCalendar, working_days_after, working_days_between

FURTHEST_BEFORE = 20
FURTHEST_AFTER = 60


@dataclass(frozen=True, slots=True)
class ReminderSchedule:
    """
    :param before: working days; 0 is the due date itself
    :param every: repeat every so many working days after the last of `after`
    """

    before: tuple[int, ...] = (3, 1)
    after: tuple[int, ...] = (1, 3)
    every: int | None = 5
    hour: int = 8


@dataclass(frozen=True, slots=True)
class Reminder:
    """:param stage: working days after the due date, negative before it"""

    stage: int
    days: int


def due_reminder(
    plan: ReminderSchedule, calendar: WorkCalendar, *, due: date, since: date, today: date
) -> Reminder | None:
    """
    Return the newest reminder that is due today, which replaces missed ones.

    :param since: the day the document began to wait; stages up to that day are skipped
    """
    if not calendar.is_working(today):
        return None
    if today <= due:
        stage = _stage_before(plan, calendar, due, since, today)
        return None if stage is None else Reminder(stage, working_days_between(calendar, today, due))
    late = working_days_between(calendar, due, today)
    stage = _stage_after(plan, late)
    return None if stage is None else Reminder(stage, late)


def _stage_before(plan: ReminderSchedule, calendar: WorkCalendar, due: date, since: date, today: date) -> int | None:
    days = {count: working_days_after(calendar, due, -count) for count in plan.before}
    reached = [count for count, day in days.items() if since < day <= today]
    return -min(reached) if reached else None


def _stage_after(plan: ReminderSchedule, late: int) -> int | None:
    last = max(plan.after, default=0)
    if plan.every and late >= last + plan.every:
        return late - (late - last) % plan.every
    return max((count for count in plan.after if count <= late), default=None)
