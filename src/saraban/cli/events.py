"""`saraban events list | show | requeue | drop`: what waits to be delivered, and what was given up."""

import re
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal
from uuid import UUID

import typer

from saraban.cli.options import As, Reason
from saraban.cli.output import print_list, say, tell, with_system
from saraban.cli.run import account_context, as_account, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.events.service import EventView

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}

Event = Annotated[UUID, typer.Argument(metavar="EVENT", help="Public id, as `saraban events list` shows it.")]
OptionalEvent = Annotated[
    UUID | None, typer.Argument(metavar="EVENT", help="Public id, as `saraban events list` shows it.")
]


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
    event: OptionalEvent = None,
    name: Annotated[
        str | None, typer.Option(help="With --all: only this event, such as `mail.given_up` for e-mail.")
    ] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Instead of EVENT: all whose delivery failed for good.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --all: count them, and requeue nothing.")] = False,
) -> None:
    """Retry an event whose delivery failed for good, or all of them; each comes behind the newer ones of its document.

    Examples:

        saraban events requeue --all --name mail.given_up --as admin --reason "The mail server is back" --dry-run
        saraban events requeue --all --name mail.given_up --as admin --reason "The mail server is back"

        saraban events requeue 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as admin --reason "The mail server is back"
    """

    from saraban.ops import event_administration

    if (event is None) != every or (event is not None and (name or dry_run)):
        raise typer.BadParameter(say("ระบุ EVENT หรือ --all", "Give EVENT, or --all."))
    if event is not None:
        public_id = event
        as_account(account, lambda ctx, session: event_administration.requeue(ctx, session, public_id, reason))
        tell("นำกลับเข้าคิวแล้ว", "The event is in the queue again.")
        return
    count = _count_dead(account, name) if dry_run else with_system(partial(_requeue_all, account, name, reason))
    tell(f"เหตุการณ์ที่นำกลับเข้าคิว: {count}", f"Events {'to requeue' if dry_run else 'in the queue again'}: {count}")


def _count_dead(account: str, name: str | None) -> int:
    from saraban.events import service as events

    return reading(lambda _ctx, session: events.count_dead_letters(session, name=name), account)


async def _requeue_all(account: str, name: str | None, reason: str, system: "System") -> int:
    """In several transactions: what was requeued stays so when it is interrupted."""
    from saraban.ops import event_administration

    before, total = system.clock.now(), 0

    async def step(session: "AsyncSession") -> int:
        ctx = await account_context(session, system.clock, account)
        return await event_administration.requeue_all(ctx, session, name=name, before=before, reason=reason)

    while count := await system.db.transact(step):
        total += count
    return total


@group.command()
def drop(event: Event, account: As, reason: Reason) -> None:
    """Drop an event whose delivery failed for good; the audit trail keeps its content.

    Examples:

        saraban events drop 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as admin --reason "Told by telephone"
    """

    from saraban.ops import event_administration

    as_account(account, lambda ctx, session: event_administration.drop(ctx, session, event, reason))
    tell("ยกเลิกการส่งเหตุการณ์แล้ว", "The event is dropped.")


def _line(view: "EventView") -> str:
    tries = say(f"ลอง {view.attempts} ครั้ง", f"tries: {view.attempts}")
    about = f"{view.aggregate_type}/{view.aggregate}"
    parts = [str(view.public_id), f"{view.state:<9}", f"{view.recorded_at:%Y-%m-%d %H:%M:%S}Z", view.name, about, tries]
    return "  ".join([*parts, view.error] if view.error else parts)
