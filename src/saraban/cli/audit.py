"""`saraban audit show`: who did what, when, from where."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from saraban.cli.outcome import say, with_system

if TYPE_CHECKING:
    from saraban.audit.service import AuditEntry
    from saraban.bootstrap import System


def register(app: typer.Typer) -> None:
    noun = typer.Typer(no_args_is_help=True, help="Read the audit trail. It is append-only: no command changes it.")
    noun.callback()(lambda: None)
    noun.command()(show)
    app.add_typer(noun, name="audit")


def show(
    entity: Annotated[str | None, typer.Option(help="Public id of the document, account, … it is about.")] = None,
    kind: Annotated[str | None, typer.Option(help="Kind of the entity, such as `rfa` or `user`.")] = None,
    action: Annotated[str | None, typer.Option(help="Only this action, such as `rfa.create`.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Newest rows to show.")] = 20,
) -> None:
    """Show the newest rows of the audit trail.

    Examples:

        saraban audit show
        saraban audit show --entity 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c
        saraban audit show --action auth.login_failed --limit 200
    """
    from rich.console import Console
    from rich.table import Table

    entries, names = with_system(lambda system: _entries(system, entity, kind, action, limit))
    table = Table(title=say("บันทึกการตรวจสอบ", "Audit trail"))
    table.add_column(say("เวลา", "When"), no_wrap=True)
    table.add_column(say("การกระทำ โดยใคร จากที่ใด", "What, by whom, from where"), overflow="fold")
    table.add_column(say("เรื่อง", "About"), no_wrap=True)
    for entry in entries:
        actor = names.get(entry.actor_public_id, "-") if entry.actor_public_id else "-"
        table.add_row(
            f"{entry.created_at:%Y-%m-%d %H:%M:%S}Z",
            f"{entry.action}\n{actor}, {entry.address or '-'}",
            f"{entry.entity_type or ''}\n{entry.entity_id or ''}".strip(),
        )
    Console().print(table)


async def _entries(
    system: "System", entity: str | None, kind: str | None, action: str | None, limit: int
) -> "tuple[list[AuditEntry], dict[UUID, str]]":
    from saraban.audit import service as audit
    from saraban.identity import service as identity

    async with system.db.reading() as session:
        page = await audit.listing(session, entity_type=kind, entity_id=entity, action=action, limit=limit)
        names = {account.public_id: account.username for account in await identity.list_users(session)}
    return page.items, names
