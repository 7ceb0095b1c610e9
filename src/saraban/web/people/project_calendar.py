"""When a project works and when it is reminded of due dates: weekend, days of its own, public holidays, reminders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.context import Scope
from saraban.kit.clock import local_date
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, NotFound, Text
from saraban.kit.http import Db, ReadSession
from saraban.kit.schema import Day, Schema
from saraban.notifications import service as notifications
from saraban.notifications.schemas import ReminderSettings
from saraban.projects import service as projects
from saraban.projects.domain.calendar import WEEKDAYS
from saraban.projects.schemas import CalendarYear, NewCalendarDay
from saraban.projects.schemas import WeekendIn as WeekendOrder
from saraban.projects.service import ProjectRef
from saraban.web.shell.forms import (
    EMPTY_FORM,
    FormValues,
    Work,
    form_errors,
    number_or_text,
    project_in,
    read_form,
    submit,
    text,
    texts,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/calendar")

MANAGE = "project.edit"
NAMES: Final = {
    "MONDAY": Text("วันจันทร์", "Monday"),
    "TUESDAY": Text("วันอังคาร", "Tuesday"),
    "WEDNESDAY": Text("วันพุธ", "Wednesday"),
    "THURSDAY": Text("วันพฤหัสบดี", "Thursday"),
    "FRIDAY": Text("วันศุกร์", "Friday"),
    "SATURDAY": Text("วันเสาร์", "Saturday"),
    "SUNDAY": Text("วันอาทิตย์", "Sunday"),
}
Year = Annotated[int | None, Query(ge=1900, le=2200)]


class CalendarDayForm(NewCalendarDay):
    """A day with what the project says of it."""

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
    return await _show(page, session, project=project or page.project, year=year, done=done)


@router.post("/weekend")
async def weekend(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: WeekendOrder = validated(request, WeekendOrder, {"weekend": texts(form, "weekend")})
        await projects.set_weekend(
            page.context,
            session,
            project_public_id=project_in(form),
            weekend=order.weekend,
        )

    return await _done(page, db, form, work, "weekend")


@router.post("/days")
async def add(page: CurrentPage, db: Db, request: Request) -> Response:
    """A holiday of the project, or a day that it works."""
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        named = {name: text(form, name) or "" for name in ("date", "kind", "nameTh", "nameEn")}
        order: CalendarDayForm = validated(request, CalendarDayForm, named)
        await projects.add_day(
            page.context,
            session,
            project_public_id=project_in(form),
            day=order.date,
            order=NewCalendarDay(kind=order.kind, name_th=order.name_th, name_en=order.name_en),
        )

    return await _done(page, db, form, work, "added")


@router.post("/days/remove")
async def remove(page: CurrentPage, db: Db, request: Request) -> Response:
    """Weekend and public holidays decide about it again."""
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: CalendarDayRef = validated(request, CalendarDayRef, {"date": text(form, "date") or ""})
        await projects.remove_day(
            page.context,
            session,
            project_public_id=project_in(form),
            day=order.date,
        )

    return await _done(page, db, form, work, "removed")


@router.post("/reminders")
async def reminders(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: ReminderSettings = validated(request, ReminderSettings, _reminders(form))
        await notifications.set_reminders(
            page.context,
            session,
            project_public_id=project_in(form),
            order=order,
        )

    return await _done(page, db, form, work, "reminders")


def _reminders(form: FormValues) -> dict[str, object]:
    lists = {name: _figures(text(form, name) or "") for name in ("before", "after")}
    every, hour = text(form, "every"), text(form, "hour")
    return {**lists, "every": number_or_text(every) if every else None, "hour": number_or_text(hour or "")}


def _figures(typed: str) -> list[int | str]:
    return [number_or_text(part.strip()) for part in typed.split(",") if part.strip()]


async def _done(page: PageRequest, db: Database, form: FormValues, work: Work, done: str) -> Response:
    """Back to the year; the page with what is wrong when it did not work, and nothing lost."""
    year = text(form, "year") or ""
    shown = int(year) if year.isascii() and year.isdigit() and 1900 <= int(year[:6]) <= 2200 else None
    project = project_in(form)

    async def again(session: AsyncSession, error: DomainError) -> Response:
        return await _show(page, session, project=project, year=shown, form=form, error=error)

    back = f"/calendar?project={project}&done={done}" + (f"&year={shown}" if shown else "")
    return await submit(db, work, again, back)


async def _show(
    page: PageRequest,
    session: AsyncSession,
    *,
    project: UUID | None,
    year: int | None,
    done: str = "",
    form: FormValues = EMPTY_FORM,
    error: DomainError | None = None,
) -> Response:
    places = list(page.projects or await projects.projects_of(page.context, session))
    if not places:
        raise NotFound("There is no project whose calendar you may see.")
    place = next((one for one in places if one.public_id == project), places[0])
    this_year = local_date(page.context.now, page.context.zone).year
    asked = year or this_year
    found = await projects.read_calendar(page.context, session, project_public_id=place.public_id, year=asked)
    plan = await notifications.read_reminders(page.context, session, project_public_id=place.public_id)
    return page.show(
        CalendarPage(
            place=place,
            places=places,
            calendar=found,
            years=sorted({asked, *range(this_year - 1, this_year + 4)}),
            weekdays=[(day, NAMES[day]) for day in WEEKDAYS],
            day_name=lambda day: NAMES[WEEKDAYS[date.weekday(day)]],
            reminders=plan,
            form=form,
            done=done,
            may_manage=page.caller.may(MANAGE, Scope(project=place.id)),
            faults=form_errors(error, page.language),
        )
    )
