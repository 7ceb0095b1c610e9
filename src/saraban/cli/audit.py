"""
`saraban audit …`: who did what, and the proof that nobody changed it since.

`verify` ends with 0 for in order, 1 for tampered with, 2 for could not tell.
"""

import asyncio
import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from saraban import config
from saraban.cli.output import (
    CANNOT_TELL,
    print_table,
    progress_bar,
    say,
    stop,
    tell,
    verification_failure,
    with_system,
)
from saraban.cli.run import reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.audit.domain.verification import Trust
    from saraban.audit.service import AuditRecord, Finding, Purged, VerificationReport
    from saraban.audit.service.verification import JournalStatus
    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.kit.pagination import Page
    from saraban.numbering.service import FormatChoice, NumberOperation

TAMPERED = 1
_ROWS = ("แถว", "rows")
Keys = Annotated[
    list[str] | None,
    typer.Option("--key", help="A public key that may sign, as its server's head file states it; repeatable."),
]
Heads = Annotated[
    Path | None,
    typer.Option(help="A head file to compare with, such as a copy kept elsewhere. Default: the data folder's."),
]


group = typer.Typer(no_args_is_help=True, help="Read, seal and prove the audit trail. No command changes a row.")


@group.command()
def show(
    entity: Annotated[str | None, typer.Option(help="Public id of the document, account, … it is about.")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of the entity, such as `rfa` or `user`.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this action, such as `rfa.create`.")] = None,
    number: Annotated[
        str | None, typer.Option(help="A document number: what was done with it, from its issue on.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Newest rows to show.")] = 20,
) -> None:
    """Show the newest rows of the audit trail.

    Examples:

        saraban audit show
        saraban audit show --entity 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c
        saraban audit show --number LCBP3-C2-RFA-TER-RPT-0001-A
        saraban audit show --action login.failed --limit 200
    """
    if number is not None:
        _show_number(number)
        return
    from rich.console import Console
    from rich.table import Table

    from saraban.audit import service as audit
    from saraban.identity import service as identity

    async def step(_ctx: "RequestContext", session: "AsyncSession") -> "tuple[Page[AuditRecord], dict[UUID, str]]":
        page = await audit.list_records(session, entity_type=kind, entity_id=entity, action=action, limit=limit)
        return page, {account.public_id: account.username for account in await identity.list_users(session)}

    page, names = reading(step)
    table = Table(title=say("ประวัติการใช้งาน", "Audit trail"))
    table.add_column(say("เวลา", "When"), no_wrap=True)
    table.add_column(say("การดำเนินการ ผู้ดำเนินการ ที่มา", "Action, user, source"), overflow="fold")
    table.add_column(say("เรื่อง", "Subject"), no_wrap=True)
    for entry in page.items:
        actor = names.get(entry.actor_public_id, "-") if entry.actor_public_id else "-"
        about = entry.entity_id or ""
        if entry.action == "project.apply":  # it says who sat at the keyboard, and which project
            actor = f"{actor} ({entry.details['operator']})" if entry.details.get("operator") else actor
            about = str(entry.details.get("project") or about)
        table.add_row(
            f"{entry.created_at:%Y-%m-%d %H:%M:%S}Z",
            f"{entry.action}\n{actor}, {entry.address or '-'}",
            f"{entry.entity_type or ''}\n{about}".strip(),
        )
    Console().print(table)


def _show_number(number: str) -> None:
    from saraban.numbering import service as numbering

    async def step(
        _ctx: "RequestContext", session: "AsyncSession"
    ) -> "tuple[list[NumberOperation], list[FormatChoice | None]]":
        traces = await numbering.audit_trail(session, number=number)
        numbers = dict.fromkeys(one.audit.reservation_uuid for one in traces if one.audit.reservation_uuid)
        return traces, [await numbering.format_choice(session, one) for one in numbers]

    traces, choices = reading(step)
    title = say(f"ประวัติเลขที่ {number}", f"What was done with {number}")
    print_table(title, _OF_NUMBER, map(_trace_row, traces))
    for choice in filter(None, choices):  # several projects may have the number, each with a format of its own
        typer.echo(f"{say('รูปแบบ', 'format')}: {choice.template} ({say(choice.words.th, choice.words.en)})")


_OF_NUMBER = (
    ("เวลา", "When"),
    ("การดำเนินการ", "Action"),
    ("ผู้ดำเนินการ", "User"),
    ("เลขที่", "Number"),
    ("หมายเหตุ", "Notes"),
)


def _trace_row(trace: "NumberOperation") -> tuple[str, ...]:
    row = trace.audit
    lock = f"{say('ล็อก', 'lock')}: {row.lock_path}" if row.lock_path else ""
    return (
        f"{row.created_at:%Y-%m-%d %H:%M:%S}Z",
        row.operation,
        f"{trace.username}\n{row.ip_address or '-'}",
        row.new_value or row.generated_number or "",
        "\n".join(filter(None, (row.reason, lock, trace.project_code))),
    )


@group.command()
def seal() -> None:
    """Seal the audit rows of now; the worker does so every minute.

    On MariaDB it takes 80 seconds: every transaction that was under way when it began must have ended.

    Example: `saraban audit seal`
    """
    count = with_system(lambda system: system.sealer.seal_now())
    tell(f"ปิดผนึก {count} บล็อก", f"{count} blocks sealed.")


@group.command()
def verify(
    file: Annotated[
        Path | None, typer.Option(help="Check this export (.jsonl or .jsonl.gz) instead of the database.")
    ] = None,
    heads: Heads = None,
    key: Keys = None,
) -> None:
    """Check every sealed row: exit code 0 when nothing was changed, 1 when something was, 2 when it cannot tell.

    With `--file` no database is asked. The first row that was changed, removed or inserted is named.

    Examples:

        saraban audit verify
        saraban audit verify --file export.jsonl.gz
        saraban audit verify --file export.jsonl --heads heads-of-last-month.log
    """
    from saraban.audit.domain.verification import FindingKind

    if heads is not None and not heads.is_file():
        raise stop(f"ไม่มีไฟล์ {heads}", f"There is no file {heads}.", code=CANNOT_TELL)
    with verification_failure():
        keys = frozenset(key or ())
        report = _verify_file(file, heads, keys) if file is not None else _verify_database(heads, keys)
    for standing in report.standings:
        typer.echo(_sealed_line(standing))
    for finding in report.findings:
        sys.stderr.write(f"saraban: {_finding_line(finding)}\n")
    for unproven in sorted(report.unproven_keys):
        tell(
            f"ตรวจลายเซ็นด้วยกุญแจที่ข้อมูลนี้ระบุเอง ({unproven}) ซึ่งไม่พิสูจน์ว่าใครลงนาม ระบุ --key หรือ --heads",
            f"This data itself states the key ({unproven}), which does not prove who signed: state --key or --heads.",
        )
    if any(finding.what not in {FindingKind.NO_HEADS, FindingKind.NO_SIGNATURES} for finding in report.findings):
        raise typer.Exit(TAMPERED)
    if report.findings:
        raise typer.Exit(CANNOT_TELL)
    tell("ไม่พบการแก้ไข", "Nothing was changed.")


def _verify_database(heads: Path | None, keys: frozenset[str]) -> "VerificationReport":
    from saraban.bootstrap import HEADS

    async def work(system: "System") -> "VerificationReport":
        from saraban.audit import service as audit

        head_file = audit.HeadFile(heads or system.settings.data_dir / HEADS)
        trust = _trust(keys, system.sealer.heads.trusted_keys | head_file.trusted_keys)
        with progress_bar(*_ROWS) as advance:
            return await audit.verify(
                system.db, heads=head_file, trust=trust, progress=lambda _journal, rows: advance(advance=rows)
            )

    return with_system(work)


def _trust(stated: frozenset[str], others: frozenset[str]) -> "Trust":
    from saraban.audit.domain.verification import Trust
    from saraban.kit.clock import SystemClock

    return Trust(SystemClock(ZoneInfo("UTC")).now(), stated | others, expects_signatures=bool(stated))


def _verify_file(file: Path, heads: Path | None, keys: frozenset[str]) -> "VerificationReport":
    from saraban.audit import service as audit
    from saraban.audit.domain.verification import heads_of
    from saraban.audit.service.verification import NotAnExport

    head_file = audit.HeadFile(heads) if heads else None
    try:
        with _opened(file) as lines, progress_bar(*_ROWS) as advance:
            known = (lambda journal: heads_of(journal, head_file.lines())) if head_file else None
            trust = _trust(keys, head_file.trusted_keys if head_file else frozenset())
            return audit.verify_file(
                lines, trust=trust, heads=known, progress=lambda _journal, rows: advance(advance=rows)
            )
    except (OSError, EOFError, NotAnExport) as error:
        raise stop(f"อ่าน {file} ไม่ได้: {error}", f"{file} cannot be read: {error}", code=CANNOT_TELL) from error


@group.command()
def export(
    file: Annotated[Path, typer.Argument(help="Where to; `.gz` at the end compresses, `-` is standard output.")],
) -> None:
    """Write all sealed rows with their blocks as JSON Lines, for somebody who does not trust this machine.

    Examples:

        saraban audit export audit.jsonl.gz
        saraban audit export -      to standard output
    """
    rows = with_system(_export, file)
    sys.stderr.write(say(f"ส่งออก {rows} แถว\n", f"{rows} rows written.\n"))


async def _export(system: "System", file: Path) -> int:
    from saraban.audit import service as audit

    rows = 0
    with _written(file) as out, progress_bar(*_ROWS) as advance:
        async for piece, more in audit.export(system.db, now=system.clock.now()):
            await asyncio.to_thread(out.write, piece)
            rows += more
            advance(advance=more)
    return rows


@group.command()
def purge(
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only what would go is listed.")] = False,
) -> None:
    """Delete the rows of sealed blocks older than `SARABAN_AUDIT_RETENTION_YEARS`; their headers stay for ever.

    A block that is not what was sealed stays too, and so does whatever is younger.

    Examples:

        saraban audit purge
        saraban audit purge --yes
    """

    async def work(system: "System") -> "list[Purged]":
        from saraban.audit import service as audit
        from saraban.identity.service import system_caller

        async with system.db.reading() as session:
            caller = await system_caller(session)
        years = system.settings.audit_retention_years
        done = await audit.purge(system.sealer, caller=caller, years=years, dry_run=not yes)
        if yes and done:
            await system.sealer.seal({})
        return done

    done = with_system(work)
    for step in done:
        if step.finding is None:
            typer.echo(f"{step.journal} {step.first}-{step.last}: {step.rows} {say('แถว', 'rows')}")
    if findings := [step.finding for step in done if step.finding]:
        sys.stderr.writelines(f"saraban: {_finding_line(finding)}\n" for finding in findings)
        raise typer.Exit(TAMPERED)
    years = config.load().audit_retention_years
    if not done:
        tell(f"ไม่มีบล็อกที่เก่ากว่า {years} ปี", f"No block is older than {years} years.")
    elif not yes:
        tell("ยังไม่ได้ลบ ใส่ --yes เพื่อลบ", "Nothing was deleted; say --yes to delete.")


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    with file.open("rb") as raw:
        if raw.read(2) != b"\x1f\x8b":
            raw.seek(0)
            yield raw
            return
    with gzip.open(file, "rb") as unpacked:
        yield cast("BinaryIO", unpacked)


@contextmanager
def _written(file: Path) -> Iterator[BinaryIO]:
    """The name appears when the file is whole."""
    if str(file) == "-":
        yield sys.stdout.buffer
        return
    draft = file.with_name(f".{file.name}.part")
    try:
        if file.suffix == ".gz":
            with gzip.open(draft, "wb", compresslevel=6) as packed:
                yield cast("BinaryIO", packed)
        else:
            with draft.open("wb") as plain:
                yield plain
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


def _sealed_line(standing: "JournalStatus") -> str:
    told = say(
        f"{standing.journal}: {standing.blocks} บล็อก {standing.rows} แถว",
        f"{standing.journal}: {standing.blocks} blocks, {standing.rows} rows",
    )
    told += say(f" ลงนาม {standing.signed_blocks} บล็อก", f" ({standing.signed_blocks} blocks signed)")
    if standing.purged_blocks:
        told += say(
            f" (ลบโดยชอบตามอายุแล้ว {standing.purged_blocks} บล็อก)",
            f" ({standing.purged_blocks} blocks lawfully deleted by age)",
        )
    if standing.unsealed and standing.unsealed_from:
        since = f"{standing.unsealed_from:%Y-%m-%d %H:%M:%S}Z"
        told += say(
            f"; ยังไม่ปิดผนึก {standing.unsealed} แถว ตั้งแต่ {since}",
            f"; {standing.unsealed} rows not sealed yet, from {since} on",
        )
    return told


_WORDS = {
    "changed": ("แถวถูกแก้ไข", "a row was changed"),
    "removed": ("แถวถูกลบ", "a row was removed"),
    "inserted": ("มีแถวแทรกเข้ามา", "a row was inserted"),
    "moved": ("ลำดับแถวถูกสลับ", "a row stands in another place"),
    "rows_gone": ("แถวของบล็อกหายไปโดยไม่มีบันทึกการลบ", "the block's rows are gone, and no lawful deletion says why"),
    "block_changed": ("หัวบล็อกถูกแก้ไข", "a block was changed"),
    "block_removed": ("บล็อกถูกลบ", "a block was removed"),
    "tail_cut": ("บล็อกท้ายถูกตัดออก", "the blocks from here on were cut off"),
    "other_head": ("หัวบล็อกไม่ตรงกับไฟล์หัวบล็อก", "the block is not the one of the head file"),
    "purged_early": ("ลบแถวที่อายุไม่ถึงกำหนด", "rows were deleted that are too young"),
    "sealed_in_future": ("เวลาปิดผนึกอยู่ในอนาคต", "the block was sealed in the future"),
    "sealed_backwards": ("เวลาปิดผนึกย้อนหลัง", "the block was sealed before the block in front of it"),
    "unsigned": ("บล็อกไม่มีลายเซ็น", "the block has no signature, though an earlier one has"),
    "wrong_signature": ("ลายเซ็นของบล็อกไม่ถูกต้อง", "the signature is not that of the block"),
    "unknown_key": ("บล็อกลงนามด้วยกุญแจที่ไม่รู้จัก", "the block was signed with an unknown key"),
    "no_signatures": ("ไม่มีบล็อกใดมีลายเซ็นของกุญแจที่ระบุ", "no block has a signature of a stated key"),
    "no_heads": ("ไม่มีไฟล์หัวบล็อก", "there is no head file, so a cut tail would not show"),
    "file_cut": ("ไฟล์ไม่ครบ", "the file ends early"),
    "file_fault": ("ไฟล์มีบรรทัดที่อ่านไม่ได้", "the file has a line that cannot be read"),
}


def _finding_line(finding: "Finding") -> str:
    told = f"{finding.journal}"
    if finding.block is not None:
        told += say(f" บล็อก {finding.block}", f" block {finding.block}")
    told += f": {say(*_WORDS[finding.what])}"
    if finding.public_id:
        told += f" {finding.public_id}"
    return told + (f" ({finding.at})" if finding.at else "")
