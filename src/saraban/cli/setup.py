"""`saraban setup`: the first administrator and the first project, on an empty database."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saraban import config
from saraban.cli.invitation import hand_out
from saraban.cli.migrate import prepare_folder
from saraban.cli.outcome import EXIT_CODES, say, stop, with_system
from saraban.kit.errors import FieldProblem, Invalid, Kind

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.service import FirstAdministrator, Invitation

HERE = "command line"


def register(app: typer.Typer) -> None:
    app.command()(setup)


def setup(
    username: Annotated[str | None, typer.Option(help="User name of the first Super Admin.")] = None,
    email: Annotated[str | None, typer.Option(help="The administrator's e-mail address.")] = None,
    organization: Annotated[
        str | None, typer.Option(help="Code of the administrator's organization, as numbers print it.")
    ] = None,
    organization_name: Annotated[str | None, typer.Option(help="Its name; left out, the code.")] = None,
    project: Annotated[
        Path | None, typer.Option(help="A project file to begin with: `saraban project template` prints one.")
    ] = None,
    *,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
    ] = False,
) -> None:
    """Make an empty database ready: the first administrator and, if given, a project.

    The tables come first, then the shipped roles and workflows, then the Super Admin, the organization and the project at once.

    What is left out is asked for at a terminal. Nothing is made before everything given is in order, and a second
    run is refused. It works in every environment, production too.

    Examples:

        saraban setup
        pass show saraban/root | saraban setup --username root --email root@example.org --organization กทท. --password-stdin
        saraban setup --username root --email root@example.org --organization กทท. --project project.yaml
    """
    from saraban.kit import migrate as history

    refuse_second_run()
    content = _read(project)
    asks = not password_stdin and sys.stdin.isatty()
    given = {"--username": username, "--email": email, "--organization": organization}
    missing = [name for name, value in given.items() if not value]
    if missing and not asks:
        named = ", ".join(missing)
        raise stop(f"ระบุ {named}", f"Say {named}: there is no terminal to ask at.", code=2)
    first = _first(username, email, organization, organization_name, password_stdin=password_stdin)
    _check(first, content)
    history.upgrade(config.load().sqlalchemy_url)
    invitations = with_system(lambda system: _set_up(system, first, content))
    typer.echo(
        say(
            f"ตั้งค่าเริ่มต้นแล้ว ผู้ดูแลระบบสูงสุดคือ {first.username}",
            f"Saraban is set up; {first.username} is its Super Admin.",
        )
    )
    hand_out(invitations)
    typer.echo(say("เริ่มให้บริการด้วย `saraban serve`", "Start it with `saraban serve`."))


def refuse_second_run() -> None:
    """:raises AlreadySetUp: before anything is asked, when somebody has an account"""
    from saraban.identity.service import AlreadySetUp
    from saraban.kit import migrate as history

    prepare_folder()
    if history.current(config.load().sqlalchemy_url) is None:
        return
    if with_system(lambda system: system.first_run.is_over()):
        raise AlreadySetUp


def _read(project: Path | None) -> bytes | None:
    try:
        return project.read_bytes() if project is not None else None
    except OSError as fault:
        raise stop(
            f"อ่าน {project} ไม่ได้: {fault.strerror}",
            f"{project} cannot be read: {fault.strerror}.",
            code=EXIT_CODES[Kind.INVALID],
        ) from None


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
    if password_stdin:
        password = sys.stdin.readline().rstrip("\r\n")
    else:
        password = typer.prompt(
            say("รหัสผ่าน", "Password"), hide_input=True, confirmation_prompt=say("รหัสผ่านอีกครั้ง", "Password once more")
        )
    return FirstAdministrator(username or "", email or "", password, organization or "", name or "")


def _check(first: "FirstAdministrator", content: bytes | None) -> None:
    """:raises Invalid: before there is a table, with every fault of the administrator and of the file"""
    from saraban.setup.domain.yaml_reader import read_file

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


async def _set_up(system: "System", first: "FirstAdministrator", content: bytes | None) -> "list[Invitation]":
    from saraban import bootstrap
    from saraban.identity import service as identity
    from saraban.setup import service

    await bootstrap.seed(system, demo=False)

    async def work(session: "AsyncSession") -> "list[Invitation]":
        acted: dict[str, Any] = {"now": system.clock.now(), "address": HERE}
        caller = await identity.set_up(session, first, **acted)
        if content is None:
            return []
        # What the file calls the administrator's organization counts.
        done = await service.apply(session, caller=caller, content=content, update_shared=True, **acted)
        return list(done.invitations)

    return await system.db.transact(work)
