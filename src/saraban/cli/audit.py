"""`saraban audit …`: who did what, and the proof that nobody changed it since; `audit_proof` has the verbs of the proof."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from saraban.cli import audit_proof
from saraban.cli.output import say, with_system

if TYPE_CHECKING:
    from saraban.audit.service import AuditRecord
    from saraban.bootstrap import System
    from saraban.numbering.service import FormatChoice, NumberOperation


def register(app: typer.Typer) -> None:
    noun = typer.Typer(no_args_is_help=True, help="Read, seal and prove the audit trail. No command changes a row.")
    noun.callback()(lambda: None)
    noun.command()(show)
    audit_proof.register(noun)
    app.add_typer(noun, name="audit")


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

    entries, names = with_system(lambda system: _entries(system, entity, kind, action, limit))
    table = Table(title=say("บันทึกการตรวจสอบ", "Audit trail"))
    table.add_column(say("เวลา", "When"), no_wrap=True)
    table.add_column(say("การดำเนินการ ผู้ดำเนินการ ที่มา", "Action, user, source"), overflow="fold")
    table.add_column(say("เรื่อง", "Subject"), no_wrap=True)
    for entry in entries:
        actor = names.get(entry.actor_public_id, "-") if entry.actor_public_id else "-"
        about = entry.entity_id or ""
        if entry.action == "project.apply":  # it says who sat at the keyboard, and which project
            actor = f"{actor} ({entry.details['operator']})" if entry.details.get("operator") else actor
            about = entry.details.get("project") or about
        table.add_row(
            f"{entry.created_at:%Y-%m-%d %H:%M:%S}Z",
            f"{entry.action}\n{actor}, {entry.address or '-'}",
            f"{entry.entity_type or ''}\n{about}".strip(),
        )
    Console().print(table)


def _show_number(number: str) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=say(f"ประวัติเลขที่ {number}", f"What was done with {number}"))
    for heading in (
        ("เวลา", "When"),
        ("การดำเนินการ", "Action"),
        ("ผู้ดำเนินการ", "User"),
        ("เลขที่", "Number"),
        ("หมายเหตุ", "Notes"),
    ):
        table.add_column(say(*heading), overflow="fold")
    traces, choices = with_system(lambda system: _traces(system, number))
    for trace in traces:
        row = trace.audit
        notes = [
            row.reason or "",
            say("ล็อก", "lock") + f": {row.lock_path}" if row.lock_path else "",
            trace.project_code,
        ]
        table.add_row(
            f"{row.created_at:%Y-%m-%d %H:%M:%S}Z",
            row.operation,
            f"{trace.username}\n{row.ip_address or '-'}",
            row.new_value or row.generated_number or "",
            "\n".join(note for note in notes if note),
        )
    Console().print(table)
    for choice in choices:
        typer.echo(f"{say('รูปแบบ', 'format')}: {choice.template} ({say(choice.words.th, choice.words.en)})")


async def _traces(system: "System", number: str) -> "tuple[list[NumberOperation], list[FormatChoice]]":
    """Several projects may have the number, each with a format of its own."""
    from saraban.numbering import service as numbering

    async with system.db.reading() as session:
        traces = await numbering.audit_trail(session, number=number)
        numbers = dict.fromkeys(one.audit.reservation_uuid for one in traces if one.audit.reservation_uuid)
        choices = [await numbering.format_choice(session, one) for one in numbers]
        return traces, [one for one in choices if one is not None]


async def _entries(
    system: "System", entity: str | None, kind: str | None, action: str | None, limit: int
) -> "tuple[list[AuditRecord], dict[UUID, str]]":
    from saraban.audit import service as audit
    from saraban.identity import service as identity

    async with system.db.reading() as session:
        page = await audit.list_records(session, entity_type=kind, entity_id=entity, action=action, limit=limit)
        names = {account.public_id: account.username for account in await identity.list_users(session)}
    return page.items, names
