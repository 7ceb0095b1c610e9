"""`saraban number template | import | export`: spreadsheets of numbers at the terminal."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.options import As, Project
from saraban.cli.output import language, progress_bar, say, stop, tell, with_system
from saraban.cli.run import account_context, project_named

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.imports.service.run import ImportTurn
    from saraban.numbering.series.models import NumberImport

REFUSED = 3
SHOWN = 20
_ROWS = ("แถว", "rows")

group = typer.Typer()


@group.command()
def template(file: Annotated[Path, typer.Argument(help="Where to write it: .xlsx or .csv")]) -> None:
    """Write an empty workbook for existing numbers; fill it in and give it to `saraban number import`.

    Example: `saraban number template legacy.xlsx`
    """
    from saraban.kit.workbooks import write_template
    from saraban.numbering.imports.domain import COLUMNS

    write_template(_sheet(file), COLUMNS, "Numbers")
    typer.echo(str(file))


@group.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="XLSX, XLSM, XLS, ODS or CSV.")],
    account: As,
    project: Project,
    result: Annotated[Path | None, typer.Option(help="Write each line with what came of it: .xlsx or .csv")] = None,
    *,
    commit: Annotated[bool, typer.Option("--commit", help="Import; without it, only say what would happen.")] = False,
    move_counters: Annotated[
        bool, typer.Option("--move-counters", help="Have each series go on after its highest number.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before counters jump.")] = False,
) -> None:
    """Import existing numbers. A dry run comes first; rejected rows do not affect others.

    May be broken off and run again: what is there already is left alone. Exit code 3 when lines were refused.

    Examples:

        saraban number import legacy.xlsx --project LCBP3-C2 --as padmin --result result.xlsx
        saraban number import legacy.xlsx --project LCBP3-C2 --as padmin --commit --move-counters
    """
    if not file.is_file():
        raise stop("ไม่พบไฟล์", "There is no such file.")
    refused = with_system(_import, file, account, project, result, commit=commit, move=move_counters, yes=yes)
    if refused:
        raise typer.Exit(REFUSED)


async def _import(
    system: "System",
    file: Path,
    account: str,
    project: str,
    result: Path | None,
    *,
    commit: bool,
    move: bool,
    yes: bool,
) -> int:
    from saraban.imports.domain import OUTCOMES
    from saraban.kit.workbooks import ResultWorkbook
    from saraban.numbering.imports.service import legacy_import
    from saraban.numbering.service import NUMBER_IMPORTER

    source, read = legacy_import.source_file(file), NUMBER_IMPORTER.rows
    async with system.db.reading() as session:
        ctx = await account_context(session, system.clock, account)
        place = await project_named(session, project)
    bring = partial(legacy_import.import_at_terminal, ctx, system.db, project_public_id=place)
    total = sum(1 for _ in read(file))
    with (
        ResultWorkbook(_sheet(result), NUMBER_IMPORTER.columns, OUTCOMES) if result else nullcontext() as sheet,
        progress_bar(*_ROWS, total=total) as bar,
    ):
        run, turn = await bring(rows=read(file), sheet=sheet, progress=lambda done: bar(completed=done))
    _name_faults(turn)
    _report(turn)
    for one in sorted(run.highest.values(), key=lambda one: one.series):
        jump = say(f"ตัวนับ {one.counter} -> {one.sequence}", f"counter {one.counter} -> {one.sequence}")
        typer.echo(f"  {one.series}  {say('สูงสุด', 'highest')} {one.sequence}" + (f"  {jump}" if one.jump else ""))
    if commit:
        moves = {one.series: one.sequence for one in run.highest.values() if one.jump} if move else None
        if moves and not yes and not typer.confirm(say("ให้ตัวนับข้ามตามนี้หรือไม่", "Move the counters like this?")):
            raise stop("ยังไม่ได้นำเข้า", "Nothing was imported.")
        with progress_bar(*_ROWS, total=total) as bar:
            _, turn = await bring(rows=read(file), file=source, moves=moves, progress=lambda done: bar(completed=done))
        _report(turn)
    return turn.refused()


def _name_faults(turn: "ImportTurn[NumberImport]") -> None:
    """Name the first lines on stderr that are refused or left out; the result workbook has all."""
    from saraban.imports.domain import LEFT_OUT

    lines = list(dict.fromkeys(fault["line"] for fault in turn.faults))[:SHOWN]
    for fault in turn.faults:
        if fault["line"] in lines:
            where = say(f"แถว {fault['line']}", f"line {fault['line']}")
            sys.stderr.write(f"saraban: {where}, {fault['column']}: {fault[language()]}\n")
    more = turn.refused() + turn.counts[LEFT_OUT] - len(lines)
    if more:
        sys.stderr.write(say(f"saraban: และอีก {more:,} แถว\n", f"saraban: and {more:,} more lines\n"))


def _report(turn: "ImportTurn[NumberImport]") -> None:
    done = say("จะนำเข้า", "to import") if turn.is_check else say("นำเข้าแล้ว", "imported")
    there, refused = say("มีในทะเบียนแล้ว", "already registered"), say("ไม่ผ่าน", "rejected")
    counts = turn.report()
    typer.echo(f"{done} {counts['ready']:,}, {there} {counts['there']:,}, {refused} {counts['refused']:,}")


@group.command()
def export(
    file: Annotated[Path, typer.Argument(help="Where to write it: .xlsx or .csv")],
    project: Project,
    kind: Annotated[str | None, typer.Option("--type", help="Only numbers of this kind of document.")] = None,
    series: Annotated[str | None, typer.Option(help="Only this series.")] = None,
) -> None:
    """Write every number of a project, in whatever state, to a sheet.

    Examples:

        saraban number export ledger.xlsx --project LCBP3-C2
        saraban number export letters.csv --type LETTER --project LCBP3-C2
    """

    async def work(system: "System") -> int:
        from saraban.numbering.register.service import sheets

        async with system.db.reading() as session:
            ctx = await account_context(session, system.clock, None)
            place = await project_named(session, project)
        rows = await sheets.ledger_rows(ctx, system.db, project_public_id=place, type_code=kind, series=series)
        return await sheets.write_export(_sheet(file), rows)

    count = with_system(work)
    tell(f"{count:,} เลขที่", f"{count:,} numbers")


def _sheet(path: Path) -> Path:
    if path.suffix.lower() not in {".xlsx", ".csv"}:
        raise typer.BadParameter(say("ต้องเป็น .xlsx หรือ .csv", "must end in .xlsx or .csv"))
    return path
