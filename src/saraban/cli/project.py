"""`saraban project …`: a project from a file (`project_file`), and its working days."""

from collections.abc import Awaitable, Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saraban.cli import project_file
from saraban.cli.codes import project_named
from saraban.cli.options import As, Project
from saraban.cli.output import say, with_system
from saraban.cli.run import HERE, as_account, system_context_and_project
from saraban.kit.errors import invalid

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.projects.schemas import CalendarYear

DayOf = Annotated[str, typer.Argument(metavar="DAY", help="A day such as 2026-12-07.")]

noun = typer.Typer(no_args_is_help=True, help="Projects: from a file, into a file, and their working days.")


def register(app: typer.Typer) -> None:
    project_file.register(noun)
    app.add_typer(noun, name="project")


@noun.command()
def calendar(
    year: Annotated[int, typer.Argument(metavar="YEAR", min=1900, max=2200, help="A.D.")],
    project: Project,
) -> None:
    """List the weekend, holidays and working-day exceptions of a year.

    Example: `saraban project calendar 2026 --project LCBP3-C2`
    """
    answer = with_system(lambda system: _read(system, project, year))
    typer.echo(say("วันหยุดประจำสัปดาห์", "Weekend") + ": " + (", ".join(answer.weekend) or "-"))
    for day in answer.days:
        typer.echo(f"{day.date}  {day.kind:<7}  {day.source:<7}  {say(day.name_th, day.name_en)}")
    if not answer.is_shipped:
        typer.echo(say("ยังไม่มีวันหยุดราชการของปีนี้", "The public holidays of this year are not in the system: add them."))


async def _read(system: "System", project: str, year: int) -> "CalendarYear":
    from saraban.projects import service as projects

    async with system.db.reading() as session:
        ctx, place = await system_context_and_project(session, system.clock, project)
        return await projects.read_calendar(ctx, session, project_public_id=place, year=year)


@noun.command()
def weekend(
    days: Annotated[list[str], typer.Argument(metavar="WEEKDAY…", help="SATURDAY, SUNDAY, …")],
    account: As,
    project: Project,
) -> None:
    """Set the weekend of a project.

    Example: `saraban project weekend SUNDAY --project LCBP3-C2 --as padmin`
    """
    from saraban.projects import service as projects
    from saraban.projects.domain.calendar import WEEKDAYS

    chosen = [name for name in WEEKDAYS if name in {day.upper() for day in days}]
    if len(chosen) != len({day.upper() for day in days}) or len(chosen) == len(WEEKDAYS):
        raise invalid(
            "/WEEKDAY",
            "unknown",
            "ระบุวัน MONDAY ถึง SUNDAY และต้องเหลือวันทำงานอย่างน้อยหนึ่งวัน",
            "Name days from MONDAY to SUNDAY, and leave one to work.",
        )
    _change(account, project, projects.set_weekend, weekend=chosen)
    typer.echo(say("เปลี่ยนวันหยุดประจำสัปดาห์แล้ว", "Weekend saved."))


@noun.command("add-day")
def add_day(
    day: DayOf,
    account: As,
    name_th: Annotated[str, typer.Option(help="What the day is called in Thai.")],
    name_en: Annotated[str, typer.Option(help="What the day is called in English.")],
    project: Project,
    *,
    working: Annotated[bool, typer.Option("--working", help="It is worked; without this, it is a holiday.")] = False,
) -> None:
    """Add a holiday, or a working-day exception on a holiday or weekend, to the project calendar.

    Example: `saraban project add-day 2028-01-03 --name-th ชดเชยวันขึ้นปีใหม่ --name-en "New Year" --project LCBP3-C2 --as padmin`
    """
    from saraban.projects import service as projects
    from saraban.projects.schemas import NewCalendarDay

    kind: Any = "WORKING" if working else "HOLIDAY"
    order = NewCalendarDay(kind=kind, name_th=name_th, name_en=name_en)
    _change(account, project, projects.add_day, day=_day(day), order=order)
    typer.echo(say(f"บันทึกวันที่ {day} แล้ว", f"{day} is kept as {kind}."))


@noun.command("remove-day")
def remove_day(
    day: DayOf,
    account: As,
    project: Project,
) -> None:
    """Delete a day that was added to the project calendar; weekend and public holidays count again.

    Example: `saraban project remove-day 2028-01-03 --project LCBP3-C2 --as padmin`
    """
    from saraban.projects import service as projects

    _change(account, project, projects.remove_day, day=_day(day))
    typer.echo(say(f"ลบวันที่ {day} ออกแล้ว", f"Nothing special is kept of {day} any more."))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise invalid(
            "/DAY", "malformed", "ต้องเป็นวันที่ เช่น 2026-01-31", "This must be a date such as 2026-01-31."
        ) from None


def _change(account: str, project: str, verb: Callable[..., Awaitable[object]], **what: Any) -> None:
    async def step(ctx: "RequestContext", session: "AsyncSession") -> None:
        place = await project_named(session, project)
        await verb(ctx, session, project_public_id=place, **what)

    as_account(account, step, address=HERE)
