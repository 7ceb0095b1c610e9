"""A project's working days, holidays and reminders."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from saraban.kit.clock import local_date
from saraban.kit.errors import Text
from saraban.kit.http import ReadSession
from saraban.kit.schema import Day, Schema
from saraban.notifications import service as notifications
from saraban.notifications.schemas import ReminderSettings
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WEEKDAYS
from saraban.projects.schemas import CalendarYear, NewCalendarDay, WeekendIn
from saraban.projects.service import ProjectRef
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, number_or_text, project_in, text, texts
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/calendar")

HOME: Final = "/calendar"
MANAGE: Final = "project.edit"
NAMES: Final = {
    "MONDAY": Text("วันจันทร์", "Monday"),
    "TUESDAY": Text("วันอังคาร", "Tuesday"),
    "WEDNESDAY": Text("วันพุธ", "Wednesday"),
    "THURSDAY": Text("วันพฤหัสบดี", "Thursday"),
    "FRIDAY": Text("วันศุกร์", "Friday"),
    "SATURDAY": Text("วันเสาร์", "Saturday"),
    "SUNDAY": Text("วันอาทิตย์", "Sunday"),
}
FIRST_YEAR: Final = 1900
LAST_YEAR: Final = 2200
Year = Annotated[int | None, Query(ge=FIRST_YEAR, le=LAST_YEAR)]


class CalendarDayForm(NewCalendarDay):
    date: Day


class CalendarDayRef(Schema):
    date: Day


class CalendarPage(PageModel, template="people/project_calendar.html"):
    place: ProjectRef
    places: Sequence[ProjectRef]
    calendar: CalendarYear
    years: Sequence[int]
    weekdays: Sequence[tuple[str, Text]]
    day_name: Callable[[date], Text]
    reminders: ReminderSettings
    may_manage: bool


@router.post("/weekend")
async def set_weekend(form: CurrentForm) -> Response:
    async with form.show_on_refusal(show):
        weekend = form.order(WeekendIn, {"weekend": texts(form.values, "weekend")}).weekend
        await form.transact(projects.set_weekend, project_public_id=form.project, weekend=weekend)
    return _back(form, "weekend")


@router.post("/days")
async def add(form: CurrentForm) -> Response:
    async with form.show_on_refusal(show):
        day = form.order(CalendarDayForm, form.filled("date", "kind", "nameTh", "nameEn"))
        order = NewCalendarDay(kind=day.kind, name_th=day.name_th, name_en=day.name_en)
        await form.transact(projects.add_day, project_public_id=form.project, day=day.date, order=order)
    return _back(form, "added")


@router.post("/days/remove")
async def remove(form: CurrentForm) -> Response:
    async with form.show_on_refusal(show):
        day = form.order(CalendarDayRef, {"date": form.text("date") or ""}).date
        await form.transact(projects.remove_day, project_public_id=form.project, day=day)
    return _back(form, "removed")


@router.post("/reminders")
async def set_reminders(form: CurrentForm) -> Response:
    async with form.show_on_refusal(show):
        every, hour = form.text("every"), form.text("hour")
        days = {name: _figures(form.text(name) or "") for name in ("before", "after")}
        times = {"every": number_or_text(every) if every else None, "hour": number_or_text(hour or "")}
        order = form.order(ReminderSettings, {**days, **times})
        await form.transact(notifications.set_reminders, project_public_id=form.project, order=order)
    return _back(form, "reminders")


def _figures(typed: str) -> list[int | str]:
    return [number_or_text(part.strip()) for part in typed.split(",") if part.strip()]


def _back(form: SentForm, done: str) -> Response:
    year = _year(form.values)
    return RedirectResponse(f"{HOME}?project={form.project}&done={done}" + (f"&year={year}" if year else ""), 303)


def _year(form: FormValues) -> int | None:
    """Return the year shown, or None for an invalid one."""
    year = number_or_text(text(form, "year") or "")
    return year if isinstance(year, int) and FIRST_YEAR <= year <= LAST_YEAR else None


@router.get("")
async def show(
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    project: Annotated[UUID | None, Query()] = None,
    year: Year = None,
) -> Response:
    if state.error:
        project, year = project_in(state.form), _year(state.form)
    chosen = await page.choose_project(session, project)
    project_id = chosen.place.public_id
    this_year = local_date(page.context.now, page.context.zone).year
    shown_year = year or this_year
    return page.show(
        CalendarPage(
            place=chosen.place,
            places=chosen.places,
            calendar=await projects.read_calendar(page.context, session, project_public_id=project_id, year=shown_year),
            years=sorted({shown_year, *range(this_year - 1, this_year + 4)}),
            weekdays=[(day, NAMES[day]) for day in WEEKDAYS],
            day_name=lambda day: NAMES[WEEKDAYS[date.weekday(day)]],
            reminders=await notifications.read_reminders(page.context, session, project_public_id=project_id),
            state=state,
            may_manage=page.may(MANAGE, chosen.place),
        )
    )
