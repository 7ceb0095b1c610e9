"""
`saraban master …`: the lists that documents are classified by. `saraban organization`, `saraban contract` and part of
`saraban project` are the same commands with their list named.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from saraban.cli.output import print_table, say, tell
from saraban.cli.run import as_operator, reading_as
from saraban.kit.errors import invalid

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.setup.domain.master_kinds import MasterKind
    from saraban.setup.domain.master_rows import MasterAddress, MasterRow

Row = Annotated[str, typer.Argument(metavar="CODE", help="Its code.")]
Values = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE…", help="Fields as in the API; `FIELD=` takes a value away.")
]
As = Annotated[
    str | None,
    typer.Option("--as", help="Account in whose name it is done; its rights count. Without it the system's."),
]
File = Annotated[Path, typer.Argument(metavar="FILE", help="XLSX, XLSM, XLS, ODS or CSV; an export is XLSX or CSV.")]
Confirmed = Annotated[
    bool, typer.Option("--confirm-series", help="Change what numbers print, although series begin anew at 1.")
]
Closed = Annotated[bool, typer.Option("--closed", help="Those that are closed, too.")]


T = TypeVar("T")
Verb = Callable[..., Awaitable[T]]


@dataclass(frozen=True, slots=True)
class List:
    """
    The list that a command is about.

    :param which: its path, as in the API
    :param project: and `contract`: codes of whose list it is
    :param type_code: of a sub type: its document type
    """

    which: str
    project: str | None = None
    contract: str | None = None
    type_code: str | None = None

    @property
    def kind(self) -> "MasterKind":
        """:raises Invalid: naming the lists that there are"""
        from saraban.setup.domain.master_kinds import KINDS

        known = {kind.path.removeprefix("drawing-categories/"): kind for kind in KINDS}
        if self.which not in known:
            th, en = "ไม่มีรายการ “{value}” มีดังนี้: {known}", "There is no list “{value}”; there are: {known}."
            raise invalid("/LIST", "unknown", th, en, value=self.which, known=", ".join(known))
        return known[self.which]

    async def owner(self, session: "AsyncSession") -> "UUID | None":
        from saraban.setup.domain.master_kinds import CONTRACT, PROJECT, Owner
        from saraban.setup.service import master_data

        of = self.kind.owner
        if of is Owner.INSTALLATION:
            return None
        above, code = (PROJECT, self.project) if of is Owner.PROJECT else (CONTRACT, self.contract)
        if code is None:
            raise invalid(f"/{of}", "required", "ต้องระบุ --{option}", "Give --{option}.", option=of.value)
        return await master_data.public_id_of(session, above, code, pointer=f"/{of}")

    async def address(self, session: "AsyncSession", code: str) -> "MasterAddress":
        from saraban.setup.domain.master_rows import MasterAddress
        from saraban.setup.service import master_data

        if self.kind.has_public_id:
            return MasterAddress(public_id=await master_data.public_id_of(session, self.kind, code, pointer="/CODE"))
        return MasterAddress(code, await self.owner(session), self.type_code)

    async def call(self, ctx: "RequestContext", session: "AsyncSession", verb: Verb[T], /, **more: object) -> T:
        """Call a function of the service with the kind and the owner of the list."""
        return await verb(ctx, session, self.kind, owner=await self.owner(session), **more)

    async def call_for_row(
        self, ctx: "RequestContext", session: "AsyncSession", verb: Verb[T], code: str, /, **more: object
    ) -> T:
        """Call it with the address of a row."""
        return await verb(ctx, session, self.kind, await self.address(session, code), **more)

    def values(self, pairs: Sequence[str]) -> dict[str, str | None]:
        """:raises Invalid: for a field that the kind does not have"""
        names = [one.name for one in self.kind.fields]
        found: dict[str, str | None] = {}
        for pair in pairs:
            name, equals, value = pair.partition("=")
            if not equals or name not in names:
                th, en = "ต้องเป็น ฟิลด์=ค่า โดยฟิลด์คือ {known}", "This must be FIELD=VALUE; the fields are {known}."
                raise invalid(f"/{name}", "unknown_field", th, en, known=", ".join(names))
            found[name] = value or None
        return found


def list_(
    rows_of: List,
    search: Annotated[str | None, typer.Option(help="Part of a code or a name.")] = None,
    closed: Closed = False,
    account: As = None,
) -> None:
    """List {rows} in their order."""
    from saraban.setup.service import master_data

    kind = rows_of.kind

    given = {"search": search, "include_closed": closed, "limit": master_data.EVERY}
    rows = reading_as(account, rows_of.call, master_data.list_rows, **given).items
    shown = [one for one in kind.fields if one.length <= 255]
    headings = [*((one.label.th, one.label.en) for one in shown), ("สถานะ", "Status")]
    print_table(
        say(kind.plural.th, kind.plural.en),
        headings,
        [[*(str(row.values[one.name] or "") for one in shown), _state(row)] for row in rows],
    )


def _state(row: "MasterRow") -> str:
    return say("ใช้งาน", "Open") if row.is_active else say("ปิดแล้ว", "Closed")


def show(rows_of: List, code: Row, account: As = None) -> None:
    """Show one {row}."""
    from saraban.setup.service import master_data

    row = reading_as(account, rows_of.call_for_row, master_data.read, code)
    for one in row.kind.fields:
        typer.echo(f"{one.name}: {row.values[one.name] or ''}")
    typer.echo(_state(row))


def add(rows_of: List, values: Values, account: As = None) -> None:
    """Add one {row}; it stands at the end of its list."""
    from saraban.kit.problem import checked_values
    from saraban.setup.schemas.master_data import new_row
    from saraban.setup.service import master_data

    kind = rows_of.kind
    stated = {name: value for name, value in rows_of.values(values).items() if value is not None}
    new = checked_values(new_row(kind), stated)
    row = as_operator(account, rows_of.call, master_data.create, new=new)
    tell(f"เพิ่ม {row.code} แล้ว", f"{row.code} added.")


def change(rows_of: List, code: Row, values: Values, confirm_series: Confirmed = False, account: As = None) -> None:
    """Change one {row}. A code that numbers print is changed once --confirm-series says so."""
    from saraban.kit.problem import checked_values
    from saraban.setup.schemas.master_data import row_change
    from saraban.setup.service import master_data

    kind = rows_of.kind
    wanted = checked_values(row_change(kind), rows_of.values(values))
    wanted.confirm_series = confirm_series
    row = as_operator(account, rows_of.call_for_row, master_data.change, code, wanted=wanted)
    tell(f"แก้ไข {row.code} แล้ว", f"{row.code} changed.")


def close(rows_of: List, code: Row, account: As = None) -> None:
    """Close one {row}: it stays on documents and leaves the forms."""
    _set_active(rows_of, code, account, active=False)
    tell(f"ปิด {code} แล้ว", f"{code} closed.")


def reopen(rows_of: List, code: Row, account: As = None) -> None:
    """Offer one closed {row} in the forms again."""
    _set_active(rows_of, code, account, active=True)
    tell(f"เปิดใช้ {code} แล้ว", f"{code} reopened.")


def _set_active(rows_of: List, code: str, account: str | None, *, active: bool) -> None:
    from saraban.setup.service import master_data

    as_operator(account, rows_of.call_for_row, master_data.set_active, code, active=active)


def order(
    rows_of: List,
    codes: Annotated[list[str], typer.Argument(metavar="CODE…", help="In the order wanted; the others follow.")],
    account: As = None,
) -> None:
    """Put the rows of a list in order."""
    from saraban.setup.service import master_data

    as_operator(account, rows_of.call, master_data.reorder, codes=codes)
    tell("เรียงลำดับแล้ว", "Put in order.")


def import_(
    rows_of: List,
    file: File,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")] = False,
    confirm_series: Confirmed = False,
    sheet: Annotated[str | None, typer.Option(help="The sheet to read, where several have the headings.")] = None,
    account: As = None,
) -> None:
    """Add what is new in a workbook and change what differs: all of it, or nothing when a row has a fault."""
    from saraban.kit.spreadsheets import unreadable
    from saraban.setup.service import master_import

    kind = rows_of.kind
    if not file.is_file():
        raise unreadable()
    rows = master_import.read_sheet(kind, file, sheet)
    how = {"dry_run": dry_run, "confirm_series": confirm_series}
    done = as_operator(account, rows_of.call, master_import.import_rows, rows=rows, **how)
    added, changed, same = done.count("add"), done.count("change"), done.count("same")
    th, en = ("จะ", "would be ") if dry_run else ("", "")
    tell(
        f"{th}เพิ่ม {added} แก้ไข {changed} เหมือนเดิม {same}", f"{added} {en}added, {changed} {en}changed, {same} the same."
    )


def export(rows_of: List, file: File, closed: Closed = False, account: As = None) -> None:
    """Write a list into a workbook that can be changed and imported again."""
    from saraban.setup.service import master_data, master_import

    given = {"include_closed": closed, "limit": master_data.EVERY}
    page = reading_as(account, rows_of.call, master_data.list_rows, **given)
    master_import.write_workbook(rows_of.kind, page.items, file)
    typer.echo(str(file))


_WHICH: Final[Any] = Annotated[
    str, typer.Argument(metavar="LIST", help="disciplines, rfa-types, sub-types, tags, rfa-statuses, …")
]
_OPTIONS: Final[dict[str, Any]] = {
    "project": Annotated[str | None, typer.Option(help="Code of the project whose list it is.")],
    "contract": Annotated[str | None, typer.Option(help="Code of the contract whose list it is.")],
    "type_code": Annotated[str | None, typer.Option("--type", help="Of a sub type: its document type.")],
}


def add_commands(
    target: typer.Typer,
    noun: str,
    verbs: Mapping[Callable[..., None], str],
    *,
    which: str | None = None,
    options: Sequence[str] = (),
) -> None:
    """
    Give a group the commands of a list.

    :param verbs: each with its example, which begins with the name of the command
    :param which: the list; without it, the first argument names one
    :param options: by which its owner is named
    """
    for verb, example in verbs.items():
        command = _command(verb, which, options)
        told = (verb.__doc__ or "").replace("{row}", noun if which else "row").replace("{rows}", which or "rows")
        command.__doc__ = f"{told}\n\n    Example: `saraban {noun} {example}`\n    "
        target.command(example.split()[0])(command)


def _command(verb: Callable[..., None], which: str | None, options: Sequence[str]) -> Callable[..., None]:
    """Put what names the list in the place of the list that the verb takes: typer reads it from the signature."""

    def command(**given: Any) -> None:
        named = {name: given.pop(name) for name in ("which", *_OPTIONS) if name in given}
        verb(List(**({"which": which} | named)), **given)

    def asked(name: str, annotation: object, default: object) -> inspect.Parameter:
        return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)

    own = list(inspect.signature(verb).parameters.values())[1:]
    first = [] if which else [asked("which", _WHICH, inspect.Parameter.empty)]
    shaped: Any = command
    shaped.__signature__ = inspect.Signature(
        [
            *first,
            *(asked(one.name, one.annotation, one.default) for one in own),
            *(asked(name, _OPTIONS[name], None) for name in options if name != "type_code" or own[0].name == "code"),
        ]
    )
    return command


group = typer.Typer(no_args_is_help=True, help="Lists that documents are classified by: disciplines, types, tags, …")
add_commands(
    group,
    "master",
    {
        list_: "list disciplines --contract LCBP3-C2",
        show: "show disciplines TER --contract LCBP3-C2",
        add: "add disciplines code=ELE nameTh=ไฟฟ้า nameEn=Electrical --contract LCBP3-C2 --as admin",
        change: "change disciplines TER nameEn=Quay --contract LCBP3-C2 --as admin",
        close: "close disciplines TER --contract LCBP3-C2 --as admin",
        reopen: "reopen disciplines TER --contract LCBP3-C2 --as admin",
        order: "order disciplines TER STR --contract LCBP3-C2 --as admin",
        import_: "import disciplines rows.xlsx --dry-run --contract LCBP3-C2 --as admin",
        export: "export disciplines rows.xlsx --contract LCBP3-C2",
    },
    options=("project", "contract", "type_code"),
)
organization = typer.Typer(
    no_args_is_help=True, help="Organizations: added, changed, closed; out of a workbook and into one."
)
add_commands(
    organization,
    "organization",
    {
        list_: "list --search ผรม",
        show: "show ผรม.2",
        add: "add organizationCode=ผรม.9 organizationName=ผู้รับเหมางานไฟฟ้า role=CONTRACTOR --as admin",
        change: "change ผรม.2 organizationNameEn=Contractor --as admin",
        close: "close ผรม.2 --as admin",
        reopen: "reopen ผรม.2 --as admin",
        import_: "import organizations.xlsx --dry-run --as admin",
        export: "export organizations.xlsx",
    },
    which="organizations",
)
contract = typer.Typer(no_args_is_help=True, help="Contracts of a project: added, changed, closed; in workbooks, too.")
add_commands(
    contract,
    "contract",
    {
        list_: "list --project LCBP3-C2",
        show: "show LCBP3-C2",
        add: "add contractCode=LCBP3-C3 contractName=งานไฟฟ้า startDate=2026-01-05 --project LCBP3-C2 --as padmin",
        change: "change LCBP3-C2 endDate=2028-12-29 --as padmin",
        close: "close LCBP3-C2 --as padmin",
        reopen: "reopen LCBP3-C2 --as padmin",
        import_: "import contracts.xlsx --dry-run --project LCBP3-C2 --as padmin",
        export: "export contracts.xlsx --project LCBP3-C2",
    },
    which="contracts",
    options=("project",),
)
