"""
`saraban number series | account | verify | errors`: which series there are, what became of each number, whether it adds up.

`errors` lists what numbering refused, and where it failed.
"""

import sys
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

import typer

from saraban.cli.options import Project, read_day
from saraban.cli.output import CountedRows, print_list, progress_bar, say, tell, verification_failure, with_system
from saraban.cli.run import PAGE, project_named, read_pages, reading
from saraban.kit.dates import moments_of_days

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.numbering.register.schemas import SeriesOut
    from saraban.numbering.service import Discrepancy, LedgerLine, NumberErrorRow, NumberRow

DISAGREES = 1
ErrorType = Literal[
    "LOCK_TIMEOUT", "VERSION_CONFLICT", "DB_ERROR", "REDIS_ERROR", "VALIDATION_ERROR", "SEQUENCE_EXHAUSTED"
]

group = typer.Typer()


@group.command()
def series(
    project: Project,
    text: Annotated[str | None, typer.Argument(help="Only series whose name contains this.")] = None,
) -> None:
    """List the series of a project, how far each has counted, and its highest number where that is another.

    Examples:

        saraban number series --project LCBP3-C2
        saraban number series คคง. --project LCBP3-C2
    """
    from saraban.numbering import service as numbering

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "list[SeriesOut]":
        place = await project_named(session, project)
        return await read_pages(
            lambda cursor: numbering.list_series(
                ctx, session, project_public_id=place, text=text, cursor=cursor, limit=PAGE
            )
        )

    rows = reading(step)
    width = max((len(row.series) for row in rows), default=0)
    print_list((_series_line(row, width) for row in rows), "ไม่มีชุดเลข", "No series found.")


def _series_line(row: "SeriesOut", width: int) -> str:
    beyond = (
        say(f"สูงสุด {row.highest_number:,}", f"highest {row.highest_number:,}")
        if row.highest_number > row.last_number
        else ""
    )
    return f"{row.series:<{width}}  {row.last_number:>9,}  {row.document_type or '':<11}  {beyond}".rstrip()


@group.command()
def fullest() -> None:
    """List the series that have used most of their width, of all projects: their order is the `rank` of the metric.

    Example: `saraban number fullest`
    """
    from saraban.numbering import service as numbering

    rows = reading(lambda ctx, session: numbering.measure_utilization(session, now=ctx.now))
    lines = (f"{rank:>4}  {row.ratio:>6.1%}  {row.project}  {row.series}" for rank, row in enumerate(rows, 1))
    print_list(lines, "ยังไม่มีเลขชุดที่ใช้งานอยู่", "No series is in use.")


@group.command()
def account(
    name: Annotated[str, typer.Argument(metavar="SERIES", help="As `saraban number series` lists it.")],
    project: Project,
    first: Annotated[int, typer.Option("--from", min=1, help="Begin with this sequence.")] = 1,
    *,
    holes: Annotated[bool, typer.Option("--holes", help="Only what has no number.")] = False,
) -> None:
    """Print the number ledger of a series from 1 on: the status and document of every number, and the reason of each gap.

    Examples:

        saraban number account "คคง.-สคฉ.3-{SEQ}-2569" --project LCBP3-C2
        saraban number account "คคง.-สคฉ.3-{SEQ}-2569" --from 100 --holes --project LCBP3-C2
    """
    from saraban.numbering import service as numbering

    async def step(ctx: "RequestContext", session: "AsyncSession") -> int:
        place = await project_named(session, project)
        cursor: str | None = None
        while True:
            page = await numbering.series_ledger(
                ctx, session, project_public_id=place, series=name, first=first, cursor=cursor, limit=PAGE
            )
            for line in page.lines:
                if line.entry is None or not holes:
                    typer.echo(_line(line, ctx.zone))
            cursor = page.next_cursor
            if cursor is None:
                return page.counter

    counter = reading(step)
    tell(f"ตัวนับอยู่ที่ {counter}", f"The counter stands at {counter}.")


def _line(line: "LedgerLine[NumberRow]", zone: ZoneInfo) -> str:
    entry, gap = line.entry, line.gap
    if entry is not None:
        at, who, reason = entry.issued_at, entry.username, entry.reason or ""
        if entry.replaced_by:
            reason = f"→ {entry.replaced_by}  {reason}"
        what = f"{entry.number}  {entry.status:<11}"
        holder = f"{entry.holder_kind} {entry.holder}" if entry.holder else "-"
        return f"{entry.sequence:>6}  {what}  {at.astimezone(zone):%Y-%m-%d %H:%M}  {who}  {holder}  {reason}".rstrip()
    assert gap is not None
    where = str(line.first) if line.first == line.last else f"{line.first}-{line.last}"
    when = f"{gap.at.astimezone(zone):%Y-%m-%d %H:%M}  {gap.username}" if gap.at else ""
    return f"{where:>6}  {gap.why:<11}  {when}  {gap.reason or ''}".rstrip()


@group.command()
def verify() -> None:
    """Compare counters, ledger, audit and documents of the whole database; numbers may be issued meanwhile.

    Codes, user names and numbers that looked like an earlier one before that was refused are listed; they change no exit code.

    Exit code 0 when everything adds up, 1 when something does not (each discrepancy is named), 2 when it cannot tell.

    Example: `saraban number verify`
    """
    with verification_failure():
        count, rows = with_system(_verify)
    if count:
        tell(f"พบข้อขัดแย้ง {count} รายการ", f"{count} discrepancies.")
        raise typer.Exit(DISAGREES)
    tell(f"ตรวจ {rows:,} แถว ตรงกันทั้งหมด", f"{rows:,} rows compared; everything adds up.")


async def _verify(system: "System") -> tuple[int, int]:
    from saraban.bootstrap import carriers
    from saraban.kit.keys import list_twins
    from saraban.numbering import service as numbering

    count = 0
    with progress_bar("แถว", "rows") as bar:
        rows = CountedRows(bar)
        async for found in numbering.check_consistency(system.db, carriers=carriers(), progress=rows):
            count += 1
            sys.stderr.write(f"saraban: {_says(found)}\n")
    async with system.db.reading() as session:
        async for table, text in list_twins(session):
            tell(f"{table}: “{text}” ดูเหมือนรายการก่อนหน้า", f"{table}: “{text}” looks like an earlier one.")
    return count, rows.done


_WORDS = {
    "AUDIT_MISSING": ("ไม่มีบันทึกการออกเลข", "the audit has no row of its issue"),
    "AUDIT_TWICE": ("มีบันทึกการออกเลขซ้ำ", "the audit has it issued more than once"),
    "AUDIT_DIFFERS": ("ทะเบียนกับบันทึกไม่ตรงกัน", "ledger and audit differ"),
    "STATE_DIFFERS": ("สถานะไม่ตรงกัน", "its statuses differ"),
    "LEDGER_MISSING": ("มีบันทึกแต่ไม่มีในทะเบียน", "the audit has it, the ledger does not"),
    "RENDERING_MISSING": ("ไม่มีรูปพิมพ์ของเลขนี้", "its printed form is missing"),
    "PRINTS_DIFFERENTLY": ("รูปแบบที่เก็บไว้พิมพ์ได้เลขอื่น", "its stored format prints another number"),
    "LINK_BROKEN": ("การแทนเลขไม่ตรงกันสองทาง", "it is linked to a number that is not linked back"),
    "HOLDER_MISSING": ("ไม่มีเอกสารที่ถือเลขนี้", "the document that holds it is not there"),
    "HOLDER_DIFFERS": ("เอกสารใช้เลขอื่น", "its document uses another number"),
    "DOCUMENT_WITHOUT_NUMBER": ("เอกสารใช้เลขที่ไม่ใช่ของตน", "a document uses a number that is not its own"),
    "COUNTER_MISSING": ("ไม่มีตัวนับ", "the series has no counter"),
    "COUNTER_BEHIND": ("ตัวนับอยู่หลังเลขที่ออกแล้ว", "the counter is behind it"),
    "ISSUED_TWICE": ("ลำดับเดียวกันออกสองครั้ง", "its sequence was issued twice"),
    "HOLE": ("มีเลขหายโดยไม่ทราบสาเหตุ", "numbers are missing without a reason"),
}


def _says(found: "Discrepancy") -> str:
    told = f"{found.project} {found.about}: {say(*_WORDS[found.what])}"
    return f"{told} ({found.detail})" if found.detail else told


@group.command()
def errors(
    kind: Annotated[ErrorType | None, typer.Option("--type", help="Only this type.", case_sensitive=False)] = None,
    username: Annotated[str | None, typer.Option("--user", help="Only calls of this account.")] = None,
    trace: Annotated[str | None, typer.Option(help="Only the call that answered with this trace id.")] = None,
    since: Annotated[date | None, typer.Option(metavar="DAY", parser=read_day, help="Only from this day on.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Newest rows to show.")] = 20,
) -> None:
    """Show the newest calls about numbers that were refused or that failed.

    Rows are kept for SARABAN_NUMBER_ERROR_DAYS.

    Examples:

        saraban number errors
        saraban number errors --type LOCK_TIMEOUT --since 2026-11-01
        saraban number errors --trace 0af7651916cd43dd8448eb211c80319c
    """
    from saraban.numbering import service as numbering
    from saraban.numbering.issue.domain import NumberErrorFilters

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "list[NumberErrorRow]":
        begin = moments_of_days(since, None, ctx.zone)[0]
        filters = NumberErrorFilters(kind, username, trace, begin)
        return await read_pages(
            lambda cursor: numbering.list_errors(ctx, session, filters, cursor=cursor, limit=min(PAGE, limit)),
            most=limit,
        )

    print_list(map(_error_line, reading(step)), "ไม่มีรายการ", "There are none.")


def _error_line(row: "NumberErrorRow") -> str:
    kept = row.error
    context = kept.context_data or {}
    where = context.get("series") or context.get("request") or "-"
    return "  ".join(
        (
            f"{kept.created_at:%Y-%m-%d %H:%M:%S}Z",
            f"{kept.error_type:<18}",
            str(context.get("code", "-")),
            row.username or "-",
            kept.ip_address or "-",
            str(where),
            " ".join((kept.error_message or "").split()),
            kept.trace_id or "-",
        )
    )
