"""`saraban events list | show | requeue | drop`: what waits to be delivered, and what was given up."""

import re
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from saraban.cli.options import As, Reason
from saraban.cli.output import print_list, say, tell
from saraban.cli.run import PAGE, as_account, read_pages, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.events.service import EventView
    from saraban.identity.domain.context import RequestContext

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Event = Annotated[UUID, typer.Argument(metavar="EVENT", help="Public id, as `saraban events list` shows it.")]


group = typer.Typer(no_args_is_help=True, help="Events: what waits, what was delivered, what was given up.")


def age(text: str) -> timedelta:
    """Read `90s`, `30m`, `2h` or `1d`."""
    found = re.fullmatch(r"(\d{1,6})([smhd])", text.strip())
    if found is None:
        raise typer.BadParameter(say("ต้องเป็นอายุ เช่น 90s 30m 2h 1d", "an age is needed, such as 90s, 30m, 2h or 1d"))
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@group.command("list")
def list_(
    state: Annotated[
        Literal["waiting", "delivered", "dead"] | None, typer.Option(help="Only those in this state.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Only this event, such as `workflow.transitioned`.")] = None,
    older_than: Annotated[
        str | None, typer.Option(help="Only those recorded longer ago: 90s, 30m, 2h, 1d.", metavar="AGE")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Newest ones to show.")] = 50,
) -> None:
    """List events, those recorded last first.

    Examples:

        saraban events list --state dead
        saraban events list --state waiting --older-than 5m
        saraban events list --name workflow.transitioned --limit 200
    """
    from saraban.events import service as events

    least = age(older_than) if older_than is not None else None
    page = reading(
        lambda ctx, session: events.list_events(
            session,
            events.EventSearch(
                events.EventState(state) if state else None, name, ctx.now - least if least is not None else None
            ),
            limit=limit,
        )
    )
    print_list(map(_line, page.items), "ไม่มีเหตุการณ์", "There are no events.")


@group.command()
def show(event: Event) -> None:
    """Show one event: what it says, how often it was tried, why it failed.

    Example: `saraban events show 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c`
    """
    import json

    from saraban.events import service as events

    view = reading(lambda _ctx, session: events.read_event(session, public_id=event))
    typer.echo(_line(view))
    for th, en, moment in (
        ("ส่งครั้งต่อไป", "next try", view.next_try_at),
        ("ส่งสำเร็จ", "delivered", view.delivered_at),
        ("เลิกส่ง", "failed", view.failed_at),
    ):
        if moment is not None:
            typer.echo(f"{say(th, en)}: {moment:%Y-%m-%d %H:%M:%S}Z")
    if view.kept_in is not None:
        typer.echo(f"{say('คิว', 'queue')}: {view.queue} ({say('เก็บไว้ใน', 'kept in')} {view.kept_in})")
    typer.echo(json.dumps(dict(view.payload), ensure_ascii=False, indent=2))


@group.command()
def requeue(
    account: As,
    reason: Reason,
    event: Annotated[UUID | None, typer.Argument(help="Public id, as `saraban events list` shows it.")] = None,
    name: Annotated[str | None, typer.Option(help="With --all: only this event, such as `mail.given_up`.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Instead: all whose delivery failed for good.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them, and requeue nothing.")] = False,
) -> None:
    """Retry an event whose delivery failed for good, or all; each comes behind the newer ones of its document.

    Examples:

        saraban events requeue --all --name mail.given_up --as admin --reason "The mail server is back"

        saraban events requeue 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as admin --reason "The mail server is back"
    """
    from saraban.events import service as events
    from saraban.ops import event_administration

    if (event is None) != every or (event is not None and name is not None):
        raise typer.BadParameter(say("ระบุ EVENT หรือ --all", "Give EVENT, or --all."))
    dead = events.EventSearch(events.EventState.DEAD, name)

    async def step(public_ids: list[UUID], ctx: "RequestContext", session: "AsyncSession") -> None:
        for public_id in public_ids:
            await event_administration.requeue(ctx, session, public_id, reason)

    views = (
        []
        if event is not None
        else reading(
            lambda _, session: read_pages(lambda cursor: events.list_events(session, dead, cursor=cursor, limit=PAGE))
        )
    )
    chosen = [event] if event is not None else [view.public_id for view in reversed(views)]
    for first in range(0, 0 if dry_run else len(chosen), PAGE):
        as_account(account, partial(step, chosen[first : first + PAGE]))
    th, en = ("ที่จะนำกลับเข้าคิว", "to requeue") if dry_run else ("ที่นำกลับเข้าคิวแล้ว", "in the queue again")
    tell(f"เหตุการณ์{th}: {len(chosen)}", f"Events {en}: {len(chosen)}")


@group.command()
def drop(event: Event, account: As, reason: Reason) -> None:
    """Drop an event whose delivery failed for good; the audit trail keeps its content.

    Examples:

        saraban events drop 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as admin --reason "Told by telephone"
    """

    from saraban.ops import event_administration

    as_account(account, event_administration.drop, event, reason)
    tell("ยกเลิกการส่งเหตุการณ์แล้ว", "The event is dropped.")


def _line(view: "EventView") -> str:
    tries = say(f"ลอง {view.attempts} ครั้ง", f"tries: {view.attempts}")
    about = f"{view.aggregate_type}/{view.aggregate}"
    parts = [str(view.public_id), f"{view.state:<9}", f"{view.recorded_at:%Y-%m-%d %H:%M:%S}Z", view.name, about, tries]
    return "  ".join([*parts, view.error] if view.error else parts)
