"""`saraban setup`: the first administrator and the first project, on an empty database."""

import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from saraban import config
from saraban.cli.migrate import prepare_folder
from saraban.cli.output import language, print_invitations, say, stop, tell, with_system, with_system_of
from saraban.cli.project import content_of, show
from saraban.cli.run import HERE
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.text import fold

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.service import FirstAdministrator
    from saraban.setup.service import AppliedFile


class OrganizationNamesDiffer(DomainError):
    """`saraban setup` was given another name for the administrator's organization than its project file states."""

    kind, code = ErrorKind.CONFLICT, "ORGANIZATION_NAMES_DIFFER"
    says = Text(
        "--organization-name เรียกองค์กร {code} ว่า “{given}” แต่ไฟล์โครงการเรียกว่า “{stated}” จึงยังไม่ได้บันทึกสิ่งใด",
        "--organization-name calls {code} “{given}”, but the project file calls it “{stated}”; nothing was made.",
    )
    recovery = (
        Text(
            "ใช้ชื่อเดียวกัน หรือเว้น --organization-name เพื่อใช้ชื่อในไฟล์",
            "Use one name, or leave --organization-name out: the file's counts.",
        ),
    )


def setup(
    username: Annotated[str | None, typer.Option(help="User name of the first Super Admin.")] = None,
    email: Annotated[str | None, typer.Option(help="The administrator's e-mail address.")] = None,
    organization: Annotated[
        str | None, typer.Option(help="Code of the administrator's organization, as numbers print it.")
    ] = None,
    organization_name: Annotated[str | None, typer.Option(help="Its name; left out, the code.")] = None,
    organization_name_en: Annotated[str, typer.Option(help="Its name in English.")] = "",
    first_name: Annotated[str, typer.Option(help="The administrator's first name.")] = "",
    last_name: Annotated[str, typer.Option(help="The administrator's last name.")] = "",
    project: Annotated[
        Path | None, typer.Option(help="A project file to begin with: `saraban project template` prints one.")
    ] = None,
    *,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the project file and show what it would make; make nothing.")
    ] = False,
    token: Annotated[
        bool,
        typer.Option(
            "--token", help="Print a new link to the set-up page; it works for an hour, the one before no more."
        ),
    ] = False,
) -> None:
    """Make an empty database ready: the first administrator and, if given, a project.

    The tables come first, then the shipped roles and workflows, then the Super Admin, the organization and the project at once.

    What is left out is asked for at a terminal. Nothing is made before everything given is in order, and a second
    run is refused. It works in every environment, production too.

    Examples:

        saraban setup
        pass show saraban/root | saraban setup --username root --email root@example.org --organization กทท. --password-stdin
        saraban setup --project project.yaml --dry-run
        saraban setup --username root --email root@example.org --organization กทท. --project project.yaml
        saraban setup --token
    """
    if dry_run:
        _try(project, organization, organization_name)
        return
    refuse_second_run()
    if token:
        _prepare(config.load())
        print_set_up_link(config.load(), with_system(new_set_up_token))
        return
    content = content_of(str(project)) if project is not None else None
    asks = not password_stdin and sys.stdin.isatty()
    given = {"--username": username, "--email": email, "--organization": organization}
    missing = [name for name, value in given.items() if not value]
    if missing and not asks:
        named = ", ".join(missing)
        raise stop(f"ระบุ {named}", f"Say {named}: there is no terminal to ask at.", code=2)
    first = replace(
        _first(username, email, organization, organization_name, password_stdin=password_stdin),
        organization_name_en=organization_name_en,
        first_name=first_name,
        last_name=last_name,
    )
    _check(first, content)
    _prepare(config.load())
    made = with_system(_set_up, first, content)
    tell(f"ตั้งค่าเริ่มต้นแล้ว ผู้ดูแลระบบสูงสุดคือ {first.username}", f"Saraban is set up; {first.username} is its Super Admin.")
    if made is not None:
        typer.echo(_told(made))
        print_invitations(made.invitations)
    tell("เริ่มให้บริการด้วย `saraban serve`", "Start it with `saraban serve`.")


async def new_set_up_token(system: "System") -> str:
    """Give the token of the set-up page, on a database that may have its tables and nothing in them."""
    from saraban import bootstrap

    await bootstrap.seed(system, demo=False)
    return await system.db.transact(_issue_token, system)


async def _issue_token(system: "System", session: "AsyncSession") -> str:
    from saraban.identity import service as identity

    return await identity.issue_setup_token(session, now=system.clock.now())


def print_set_up_link(settings: config.Settings, token: str) -> None:
    """Print where the installation is set up in a browser, by whoever sees the terminal."""
    from saraban.identity.service import SETUP_PATH

    tell(
        "เปิดลิงก์นี้ในเบราว์เซอร์เพื่อตั้งค่าเริ่มต้น (ใช้ได้หนึ่งชั่วโมง):",
        "Open this link in a browser to set Saraban up (it works for an hour):",
    )
    home = settings.public_url.rstrip("/") or f"http://{settings.host}:{settings.port}"
    typer.echo(f"  {home}{SETUP_PATH}?token={token}")


def _prepare(settings: config.Settings) -> None:
    """Make the tables, once the settings have been found good: a refused one leaves no database behind."""
    from saraban.bootstrap import signing_key
    from saraban.kit import migrations as history

    prepare_folder()
    signing_key(settings)
    history.upgrade(settings.sqlalchemy_url)


def _try(project: Path | None, organization: str | None, name: str | None) -> None:
    """Show what a project file would make of an empty installation: of one in a folder that is gone afterwards."""
    from saraban.kit import migrations as history

    if project is None:
        raise stop("ระบุ --project", "Say --project: --dry-run checks a project file.", code=2)
    content = content_of(str(project))
    if organization:
        _agree(content, organization, name or "")
    with TemporaryDirectory() as folder:
        empty: dict[str, object] = {"database_url": "", "redis_url": "", "lock_redis_urls": "", "mail": "off"}
        settings = config.load().model_copy(update={**empty, "data_dir": Path(folder)})
        history.upgrade(settings.sqlalchemy_url)
        found = with_system_of(settings, _tried, content)
    show(found, dry_run=True)


async def _tried(system: "System", content: bytes) -> "AppliedFile":
    from saraban import bootstrap
    from saraban.identity.service import system_context
    from saraban.setup import service

    await bootstrap.seed(system, demo=False)

    async def work(session: "AsyncSession") -> "AppliedFile":
        ctx = await system_context(session, system.clock, HERE)
        return await service.apply(ctx, session, content=content, dry_run=True)

    return await system.db.transact(work)


def _told(made: "AppliedFile") -> str:
    counted = Counter(one.path[0] for one in made.differences if len(one.path) == len(("people", "somchai")))
    kinds = (
        ("members", "องค์กร", "organization", "organizations"),
        ("contracts", "สัญญา", "contract", "contracts"),
        ("people", "ผู้ใช้งาน", "person", "people"),
    )
    th = " ".join(f"{noun} {counted[key]}" for key, noun, _, _ in kinds)
    en = ", ".join(f"{counted[key]} {one if counted[key] == 1 else many}" for key, _, one, many in kinds)
    return say(f"โครงการ {made.project_code}: {th}", f"Project {made.project_code}: {en}")


def refuse_second_run() -> None:
    """:raises AlreadySetUp: before anything is asked, when somebody has an account"""
    from saraban.identity.service import AlreadySetUp
    from saraban.kit import migrations as history

    if history.current(config.load().sqlalchemy_url) is None:
        return
    if with_system(lambda system: system.first_run.is_over()):
        raise AlreadySetUp


def _first(
    username: str | None, email: str | None, organization: str | None, name: str | None, *, password_stdin: bool
) -> "FirstAdministrator":
    from saraban.identity.service import FirstAdministrator

    username = username or typer.prompt(say("ชื่อผู้ใช้ของผู้ดูแลระบบ", "User name of the administrator"))
    email = email or typer.prompt(say("อีเมล", "E-mail address"))
    asked = organization is None
    organization = organization or typer.prompt(say("รหัสองค์กร เช่น กทท.", "Code of the organization, such as กทท."))
    if name is None and asked:
        name = typer.prompt(say("ชื่อองค์กร", "Name of the organization"), default=organization)
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else _asked_password(username or "")
    return FirstAdministrator(username or "", email or "", password, organization or "", name or "")


def _asked_password(username: str) -> str:
    """Ask until the password is strong enough."""
    from saraban.identity.service.passwords import require_strong

    while True:
        password: str = typer.prompt(
            say("รหัสผ่าน", "Password"), hide_input=True, confirmation_prompt=say("ยืนยันรหัสผ่าน", "Repeat password")
        )
        try:
            require_strong(password, [username.strip()])
        except Invalid as fault:
            for one in fault.fields:
                typer.echo(one.text.say(language(), one.values), err=True)
        else:
            return password


def _check(first: "FirstAdministrator", content: bytes | None) -> None:
    """:raises Invalid: before there is a table, with every fault of the administrator and of the file"""
    from saraban.setup.domain.project_yaml import read_file

    faults: list[FieldProblem] = []
    rules: list[Callable[[], object]] = [first.check]
    if content is not None:
        rules.append(lambda: read_file(content))
    for rule in rules:
        try:
            rule()
        except Invalid as fault:
            faults += fault.fields
    if faults:
        raise Invalid(fields=faults)
    if content is not None:
        _agree(content, first.organization_code, first.organization_name)


def _agree(content: bytes, code: str, name: str) -> None:
    """:raises OrganizationNamesDiffer: when the file calls the administrator's organization otherwise"""
    from saraban.setup.domain.project_yaml import read_file

    code, name = fold(code.strip()), fold(name.strip())
    for one in read_file(content).file.organizations or ():
        if one.code == code and name not in {"", code, one.name, one.name_en}:
            raise OrganizationNamesDiffer(values={"code": code, "given": name, "stated": one.name})


async def _set_up(system: "System", first: "FirstAdministrator", content: bytes | None) -> "AppliedFile | None":
    from saraban import bootstrap
    from saraban.identity import service as identity
    from saraban.identity.domain.context import RequestContext
    from saraban.setup import service

    await bootstrap.seed(system, demo=False)

    async def work(session: "AsyncSession") -> "AppliedFile | None":
        caller = await identity.set_up(session, first, clock=system.clock, address=HERE)
        if content is None:
            return None
        # What the file calls the administrator's organization counts.
        return await service.apply(
            RequestContext(caller, system.clock.now(), system.clock.zone, HERE),
            session,
            content=content,
            update_shared=True,
        )

    return await system.db.transact(work)
