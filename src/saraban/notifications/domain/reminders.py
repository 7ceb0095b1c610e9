"""Which reminder of a due date is to go out on a day, in working days. A due date moves nothing; it only speaks."""

from dataclasses import dataclass
from datetime import date

from saraban.projects.domain.calendar import WorkCalendar, working_days_after, working_days_between

FURTHEST_BEFORE = 20
FURTHEST_AFTER = 60


@dataclass(frozen=True, slots=True)
class ReminderSchedule:
    """
    Working days before and after a due date on which somebody is reminded; 0 before is the day itself.

    :param every: after the last of `after`, again each so many working days; None for no more
    :param hour: of the deployment's zone, from which reminders go out
    """

    before: tuple[int, ...] = (3, 1)
    after: tuple[int, ...] = (1, 3)
    every: int | None = 5
    hour: int = 8


@dataclass(frozen=True, slots=True)
class Reminder:
    """
    :param stage: working days after the due date, negative before it; with the date it is the reminder's name
    :param days: how many working days are left, or have passed
    """

    stage: int
    days: int


def due_reminder(
    plan: ReminderSchedule, calendar: WorkCalendar, *, due: date, since: date, today: date
) -> Reminder | None:
    """
    Return the newest reminder that is to have gone out by today; on days off there is none.

    An earlier one that was missed is not made up for: the newest says all that it would have said.

    :param since: the day the document began to wait; what was due to be said by then is not said
    """
    if not calendar.is_working(today):
        return None
    if today <= due:
        stage = _before(plan, calendar, due, since, today)
        return None if stage is None else Reminder(stage, working_days_between(calendar, today, due))
    late = working_days_between(calendar, due, today)
    reached = _after(plan, late)
    return None if reached is None else Reminder(reached, late)


def _before(plan: ReminderSchedule, calendar: WorkCalendar, due: date, since: date, today: date) -> int | None:
    days = {count: working_days_after(calendar, due, -count) for count in plan.before}
    reached = [count for count, day in days.items() if since < day <= today]
    return -min(reached) if reached else None


def _after(plan: ReminderSchedule, late: int) -> int | None:
    last = max(plan.after, default=0)
    if plan.every and late >= last + plan.every:
        return late - (late - last) % plan.every
    return max((count for count in plan.after if count <= late), default=None)
