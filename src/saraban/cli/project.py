"""`saraban project …`: a project from one file, a file from a project, and its working days."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saraban import config
from saraban.cli import master
from saraban.cli.migrate import refuse_empty
from saraban.cli.options import As, Project, checked, read_day
from saraban.cli.output import EXIT_CODES, print_invitations, say, stop, tell
from saraban.cli.run import as_operator, in_project, project_named, reading, reading_as
from saraban.kit.errors import ErrorKind, invalid

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.setup.service import AppliedFile, Difference

DayOf = Annotated[date, typer.Argument(metavar="DAY", parser=read_day, help="A day such as 2026-12-07.")]
_WORDS = {
    "add": ("เพิ่ม", "add"),
    "change": ("แก้ไข", "change"),
    "close": ("ปิด", "close"),
    "remove": ("นำออก", "remove"),
    "keep": ("คงไว้ เพราะมีการใช้งาน", "kept, in use"),
    "conflict": ("ขัดกัน", "conflict"),
}
# Of these nothing stays behind when they are closed.
_REMOVED = {
    (name,)
    for name in ("members", "parties", "subTypes", "numberFormats", "assignments", "days", "reviewTeams", "roles")
}
_HEADINGS = (("การเปลี่ยนแปลง", "Change"), ("รายการ", "What"), ("เดิม", "Before"), ("ใหม่", "After"))
_LONG, _NARROW = 20, 100  # rows of a table that is summed up; columns of a terminal that holds one
Account = Annotated[
    str | None,
    typer.Option("--as", help="Account in whose name it is done; without it the system's, with your log-in name."),
]


group = typer.Typer(no_args_is_help=True, help="Projects: from a file, into a file, their members and working days.")
master.add_commands(
    group,
    "project",
    {
        master.list_: "list",
        master.show: "show LCBP3-C2",
        master.change: "change LCBP3-C2 projectNameEn='Laem Chabang' --as padmin",
        master.close: "close LCBP3-C2 --as padmin",
        master.reopen: "reopen LCBP3-C2 --as padmin",
    },
    which="projects",
)


@group.command()
def member(
    organization: Annotated[str, typer.Argument(metavar="ORGANIZATION", help="Code of the organization.")],
    account: As,
    project: Project,
    role: Annotated[str | None, typer.Option(help="OWNER, DESIGNER, CONSULTANT, CONTRACTOR or OTHER.")] = None,
    contract: Annotated[str | None, typer.Option(help="Code of a contract: make it a party of that.")] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Take it out.")] = False,
) -> None:
    """Make an organization a member of a project or a party of its contract, give it another role, or take it out.

    Examples:

        saraban project member ผรม.2 --role CONTRACTOR --project LCBP3-C2 --as padmin
        saraban project member ผรม.2 --remove --project LCBP3-C2 --contract LCBP3-C2 --as padmin
    """
    from saraban.identity.domain.catalogue import PartyRole
    from saraban.setup.domain.master_kinds import CONTRACT, ORGANIZATION, Owner
    from saraban.setup.service import master_data, members

    if (role is None) is not remove:
        raise stop("ระบุ --role หรือ --remove อย่างใดอย่างหนึ่ง", "Say either --role or --remove.", code=2)
    if role is not None and role.upper() not in set(PartyRole):
        raise invalid(
            "/role", "not_in_list", "บทบาทต้องเป็น {known}", "The role is one of {known}.", known=", ".join(PartyRole)
        )

    async def step(ctx: "RequestContext", session: "AsyncSession") -> None:
        which = await master_data.public_id_of(session, ORGANIZATION, organization, pointer="/ORGANIZATION")
        of, owner = Owner.PROJECT, await project_named(session, project)
        if contract is not None:
            of = Owner.CONTRACT
            owner = await master_data.public_id_of(session, CONTRACT, contract, pointer="/contract")
        asked = {"owner": owner, "organization_public_id": which}
        if role:
            await members.save_member(ctx, session, of, **asked, role=PartyRole(role.upper()))
        else:
            await members.remove_member(ctx, session, of, **asked)

    as_operator(account, step)
    tell("บันทึกแล้ว", "Saved.") if role else tell("นำออกแล้ว", "Taken out.")


@group.command()
def calendar(
    year: Annotated[int, typer.Argument(metavar="YEAR", min=1900, max=2200, help="A.D.")],
    project: Project,
) -> None:
    """List the weekend, holidays and working-day exceptions of a year.

    Example: `saraban project calendar 2026 --project LCBP3-C2`
    """
    from saraban.projects import service as projects

    answer = reading(in_project, project, projects.read_calendar, year=year)
    typer.echo(say("วันหยุดประจำสัปดาห์", "Weekend") + ": " + (", ".join(answer.weekend) or "-"))
    for day in answer.days:
        typer.echo(f"{day.date}  {day.kind:<7}  {day.source:<7}  {say(day.name_th, day.name_en)}")
    if not answer.is_shipped:
        tell("ยังไม่มีวันหยุดราชการของปีนี้", "The public holidays of this year are not in the system: add them.")


@group.command()
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
    as_operator(account, in_project, project, projects.set_weekend, weekend=chosen)
    tell("เปลี่ยนวันหยุดประจำสัปดาห์แล้ว", "Weekend saved.")


@group.command("add-day")
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
    from saraban.projects.domain.calendar import DayKind
    from saraban.projects.schemas import NewCalendarDay

    kind = DayKind.WORKING if working else DayKind.HOLIDAY
    order = NewCalendarDay(kind=kind, name_th=name_th, name_en=name_en)
    as_operator(account, in_project, project, projects.add_day, day=day, order=order)
    tell(f"บันทึกวันที่ {day} แล้ว", f"{day} is kept as {kind}.")


@group.command("remove-day")
def remove_day(
    day: DayOf,
    account: As,
    project: Project,
) -> None:
    """Delete a day that was added to the project calendar; weekend and public holidays count again.

    Example: `saraban project remove-day 2028-01-03 --project LCBP3-C2 --as padmin`
    """
    from saraban.projects import service as projects

    as_operator(account, in_project, project, projects.remove_day, day=day)
    tell(f"ลบวันที่ {day} ออกแล้ว", f"Nothing special is kept of {day} any more.")


@group.command()
def apply(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A project file (YAML); `-` reads standard input.")],
    account: Account = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would do, and do nothing.")] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Close what the lists of the file leave out and nothing refers to.")
    ] = False,
    update_shared: Annotated[
        bool,
        typer.Option("--update-shared", help="Change organizations, document types and accounts that differ, too."),
    ] = False,
) -> None:
    """Make a project what a file says: all of it or nothing. A second time it changes nothing.

    What the file leaves out stays as it is. People without an account are invited to choose a password.

    Examples:

        saraban project apply project.yaml --dry-run
        saraban project apply project.yaml
        saraban project apply project.yaml --prune --as admin
    """
    from saraban.setup import service as setup

    content = content_of(file)
    refuse_empty(config.load().sqlalchemy_url)
    operator = None if account else _log_in_name()
    try:
        found = as_operator(
            account,
            setup.apply,
            content=content,
            operator=operator,
            prune=prune,
            update_shared=update_shared,
            dry_run=dry_run,
        )
    except setup.ProjectConflict as conflict:
        _show(conflict.differences)
        raise
    show(found, dry_run=dry_run)
    print_invitations(found.invitations)


def show(found: "AppliedFile", *, dry_run: bool) -> None:
    """Print what a file changes, or would change, and how much that is."""
    _show(found.differences)
    _sum_up(found, dry_run=dry_run)


def content_of(file: str) -> bytes:
    """Read a file that was named, or standard input for `-`."""
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as fault:
        raise stop(
            f"อ่าน {file} ไม่ได้: {fault.strerror}",
            f"{file} cannot be read: {fault.strerror}.",
            code=EXIT_CODES[ErrorKind.INVALID],
        ) from None


def _log_in_name() -> str:
    """Who sits at the keyboard, also under sudo; the process's owner where there is no terminal."""
    try:
        return os.getlogin()
    except OSError:
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return str(os.getuid())


def _show(found: "Sequence[Difference]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if not found:
        return
    console = Console()
    if len(found) > _LONG:
        for section, count in Counter(one.path[0] for one in found).items():
            typer.echo(f"{section}: {count}")
    rows = [_row(one) for one in found]
    if console.width < _NARROW:
        for what, pointer, before, after in rows:
            typer.echo(f"{what} {pointer}" + (f"  {before} → {after}" if before else f"  {after}").rstrip())
        return
    table = Table()
    widest = max(len(pointer) for _, pointer, _, _ in rows)
    for (th, en), least in zip(_HEADINGS, (None, min(widest, console.width // 3), None, None), strict=True):
        table.add_column(say(th, en), overflow="fold", min_width=least)
    for what, pointer, before, after in rows:
        folded = _folded(pointer, console.width // 3)
        table.add_row(*(Text(cell) for cell in (what, folded, before, after)))
    console.print(table)


def _row(one: "Difference") -> tuple[str, str, str, str]:
    from saraban.setup.domain.comparison import ChangeType

    after = {} if one.what == ChangeType.KEEP else one.after
    word = "remove" if one.what == ChangeType.CLOSE and one.path[-2:-1] in _REMOVED else one.what.value
    return say(*_WORDS[word]), one.pointer, _told(one.before), _told(after)


def _folded(pointer: str, width: int) -> str:
    """Break a path before its slashes where it is wider than its column."""
    lines = [""]
    for part in pointer.split("/")[1:]:
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append("")
        lines[-1] += f"/{part}"
    return "\n".join(lines)


def _told(values: Mapping[str, object] | None) -> str:
    return ", ".join(f"{name}: {_value(value)}" for name, value in (values or {}).items())


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _sum_up(found: "AppliedFile", *, dry_run: bool) -> None:
    from saraban.setup.domain.comparison import ChangeType

    count = sum(one.what not in {ChangeType.KEEP, ChangeType.CONFLICT} for one in found.differences)
    conflicts = any(one.what == ChangeType.CONFLICT for one in found.differences)
    if conflicts:
        raise stop(
            "มีรายการที่ขัดกับข้อมูลร่วม จะไม่บันทึกจนกว่าจะแก้ไฟล์หรือใช้ --update-shared",
            "There are conflicts: nothing would be written before they are settled, or with --update-shared.",
            code=EXIT_CODES[ErrorKind.CONFLICT],
        )
    if not count:
        tell("ไม่มีสิ่งใดเปลี่ยน", "Nothing changes.")
        return
    changes = "1 change" if count == 1 else f"{count} changes"
    if dry_run:
        tell(f"จะเปลี่ยน {count} รายการ ยังไม่ได้บันทึก", f"{changes}; nothing was written.")
    else:
        tell(f"บันทึก {count} รายการแล้ว", f"{changes} written.")


@group.command()
def create(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Code of the new project, as numbers print it.")],
    name: Annotated[str, typer.Option(help="What it is called.")],
    account: As,
    name_en: Annotated[str | None, typer.Option(help="Its name in English.")] = None,
    template: Annotated[
        str | None,
        typer.Option(help="thai-public-works, building or iso19650: codes, formats and workflows to begin with."),
    ] = None,
    copy_of: Annotated[str | None, typer.Option(help="Code of a project whose set-up is taken.")] = None,
    role: Annotated[
        str | None, typer.Option(help="OWNER, DESIGNER, CONSULTANT, CONTRACTOR or OTHER: of your organization.")
    ] = None,
    *,
    with_people: Annotated[
        bool, typer.Option("--with-people", help="Of a copy: people's roles and places in teams, too.")
    ] = False,
) -> None:
    """Make a project: empty, from a template, or with the set-up of another one.

    Examples:

        saraban project create LCBP3-C4 --name "ท่าเรือแหลมฉบัง ส่วนที่ 4" --template thai-public-works --role OWNER --as root
        saraban project create LCBP3-C5 --name "ท่าเรือแหลมฉบัง ส่วนที่ 5" --copy-of LCBP3-C4 --as root
    """
    from saraban.setup import service as setup
    from saraban.setup.schemas.new_project import NewProjectIn

    refuse_empty(config.load().sqlalchemy_url)
    given = {"projectNameEn": name_en, "template": template, "role": role.upper() if role else None}

    async def step(ctx: "RequestContext", session: "AsyncSession") -> None:
        source = await project_named(session, copy_of) if copy_of else None
        payload = {"projectCode": code, "projectName": name, "copyOf": source, "withPeople": with_people, **given}
        await setup.new_project(ctx, session, checked(NewProjectIn, **payload))

    as_operator(account, step)
    tell(f"สร้างโครงการ {code} แล้ว", f"Project {code} created.")


@group.command()
def export(
    code: Annotated[str, typer.Argument(metavar="CODE", help="Code of the project.")], account: Account = None
) -> None:
    """Print a project as a file: applied here it changes nothing, applied elsewhere it makes the same project.

    Example: `saraban project export LCBP3-C2 > project.yaml`
    """
    from saraban.setup import service as setup

    refuse_empty(config.load().sqlalchemy_url)
    text = reading_as(account, setup.export, code=code)
    typer.echo(text, nl=False)


@group.command()
def template(
    name: Annotated[str, typer.Argument(metavar="NAME", help="thai-public-works, building or iso19650.")],
) -> None:
    """Print a project file to begin with, with the places to fill in marked; it needs no database.

    Example: `saraban project template thai-public-works > project.yaml`
    """
    from saraban.setup.service import project_files

    typer.echo(project_files.template(name), nl=False)
