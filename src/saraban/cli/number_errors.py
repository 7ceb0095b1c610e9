"""`saraban number errors`: what numbering refused, and where it failed."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import say, with_system
from saraban.cli.run import PAGE, read_pages

if TYPE_CHECKING:
    from saraban.bootstrap import System
    from saraban.numbering.service import NumberErrorRow


class NumberErrorKind(StrEnum):
    """As the table has them."""

    LOCK_TIMEOUT = "LOCK_TIMEOUT"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    DB_ERROR = "DB_ERROR"
    REDIS_ERROR = "REDIS_ERROR"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    SEQUENCE_EXHAUSTED = "SEQUENCE_EXHAUSTED"


def register(noun: typer.Typer) -> None:
    noun.command()(errors)


def errors(
    kind: Annotated[
        NumberErrorKind | None, typer.Option("--type", help="Only this type.", case_sensitive=False)
    ] = None,
    username: Annotated[str | None, typer.Option("--user", help="Only calls of this account.")] = None,
    trace: Annotated[str | None, typer.Option(help="Only the call that answered with this trace id.")] = None,
    since: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Only from this day on, A.D.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Newest rows to show.")] = 20,
) -> None:
    """Show the newest calls about numbers that were refused or that failed.

    Rows are kept for SARABAN_NUMBER_ERROR_DAYS.

    Examples:

        saraban number errors
        saraban number errors --type LOCK_TIMEOUT --since 2026-11-01
        saraban number errors --trace 0af7651916cd43dd8448eb211c80319c
    """
    rows = with_system(lambda system: _errors(system, kind, username, trace, since, limit))
    for row in rows:
        typer.echo(_line(row))
    if not rows:
        typer.echo(say("ไม่มีรายการ", "There are none."))


async def _errors(
    system: "System",
    kind: NumberErrorKind | None,
    username: str | None,
    trace: str | None,
    since: datetime | None,
    limit: int,
) -> "list[NumberErrorRow]":
    from saraban.identity.service import system_context
    from saraban.numbering import service as numbering

    begin = since.replace(tzinfo=system.clock.zone) if since else None
    async with system.db.reading() as session:
        ctx = await system_context(session, system.clock)
        return await read_pages(
            lambda cursor: numbering.list_errors(
                ctx,
                session,
                kind=kind.value if kind else None,
                username=username,
                trace=trace,
                since=begin,
                cursor=cursor,
                limit=min(PAGE, limit),
            ),
            most=limit,
        )


def _line(row: "NumberErrorRow") -> str:
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
