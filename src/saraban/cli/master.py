"""
`saraban master …`: the lists that documents are classified by. `saraban organization`, `saraban contract` and part of
`saraban project` are the same commands with their list named.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from saraban.cli.output import print_table, say, tell
from saraban.cli.run import HERE, as_account, read_pages, reading
from saraban.kit.errors import invalid

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.setup.domain.master_kinds import MasterKind
    from saraban.setup.domain.master_rows import MasterAddress, MasterRow

group = typer.Typer(no_args_is_help=True, help="Lists that documents are classified by: disciplines, types, tags, …")

Which = Annotated[str, typer.Argument(metavar="LIST", help="disciplines, rfa-types, sub-types, tags, rfa-statuses, …")]
Row = Annotated[str, typer.Argument(metavar="CODE", help="Code of the row.")]
Values = Annotated[
    list[str], typer.Argument(metavar="FIELD=VALUE…", help="Fields as in the API; `FIELD=` takes a value away.")
]
Project = Annotated[str | None, typer.Option(help="Code of the project whose list it is.")]
Contract = Annotated[str | None, typer.Option(help="Code of the contract whose list it is.")]
TypeCode = Annotated[str | None, typer.Option("--type", help="Of a sub type: its document type.")]
Reader = Annotated[str | None, typer.Option("--as", help="Account whose rights count.")]
As = Annotated[str | None, typer.Option("--as", help="Account in whose name it is done; without it the system's.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A workbook (XLSX).")]
Confirmed = Annotated[
    bool, typer.Option("--confirm-series", help="Change what numbers print, although series begin anew at 1.")
]
Closed = Annotated[bool, typer.Option("--closed", help="Show those that are closed, too.")]


def kind_named(path: str) -> "MasterKind":
    """
    :raises Invalid: naming the lists that there are
    """
    from saraban.setup.domain.master_kinds import KINDS

    known = {kind.path.removeprefix("drawing-categories/"): kind for kind in KINDS}
    if path not in known:
        th, en = "ไม่มีรายการ “{value}” มีดังนี้: {known}", "There is no list “{value}”; there are: {known}."
        raise invalid("/LIST", "unknown", th, en, value=path, known=", ".join(known))
    return known[path]


async def _owner(
    session: "AsyncSession", kind: "MasterKind", project: str | None, contract: str | None
) -> "UUID | None":
    from saraban.setup.domain.master_kinds import CONTRACT, PROJECT, Owner
    from saraban.setup.service import master_data

    if kind.owner is Owner.INSTALLATION:
        return None
    above, code, option = (
        (PROJECT, project, "project") if kind.owner is Owner.PROJECT else (CONTRACT, contract, "contract")
    )
    if code is None:
        raise invalid(f"/{option}", "required", "ต้องระบุ --{option}", "Give --{option}.", option=option)
    return await master_data.public_id_of(session, above, code, pointer=f"/{option}")


async def _address(
    session: "AsyncSession", kind: "MasterKind", code: str, place: tuple[str | None, str | None], type_code: str | None
) -> "MasterAddress":
    from saraban.setup.domain.master_rows import MasterAddress
    from saraban.setup.service import master_data

    if kind.has_public_id:
        return MasterAddress(public_id=await master_data.public_id_of(session, kind, code, pointer="/CODE"))
    return MasterAddress(code, await _owner(session, kind, *place), type_code)


def _values(kind: "MasterKind", pairs: Sequence[str]) -> dict[str, str | None]:
    """
    :raises Invalid: for a field that the kind does not have
    """
    found: dict[str, str | None] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in {one.name for one in kind.fields}:
            known = ", ".join(one.name for one in kind.fields)
            th, en = "ต้องเป็น ฟิลด์=ค่า โดยฟิลด์คือ {known}", "This must be FIELD=VALUE; the fields are {known}."
            raise invalid(f"/{name}", "unknown_field", th, en, known=known)
        found[name] = value or None
    return found


@group.command("list")
def list_rows(
    which: Which,
    project: Project = None,
    contract: Contract = None,
    search: Annotated[str | None, typer.Option(help="Part of a code or a name.")] = None,
    closed: Closed = False,
    account: Reader = None,
) -> None:
    """List the rows in their order.

    Example: `saraban master list disciplines --contract LCBP3-C2`
    """
    from saraban.setup.service import master_data

    kind = kind_named(which)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "list[MasterRow]":
        owner = await _owner(session, kind, project, contract)
        wanted: dict[str, Any] = {"owner": owner, "search": search, "include_closed": closed, "limit": 100}
        return await read_pages(lambda cursor: master_data.list_rows(ctx, session, kind, cursor=cursor, **wanted))

    rows = reading(step, account, address=HERE)
    shown = [one for one in kind.fields if one.length <= 255]
    headings = [*((one.label.th, one.label.en) for one in shown), ("สถานะ", "Status")]
    print_table(
        say(kind.plural.th, kind.plural.en),
        headings,
        [[*(str(row.values[one.name] or "") for one in shown), _state(row)] for row in rows],
    )


def _state(row: "MasterRow") -> str:
    return say("ใช้งาน", "Open") if row.is_active else say("ปิดแล้ว", "Closed")


@group.command("show")
def show(
    which: Which,
    code: Row,
    project: Project = None,
    contract: Contract = None,
    type_code: TypeCode = None,
    account: Reader = None,
) -> None:
    """Show one row.

    Example: `saraban master show disciplines TER --contract LCBP3-C2`
    """
    from saraban.setup.service import master_data

    kind = kind_named(which)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "MasterRow":
        address = await _address(session, kind, code, (project, contract), type_code)
        return await master_data.read(ctx, session, kind, address)

    row = reading(step, account, address=HERE)
    for one in kind.fields:
        typer.echo(f"{one.name}: {row.values[one.name] or ''}")
    typer.echo(_state(row))


@group.command("add")
def add(which: Which, values: Values, project: Project = None, contract: Contract = None, account: As = None) -> None:
    """Add a row at the end of its list.

    Example: `saraban master add disciplines code=ELE nameTh=ไฟฟ้า nameEn=Electrical --contract LCBP3-C2 --as admin`
    """
    from saraban.setup.schemas.master_data import new_row
    from saraban.setup.service import master_data

    kind = kind_named(which)
    new = _checked(new_row(kind), {name: value for name, value in _values(kind, values).items() if value is not None})

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "MasterRow":
        owner = await _owner(session, kind, project, contract)
        return await master_data.create(ctx, session, kind, owner=owner, new=new)

    row = as_account(account, step, address=HERE)
    tell(f"เพิ่ม {row.code} แล้ว", f"{row.code} added.")


def _checked(schema: Any, values: dict[str, str | None]) -> Any:
    from saraban.setup.domain.master_workbook import checked_values

    return checked_values(schema, values)


@group.command("change")
def change(
    which: Which,
    code: Row,
    values: Values,
    project: Project = None,
    contract: Contract = None,
    type_code: TypeCode = None,
    confirm_series: Confirmed = False,
    account: As = None,
) -> None:
    """Change a row. A code that numbers print is changed once --confirm-series says so.

    Example: `saraban master change disciplines TER nameEn=Quay --contract LCBP3-C2 --as admin`
    """
    from saraban.setup.schemas.master_data import row_change
    from saraban.setup.service import master_data

    kind = kind_named(which)
    wanted = _checked(row_change(kind), _values(kind, values))
    wanted.confirm_series = confirm_series

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "MasterRow":
        address = await _address(session, kind, code, (project, contract), type_code)
        return await master_data.change(ctx, session, kind, address, wanted=wanted)

    row = as_account(account, step, address=HERE)
    tell(f"แก้ไข {row.code} แล้ว", f"{row.code} changed.")


@group.command("close")
def close(
    which: Which,
    code: Row,
    project: Project = None,
    contract: Contract = None,
    type_code: TypeCode = None,
    account: As = None,
) -> None:
    """Close a row: it stays on documents and leaves the forms.

    Example: `saraban master close disciplines TER --contract LCBP3-C2 --as admin`
    """
    _end("close", kind_named(which), code, (project, contract), type_code, account)
    tell(f"ปิด {code} แล้ว", f"{code} closed.")


@group.command("reopen")
def reopen(
    which: Which,
    code: Row,
    project: Project = None,
    contract: Contract = None,
    type_code: TypeCode = None,
    account: As = None,
) -> None:
    """Offer a closed row in the forms again.

    Example: `saraban master reopen disciplines TER --contract LCBP3-C2 --as admin`
    """
    _end("reopen", kind_named(which), code, (project, contract), type_code, account)
    tell(f"เปิดใช้ {code} แล้ว", f"{code} reopened.")


def _end(
    verb: str,
    kind: "MasterKind",
    code: str,
    place: tuple[str | None, str | None],
    type_code: str | None,
    account: str | None,
) -> None:
    from saraban.setup.service import master_data

    async def step(ctx: "RequestContext", session: "AsyncSession") -> None:
        address = await _address(session, kind, code, place, type_code)
        await getattr(master_data, verb)(ctx, session, kind, address)

    as_account(account, step, address=HERE)


@group.command("order")
def order(
    which: Which,
    codes: Annotated[list[str], typer.Argument(metavar="CODE…", help="In the order wanted; the others follow.")],
    project: Project = None,
    contract: Contract = None,
    account: As = None,
) -> None:
    """Put the rows of a list in order.

    Example: `saraban master order disciplines TER STR --contract LCBP3-C2 --as admin`
    """
    from saraban.setup.service import master_data

    kind = kind_named(which)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> None:
        owner = await _owner(session, kind, project, contract)
        await master_data.reorder(ctx, session, kind, owner=owner, codes=codes)

    as_account(account, step, address=HERE)
    tell("เรียงลำดับแล้ว", "Put in order.")


@group.command("import")
def import_(
    which: Which,
    file: File,
    project: Project = None,
    contract: Contract = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do, and do nothing.")] = False,
    confirm_series: Confirmed = False,
    account: As = None,
) -> None:
    """Add what is new in a workbook and change what differs: all of it, or nothing when a row has a fault.

    Example: `saraban master import disciplines rows.xlsx --dry-run --contract LCBP3-C2 --as admin`
    """
    from saraban.kit.spreadsheets import unreadable
    from saraban.setup.domain.master_rows import MasterImport
    from saraban.setup.service import master_import

    kind = kind_named(which)
    if not file.is_file():
        raise unreadable()
    rows = master_import.read_workbook(kind, file)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> MasterImport:
        owner = await _owner(session, kind, project, contract)
        how = {"dry_run": dry_run, "confirm_series": confirm_series}
        return await master_import.import_rows(ctx, session, kind, owner=owner, rows=rows, **how)

    done = as_account(account, step, address=HERE)
    added, changed, same = done.count("add"), done.count("change"), done.count("same")
    th, en = ("จะ", "would be ") if dry_run else ("", "")
    tell(
        f"{th}เพิ่ม {added} แก้ไข {changed} เหมือนเดิม {same}", f"{added} {en}added, {changed} {en}changed, {same} the same."
    )


@group.command("export")
def export(
    which: Which,
    file: File,
    project: Project = None,
    contract: Contract = None,
    closed: Closed = False,
    account: Reader = None,
) -> None:
    """Write a list into a workbook that can be changed and imported again.

    Example: `saraban master export disciplines rows.xlsx --contract LCBP3-C2`
    """
    from saraban.setup.service import master_import

    kind = kind_named(which)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "list[MasterRow]":
        owner = await _owner(session, kind, project, contract)
        return await master_import.export_rows(ctx, session, kind, owner=owner, closed=closed)

    master_import.write_workbook(kind, reading(step, account, address=HERE), file)
    typer.echo(str(file))


def add_commands(
    target: typer.Typer, path: str, noun: str, verbs: Sequence[Callable[..., None]], drop: set[str]
) -> None:
    """
    Give a group of its own the commands of one list.

    :param drop: options that mean nothing there
    """
    for verb in verbs:
        name = verb.__name__.removesuffix("_rows").removesuffix("_")
        target.command(name)(_bound(verb, path, noun, drop | {"which", "type_code"}))


def _bound(verb: Callable[..., None], path: str, noun: str, drop: set[str]) -> Callable[..., None]:
    @wraps(verb)
    def command(**given: Any) -> None:
        verb(path, **given)

    shaped: Any = command
    shape = inspect.signature(verb)
    shaped.__signature__ = shape.replace(parameters=[one for one in shape.parameters.values() if one.name not in drop])
    del shaped.__wrapped__
    told, _, _ = (verb.__doc__ or "").partition("\n\n")
    shaped.__doc__ = f"{told}\n\n    Example: `saraban {noun} {_EXAMPLES[noun, verb.__name__]}`\n    "
    return command


_EXAMPLES = {
    ("organization", "list_rows"): "list --search ผรม",
    ("organization", "show"): "show ผรม.2",
    ("organization", "add"): "add organizationCode=ผรม.9 organizationName=ผู้รับเหมางานไฟฟ้า role=CONTRACTOR --as admin",
    ("organization", "change"): "change ผรม.2 organizationNameEn=Contractor --as admin",
    ("organization", "close"): "close ผรม.2 --as admin",
    ("organization", "reopen"): "reopen ผรม.2 --as admin",
    ("organization", "import_"): "import organizations.xlsx --dry-run --as admin",
    ("organization", "export"): "export organizations.xlsx",
    ("contract", "list_rows"): "list --project LCBP3-C2",
    ("contract", "show"): "show LCBP3-C2",
    (
        "contract",
        "add",
    ): "add contractCode=LCBP3-C3 contractName=งานไฟฟ้า startDate=2026-01-05 --project LCBP3-C2 --as padmin",
    ("contract", "change"): "change LCBP3-C2 endDate=2028-12-29 --as padmin",
    ("contract", "close"): "close LCBP3-C2 --as padmin",
    ("contract", "reopen"): "reopen LCBP3-C2 --as padmin",
    ("contract", "import_"): "import contracts.xlsx --dry-run --project LCBP3-C2 --as padmin",
    ("contract", "export"): "export contracts.xlsx --project LCBP3-C2",
    ("project", "list_rows"): "list",
    ("project", "show"): "show LCBP3-C2",
    ("project", "change"): "change LCBP3-C2 projectNameEn='Laem Chabang' --as padmin",
    ("project", "close"): "close LCBP3-C2 --as padmin",
    ("project", "reopen"): "reopen LCBP3-C2 --as padmin",
}
OF_ENTITIES = (list_rows, show, add, change, close, reopen, import_, export)
organization = typer.Typer(
    no_args_is_help=True, help="Organizations: added, changed, closed; out of a workbook and into one."
)
add_commands(organization, "organizations", "organization", OF_ENTITIES, {"project", "contract"})
contract = typer.Typer(no_args_is_help=True, help="Contracts of a project: added, changed, closed; in workbooks, too.")
add_commands(contract, "contracts", "contract", OF_ENTITIES, {"contract"})
