"""`saraban user import`: everybody of a spreadsheet is invited at once."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import language, print_invitations, say
from saraban.cli.run import as_system
from saraban.kit.errors import Invalid

if TYPE_CHECKING:
    from saraban.identity.service import KnownPerson, PeopleImport

MOST_COLUMNS = 32
MOST_ROWS = 10_001


def register(noun: typer.Typer) -> None:
    noun.command("import")(import_)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="XLSX, or CSV in UTF-8.")],
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
    if template:
        _write_template(file)
        typer.echo(str(file))
        return
    try:
        rows = _rows(file)
        done = _import(rows, dry_run=dry_run)
    except Invalid as fault:
        fault.fields = tuple(replace(one, pointer=_place(one.pointer)) for one in fault.fields)
        raise
    for one in done.known:
        _tell_known(one)
    count, known = len(done.invitations), len(done.known)
    if dry_run:
        typer.echo(
            say(
                f"จะเชิญ {count} คน มีบัญชีอยู่แล้ว {known} คน ยังไม่ได้เปลี่ยนสิ่งใด",
                f"{count} would be invited, {known} have an account already; nothing was changed.",
            )
        )
        return
    typer.echo(say(f"เชิญแล้ว {count} คน มีบัญชีอยู่แล้ว {known} คน", f"{count} invited, {known} have an account already."))
    print_invitations(done.invitations)


def _rows(file: Path) -> list[list[object]]:
    from saraban.kit.spreadsheets import read_rows, unreadable

    if not file.is_file():
        raise unreadable()
    return list(read_rows(file, columns=MOST_COLUMNS, rows=MOST_ROWS))


def _import(rows: list[list[object]], *, dry_run: bool) -> "PeopleImport":
    from saraban.identity import service as identity

    return as_system(lambda ctx, session: identity.import_people(ctx, session, rows=rows, dry_run=dry_run))


def _tell_known(one: "KnownPerson") -> None:
    if one.differs:
        columns = ", ".join(_title(key) for key in one.differs)
        typer.echo(
            say(
                f"แถว {one.line}: {one.username} มีบัญชีอยู่แล้ว ไม่ได้เปลี่ยน ต่างที่ {columns}",
                f"row {one.line}: {one.username} has an account and stays as it is; the sheet differs in {columns}.",
            )
        )


def _place(pointer: str) -> str:
    """`/5/email` as somebody finds it in the sheet."""
    line, _, key = pointer.removeprefix("/").partition("/")
    return say(f"แถว {line}, {_title(key)}", f"row {line}, {_title(key)}") if key else line


def _title(key: str) -> str:
    from saraban.identity.domain.people_workbook import COLUMNS

    return next((column.heading.say(language()) for column in COLUMNS if column.key == key), key)


def _write_template(file: Path) -> None:
    from xlsxwriter import Workbook

    from saraban.identity.domain.catalogue import ROLES
    from saraban.identity.domain.people_workbook import COLUMNS

    with Workbook(str(file)) as book:
        bold = book.add_format({"bold": True})
        people = book.add_worksheet("People")
        people.freeze_panes(1, 0)
        people.set_column(0, len(COLUMNS) - 1, 24)
        people.write_row(0, 0, [column.title for column in COLUMNS], bold)
        roles = book.add_worksheet("Roles")
        roles.set_column(0, 3, 30)
        roles.write_row(0, 0, ["บทบาท / Role", "", "ระดับ / Level", "คำอธิบาย / Explanation"], bold)
        for row, offer in enumerate(ROLES, 1):
            roles.write_row(row, 0, [offer.name, offer.called.th, offer.scope, offer.says.th])
