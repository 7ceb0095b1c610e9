"""`saraban user …`: accounts and what they may do."""

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.options import read_day
from saraban.cli.output import EXIT_CODES, language, print_invitations, print_table, say, stop, tell
from saraban.cli.run import as_system, reading
from saraban.kit.errors import ErrorKind, Invalid

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.access import CarryingRole
    from saraban.identity.domain.context import RequestContext
    from saraban.identity.service import AccountSummary, KnownPerson
    from saraban.identity.service.access import Explanation

Name = Annotated[str, typer.Argument(metavar="USERNAME", help="User name of the account.")]
PasswordStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input instead of asking.")
]

Role = Annotated[str, typer.Argument(help="Role, such as “Document Control”.")]
Organization = Annotated[str | None, typer.Option(help="Where: code of an organization.")]
Project = Annotated[str | None, typer.Option(help="Where: code of a project.")]
Contract = Annotated[str | None, typer.Option(help="Where: code of a contract.")]


group = typer.Typer(no_args_is_help=True, help="Invite people, open, close and unlock accounts, and give them roles.")


@group.command()
def create(
    username: Name,
    email: Annotated[str, typer.Option(help="Address for notices; each account has its own.")],
    first_name: Annotated[str, typer.Option()] = "",
    last_name: Annotated[str, typer.Option()] = "",
    organization: Annotated[str | None, typer.Option(help="Code of the organization it belongs to.")] = None,
    *,
    password_stdin: PasswordStdin = False,
    service: Annotated[
        bool, typer.Option("--service", help="An account for a program; its password is made and told once.")
    ] = False,
) -> None:
    """Open an account; it has no roles before `saraban user grant`, and its person has to change the password.

    Examples:

        saraban user create somchai --email somchai@example.org --organization คคง.
        saraban user create importer --email importer@example.org --organization คคง. --service
    """
    from saraban.identity import service as identity
    from saraban.identity.service.passwords import make_password

    made = make_password() if service and not password_stdin else None
    secret = made or _password(password_stdin)
    names = (username, email, first_name, last_name, organization)
    account = identity.NewAccount(*names, is_service=service, must_change_password=not service)
    as_system(identity.create_user, account, password=secret)
    tell(f"เปิดบัญชี {username} แล้ว", f"The account {username} is open.")
    if made is not None:
        tell(f"รหัสผ่าน (แสดงครั้งเดียว): {made}", f"Its password, told this once: {made}")


@group.command()
def invite(
    username: Name,
    email: Annotated[str | None, typer.Option(help="Address for notices; each account has its own.")] = None,
    first_name: Annotated[str, typer.Option()] = "",
    last_name: Annotated[str, typer.Option()] = "",
    organization: Annotated[str | None, typer.Option(help="Code of the organization it belongs to.")] = None,
    *,
    again: Annotated[
        bool, typer.Option("--again", help="A new link for an account that is there; the old link ends.")
    ] = False,
    hand_over: Annotated[
        bool, typer.Option("--hand-over", help="With --again: print the link in any case; it works for 24 hours.")
    ] = False,
) -> None:
    """Open an account whose person chooses the password by a link that works once, for 7 days.

    The link is mailed, or printed where no e-mail is set up. `--again` replaces a link that was lost, and lets
    somebody who forgot the password choose another.

    Examples:

        saraban user invite somchai --email somchai@example.org --first-name สมชาย --organization คคง.
        saraban user invite somchai --again
        saraban user invite somchai --again --hand-over
    """
    from saraban.identity import service as identity

    if again:
        invitation = as_system(identity.invite_again, username=username, handed_over=hand_over)
    elif email is None:
        raise stop("ระบุ --email หรือ --again", "Say --email, or --again for an account that is there.", code=2)
    else:
        account = identity.NewAccount(username, email, first_name, last_name, organization)
        invitation = as_system(identity.invite_user, account)
    print_invitations([invitation], handed_over=again and hand_over)


@group.command("list")
def list_(
    search: Annotated[str, typer.Option(help="Part of a name, user name or e-mail.")] = "",
    organization: Annotated[str, typer.Option(help="Code of an organization.")] = "",
    role: Annotated[str, typer.Option(help="Who has this role somewhere now.")] = "",
    state: Annotated[str, typer.Option(help="active, invited, locked or closed.")] = "",
    *,
    service: Annotated[bool | None, typer.Option("--service/--people", help="Programs only, or people only.")] = None,
) -> None:
    """List accounts with their organizations and roles.

    Examples:

        saraban user list
        saraban user list --organization คคง. --state invited
    """
    from saraban.identity import service as identity

    if state not in {"", "active", "invited", "locked", "closed"}:
        raise stop("สถานะ: active, invited, locked, closed", "Say active, invited, locked or closed.", code=2)
    headings = (
        ("ชื่อผู้ใช้", "User name"),
        ("ชื่อ", "Name"),
        ("องค์กร", "Organization"),
        ("บทบาท", "Roles"),
        ("สถานะ", "Status"),
    )
    rows = (
        (one.username, one.display_name, one.organization_code or "-", one.roles, _state(one))
        for one in reading(lambda _ctx, session: identity.list_users(session))
        if search.casefold() in f"{one.username} {one.display_name} {one.email}".casefold()
        and organization in {"", one.organization_code}
        and (not role or role in one.roles.split(", "))
        and state in {"", one.state}
        and service in {None, one.is_service}
    )
    print_table(say("บัญชีผู้ใช้", "Accounts"), headings, rows)


@group.command()
def change(
    username: Name,
    email: Annotated[str | None, typer.Option(help="Address for notices.")] = None,
    first_name: Annotated[str | None, typer.Option()] = None,
    last_name: Annotated[str | None, typer.Option()] = None,
    organization: Annotated[str | None, typer.Option(help="Move to the organization of this code.")] = None,
) -> None:
    """Change names or address of an account, or move its person to another organization; roles in other organizations end.

    Example: `saraban user change somchai --organization ผรม.2`
    """
    from saraban.identity import service as identity

    told = {"email": email, "first_name": first_name, "last_name": last_name, "organization": organization}
    wanted = identity.AccountChange(**{name: value for name, value in told.items() if value is not None})
    as_system(identity.change_user, person=username, change=wanted)
    tell(f"แก้ไขบัญชี {username} แล้ว", f"The account {username} is changed.")


@group.command()
def disable(username: Name) -> None:
    """Close an account; it is refused from its next request on.

    Example: `saraban user disable somchai`
    """
    _switch(username, active=False)


@group.command()
def enable(username: Name) -> None:
    """Open a closed account again.

    Example: `saraban user enable somchai`
    """
    _switch(username, active=True)


@group.command()
def unlock(username: Name) -> None:
    """Forgive the wrong passwords of an account: who was delayed or has to wait may log in at once.

    Example: `saraban user unlock somchai`
    """
    from saraban.identity import service as identity

    as_system(identity.unlock, username=username)
    tell(f"ปลดล็อกบัญชี {username} แล้ว", f"The account {username} is unlocked.")


@group.command()
def password(username: Name, *, password_stdin: PasswordStdin = False) -> None:
    """Set a new password, which unlocks the account and ends its sessions; its person has to change it at the next sign-in.

    Examples:

        saraban user password somchai
        pass show saraban/somchai | saraban user password somchai --password-stdin
    """
    from saraban.identity import service as identity

    secret = _password(password_stdin)
    as_system(identity.set_password, username=username, password=secret)
    tell(f"ตั้งรหัสผ่านใหม่ของ {username} แล้ว", f"The account {username} has a new password.")


@group.command()
def grant(
    username: Name,
    role: Role,
    organization: Organization = None,
    project: Project = None,
    contract: Contract = None,
    first: Annotated[
        date | None, typer.Option("--from", metavar="DAY", parser=read_day, help="The first day on which it counts.")
    ] = None,
    last: Annotated[
        date | None, typer.Option("--until", metavar="DAY", parser=read_day, help="The last day on which it counts.")
    ] = None,
) -> None:
    """Give a role in one place; each role is made for one level, and the message says which.

    Examples:

        saraban user grant somchai "Document Control" --organization คคง.
        saraban user grant somchai "Editor" --organization คคง. --from 2026-12-01 --until 31/12/2569
        saraban user grant somchai "Contract Admin" --contract LCBP3-C2
        saraban user grant root Superadmin
    """
    from saraban.identity import service as identity

    grant = identity.RoleGrant(role, organization, project, contract, first=first, last=last)
    as_system(identity.grant_role, username, grant)
    tell(f"มอบบทบาท {role} ให้ {username} แล้ว", f"{username} has the role {role}.")


@group.command()
def revoke(
    username: Name,
    role: Role,
    organization: Organization = None,
    project: Project = None,
    contract: Contract = None,
) -> None:
    """Take a role back in the place where it was given; open reviews ask that person no more.

    Example: `saraban user revoke somchai "Document Control" --organization คคง.`
    """
    from saraban.identity import service as identity

    grant = identity.RoleGrant(role, organization, project, contract)
    as_system(identity.revoke_role, username, grant)
    tell(f"ถอนบทบาท {role} จาก {username} แล้ว", f"{username} no longer has the role {role} there.")


@group.command()
def limit(
    username: Name,
    per_minute: Annotated[str, typer.Argument(metavar="N|everybody|exempt", help="Numbers a minute.")],
) -> None:
    """Let an account issue N numbers a minute, as many as everybody, or as many as it wants (a service account).

    Examples:

        saraban user limit importer 600
        saraban user limit importer exempt
        saraban user limit somchai everybody
    """
    from saraban.identity import service as identity

    if per_minute.isascii() and per_minute.isdigit() and 1 <= int(per_minute) <= 1_000_000:
        wanted: int | None = int(per_minute)
    elif per_minute in {"everybody", "exempt"}:
        wanted = 0 if per_minute == "exempt" else None
    else:
        raise stop(
            "ระบุจำนวนต่อนาทีตั้งแต่ 1 ถึง 1000000 หรือ everybody หรือ exempt",
            "Say a number from 1 to 1000000, or everybody, or exempt.",
            code=EXIT_CODES[ErrorKind.INVALID],
        )
    as_system(identity.limit_draws, username=username, per_minute=wanted)
    tell(f"เพดานการออกเลขของ {username}: {per_minute}", f"The account {username} may now draw: {per_minute}.")


def _switch(username: str, *, active: bool) -> None:
    from saraban.identity import service as identity

    as_system(identity.set_active, username=username, active=active)
    done = say("เปิดใช้", "enabled") if active else say("ปิดใช้", "disabled")
    tell(f"{done}บัญชี {username} แล้ว", f"The account {username} is {done}.")


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return typer.prompt(  # type: ignore[no-any-return]
        say("รหัสผ่าน", "Password"), hide_input=True, confirmation_prompt=say("ยืนยันรหัสผ่าน", "Repeat password")
    )


def _state(account: "AccountSummary") -> str:
    words = {
        "closed": say("ปิดบัญชีแล้ว", "closed"),
        "invited": say("รอตอบรับคำเชิญ", "invited"),
        "locked": say("ถูกล็อก", "locked"),
    }
    return words.get(account.state, say("ใช้งานได้", "active"))


@group.command("import")
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="XLSX, XLSM, XLS, ODS or CSV.")],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would happen and change nothing.")] = False,
    template: Annotated[bool, typer.Option("--template", help="Write an empty workbook to FILE instead.")] = False,
) -> None:
    """Invite everybody of a spreadsheet and give them their roles: all of them, or nobody when a row has a fault.

    A person with several roles has several rows. Who has an account already stays as that is; what the sheet says
    else is listed.

    Examples:

        saraban user import --template people.xlsx
        saraban user import people.xlsx --dry-run
        saraban user import people.xlsx
    """
    from saraban.identity import service as identity
    from saraban.identity.domain.people_workbook import COLUMNS
    from saraban.kit.spreadsheets import unreadable
    from saraban.kit.workbooks import write_template

    if template:
        write_template(file, COLUMNS, "People")
        typer.echo(str(file))
        return
    if not file.is_file():
        raise unreadable()
    rows = identity.read_people_sheet(file)
    try:
        done = as_system(identity.import_people, rows=rows, dry_run=dry_run)
    except Invalid as fault:
        fault.fields = tuple(replace(one, pointer=_row_and_column(one.pointer)) for one in fault.fields)
        raise
    for one in done.known:
        _tell_known(one)
    count, known = len(done.invitations), len(done.known)
    if dry_run:
        tell(
            f"จะเชิญ {count} คน มีบัญชีอยู่แล้ว {known} คน ยังไม่ได้เปลี่ยนสิ่งใด",
            f"{count} would be invited, {known} have an account already; nothing was changed.",
        )
        return
    tell(f"เชิญแล้ว {count} คน มีบัญชีอยู่แล้ว {known} คน", f"{count} invited, {known} have an account already.")
    print_invitations(done.invitations)


def _tell_known(one: "KnownPerson") -> None:
    if one.differs:
        columns = ", ".join(_title(key) for key in one.differs)
        tell(
            f"แถว {one.line}: {one.username} มีบัญชีอยู่แล้ว ไม่ได้เปลี่ยน ต่างที่ {columns}",
            f"row {one.line}: {one.username} has an account and stays as it is; the sheet differs in {columns}.",
        )


def _row_and_column(pointer: str) -> str:
    """`/5/email` as somebody finds it in the sheet."""
    line, _, key = pointer.removeprefix("/").partition("/")
    return say(f"แถว {line}, {_title(key)}", f"row {line}, {_title(key)}") if key else line


def _title(key: str) -> str:
    from saraban.identity.domain.people_workbook import COLUMNS

    return next((column.heading.say(language()) for column in COLUMNS if column.key == key), key)


@group.command()
def why(
    username: Name,
    permission: Annotated[
        str, typer.Argument(help="A permission; of a document also `view`, `edit` or an action of its workflow.")
    ],
    document: Annotated[str | None, typer.Option(help="Number of a document.")] = None,
    organization: Organization = None,
    project: Project = None,
    contract: Contract = None,
) -> None:
    """Say why somebody may, or may not: the role that decides, or what is missing and who can give it.

    Examples:

        saraban user why somchai approve --document คคง.-สคฉ.3-0001-2569
        saraban user why somchai contract.edit --project LCBP3-C2
    """
    from saraban.documents.access import service as access
    from saraban.documents.access.domain import SAYS, AccessQuestion
    from saraban.identity.service import assignments
    from saraban.identity.service.access import load_subject

    async def ask(ctx: "RequestContext", session: "AsyncSession") -> "Explanation":
        if document is not None:
            key = await access.document_numbered(ctx, session, document)
            question = AccessQuestion(permission, document=key, username=username)
            return (await access.explain(ctx, session, question)).explanation
        place = await assignments.find_scope(session, organization, project, contract)
        subject = await load_subject(ctx, session, username=username)
        return await access.explain_in_place(session, subject, permission=permission, scope=place.scope)

    found = reading(ask)
    answer = say("ได้", "yes") if found.allowed else say("ไม่ได้", "no")
    typer.echo(f"{answer}: {SAYS[found.reason].say(language())}")
    for one in found.roles:
        typer.echo(f"  {one.grant.role} · {one.level} {one.place or ''}".rstrip())
    for label, names in (
        (say("สิทธิ์ที่ขาด", "missing"), found.missing),
        (say("ขั้นตอนต้องการบทบาท", "the step asks for the role"), found.role_names),
        (say("บทบาทที่ให้สิทธิ์นี้", "roles that give it"), [_carrying(one) for one in found.carriers]),
        (say("ทำแทน", "in the place of"), [one.display_name for one in found.on_behalf_of]),
        (say("อยู่ที่", "pending with"), found.asked),
        (say("ผู้ที่มอบสิทธิ์ได้", "who can give it"), [one.display_name for one in found.givers]),
    ):
        if names:
            typer.echo(f"  {label}: {', '.join(names)}")


def _carrying(one: "CarryingRole") -> str:
    return f"{one.name} ({' '.join((one.level, ', '.join(one.places))).rstrip()})"
