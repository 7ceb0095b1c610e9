"""When a project works and when it is reminded of due dates: weekend, days of its own, public holidays, reminders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

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
from saraban.web.shell.forms import (
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    number_or_text,
    project_in,
    submit,
    text,
    texts,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarPage(PageModel):
    template: ClassVar[str] = "people/project_calendar.html"

    place: ProjectRef
    places: Sequence[ProjectRef]
    calendar: CalendarYear
    years: Sequence[int]
    weekdays: Sequence[tuple[str, Text]]
    day_name: Callable[[date], Text]
    reminders: ReminderSettings
    form: FormValues
    done: str
    may_manage: bool


@router.get("")
async def show(
    page: CurrentPage,
    session: ReadSession,
    project: Annotated[UUID | None, Query()] = None,
    year: Year = None,
    done: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """One year of the chosen project."""
    return await _show(page, session, project, year, FormState(done=done))


@router.post("/weekend")
async def weekend(form: CurrentForm) -> Response:
    return await submit(form, _set_weekend, _show_again)


@router.post("/days")
async def add(form: CurrentForm) -> Response:
    """A holiday of the project, or a day that it works."""
    return await submit(form, _add_day, _show_again)


@router.post("/days/remove")
async def remove(form: CurrentForm) -> Response:
    """Weekend and public holidays decide about it again."""
    return await submit(form, _remove_day, _show_again)


@router.post("/reminders")
async def reminders(form: CurrentForm) -> Response:
    return await submit(form, _set_reminders, _show_again)


async def _set_weekend(form: SentForm, session: AsyncSession) -> str:
    order = form.order(WeekendIn, {"weekend": texts(form.values, "weekend")})
    await projects.set_weekend(form.context, session, project_public_id=form.project, weekend=order.weekend)
    return _back(form, "weekend")


async def _add_day(form: SentForm, session: AsyncSession) -> str:
    day = form.order(CalendarDayForm, form.filled("date", "kind", "nameTh", "nameEn"))
    order = NewCalendarDay(kind=day.kind, name_th=day.name_th, name_en=day.name_en)
    await projects.add_day(form.context, session, project_public_id=form.project, day=day.date, order=order)
    return _back(form, "added")


async def _remove_day(form: SentForm, session: AsyncSession) -> str:
    order = form.order(CalendarDayRef, {"date": form.text("date") or ""})
    await projects.remove_day(form.context, session, project_public_id=form.project, day=order.date)
    return _back(form, "removed")


async def _set_reminders(form: SentForm, session: AsyncSession) -> str:
    every, hour = form.text("every"), form.text("hour")
    days = {name: _figures(form.text(name) or "") for name in ("before", "after")}
    times = {"every": number_or_text(every) if every else None, "hour": number_or_text(hour or "")}
    order = form.order(ReminderSettings, {**days, **times})
    await notifications.set_reminders(form.context, session, project_public_id=form.project, order=order)
    return _back(form, "reminders")


def _figures(typed: str) -> list[int | str]:
    return [number_or_text(part.strip()) for part in typed.split(",") if part.strip()]


def _back(form: SentForm, done: str) -> str:
    year = _year(form.values)
    return f"{HOME}?project={form.project}&done={done}" + (f"&year={year}" if year else "")


def _year(form: FormValues) -> int | None:
    """The year that the page showed; whoever changes the address is shown the present one."""
    year = number_or_text(text(form, "year") or "")
    return year if isinstance(year, int) and FIRST_YEAR <= year <= LAST_YEAR else None


async def _show_again(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    return await _show(page, session, project_in(state.form), _year(state.form), state)


async def _show(
    page: PageRequest, session: AsyncSession, project: UUID | None, year: int | None, state: FormState
) -> Response:
    chosen = await page.choose_project(session, project)
    here = chosen.place.public_id
    this_year = local_date(page.context.now, page.context.zone).year
    asked = year or this_year
    return page.show(
        CalendarPage(
            place=chosen.place,
            places=chosen.places,
            calendar=await projects.read_calendar(page.context, session, project_public_id=here, year=asked),
            years=sorted({asked, *range(this_year - 1, this_year + 4)}),
            weekdays=[(day, NAMES[day]) for day in WEEKDAYS],
            day_name=lambda day: NAMES[WEEKDAYS[date.weekday(day)]],
            reminders=await notifications.read_reminders(page.context, session, project_public_id=here),
            form=state.form,
            done=state.done,
            may_manage=page.may(MANAGE, chosen.place),
            faults=form_errors(state.error, page.language),
        )
    )
