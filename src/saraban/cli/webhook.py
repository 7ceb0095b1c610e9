"""`saraban webhook list | create | own | on | off | rotate | remove | test | outcomes`: who outside is told of events."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from saraban.cli.options import As, Project, checked
from saraban.cli.output import print_list, say, stop, tell
from saraban.cli.run import as_account, project_named, reading_as

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.webhooks.service import Webhook, WebhookOutcome

Hook = Annotated[UUID, typer.Argument(metavar="WEBHOOK", help="Public id, as `saraban webhook list` shows it.")]


group = typer.Typer(no_args_is_help=True, help="Webhooks: external endpoints notified of a project's events.")


@group.command("list")
def list_(
    account: As,
    project: Annotated[str | None, typer.Option(help="Code of the project; needed without --own.")] = None,
    mine: Annotated[bool, typer.Option("--own", help="The account's own, in place of a project's.")] = False,
) -> None:
    """List the webhooks of a project, newest first; or the account's own.

    Examples:

        saraban webhook list --project LCBP3-C2 --as padmin
        saraban webhook list --own --as dc.contractor
    """
    from saraban.webhooks import service as webhooks

    if project is None and not mine:
        raise stop("ระบุ --project หรือ --own", "Say --project, or --own for the account's own.", code=2)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "Sequence[Webhook]":
        if project is None:
            return (await webhooks.listing_own(ctx, session, cursor=None, limit=100)).items
        place = await project_named(session, project)
        return (await webhooks.listing(ctx, session, project_public_id=place, cursor=None, limit=100)).items

    print_list(map(_line, reading_as(account, step)), "ไม่มี webhook", "There are no webhooks.")


def _line(row: "Webhook") -> str:
    state = "on " if row.is_active else "off"
    parts = (str(row.public_id), state, row.url, ",".join(row.event_names), row.description, _fares(row))
    return "  ".join(filter(None, parts))


@group.command()
def create(
    url: Annotated[str, typer.Argument(help="Address that begins with https://.")],
    account: As,
    project: Project,
    event: Annotated[list[str] | None, typer.Option(help="Event to tell of; several times; all when left out.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="Topic of `workflow.webhook`; several times.")] = None,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Notify an endpoint of the project's events; prints the secret that messages are signed with.

    Examples:

        saraban webhook create https://hooks.example.com/saraban --project LCBP3-C2 --as padmin
        saraban webhook create https://hooks.example.com/rfa --event workflow.transitioned --project LCBP3-C2 --as padmin
        saraban webhook create https://hooks.example.com/erp --event workflow.webhook --topic drawings.approved --project LCBP3-C2 --as padmin
    """

    from saraban.webhooks import service as webhooks
    from saraban.webhooks.schemas import WebhookIn

    asked = checked(
        WebhookIn, url=url, description=description, events=event or list(webhooks.EVENTS), topics=topic or []
    )

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "Webhook":
        return await webhooks.create(ctx, session, await project_named(session, project), asked)

    row = as_account(account, step)
    typer.echo(f"{row.public_id}\n{webhooks.secret_of(row.secret)}")


@group.command()
def own(
    url: Annotated[str, typer.Argument(help="Address that begins with https://.")],
    account: As,
    description: Annotated[str, typer.Option(help="What it is for.")] = "",
) -> None:
    """Send the notifications that the account gets by webhook to an endpoint; prints the secret that messages are signed with.

    Example: `saraban webhook own https://hooks.example.com/mine --as dc.contractor`
    """

    from saraban.webhooks import service as webhooks
    from saraban.webhooks.schemas import OwnWebhookIn

    asked = checked(OwnWebhookIn, url=url, description=description)
    row = as_account(account, webhooks.create_own, asked)
    typer.echo(f"{row.public_id}\n{webhooks.secret_of(row.secret)}")


@group.command()
def on(webhook: Hook, account: As) -> None:
    """Enable a webhook, also one that Saraban has disabled because delivery failed.

    Example: `saraban webhook on 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    _switch(webhook, account, is_active=True)
    tell("เปิดใช้ webhook แล้ว", "Webhook enabled.")


@group.command()
def off(webhook: Hook, account: As) -> None:
    """Disable a webhook; events in the meantime are not sent later.

    Example: `saraban webhook off 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    _switch(webhook, account, is_active=False)
    tell("หยุดส่ง webhook แล้ว", "Webhook disabled.")


def _switch(webhook: UUID, account: str, *, is_active: bool) -> None:
    from saraban.webhooks import service as webhooks
    from saraban.webhooks.schemas import WebhookChangeIn

    change = WebhookChangeIn(is_active=is_active)
    as_account(account, webhooks.change, public_id=webhook, change=change, if_match=None)


def _fares(row: "Webhook") -> str:
    """Why it is off, or since when nothing gets through."""
    from saraban.webhooks.domain import OffReason

    if row.off_because == OffReason.GONE:
        return say("(ปลายทางตอบว่าเลิกใช้แล้ว)", "(disabled: the endpoint reports it is gone)")
    if row.off_because == OffReason.ADDRESS:
        return say("(หยุดส่งเพราะที่อยู่นี้ส่งไปไม่ได้)", "(disabled: webhooks may not be sent to this URL)")
    if row.failing_since is None:
        return ""
    since = f"{row.failing_since:%Y-%m-%d %H:%M}Z"
    if row.off_because == OffReason.FAILING:
        return say(f"(หยุดส่งเพราะส่งไม่ผ่านตั้งแต่ {since})", f"(switched off: failing since {since})")
    return say(f"(ส่งไม่ผ่านตั้งแต่ {since})", f"(failing since {since})")


@group.command()
def rotate(webhook: Hook, account: As) -> None:
    """Replace the secret of a webhook; for 24 hours messages are signed with both.

    Example: `saraban webhook rotate 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    from saraban.webhooks import service as webhooks

    row = as_account(account, webhooks.rotate, public_id=webhook)
    typer.echo(webhooks.secret_of(row.secret))


@group.command()
def remove(webhook: Hook, account: As) -> None:
    """Delete a webhook; what has not been sent yet is not sent.

    Example: `saraban webhook remove 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    from saraban.webhooks import service as webhooks

    as_account(account, webhooks.remove, public_id=webhook)
    tell("ลบ webhook แล้ว", "Webhook deleted.")


@group.command()
def test(webhook: Hook, account: As) -> None:
    """Send a test message to a webhook.

    Example: `saraban webhook test 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    from saraban.webhooks import service as webhooks

    typer.echo(as_account(account, webhooks.test, public_id=webhook))


@group.command()
def outcomes(webhook: Hook, account: As) -> None:
    """Show the last deliveries to a webhook, newest first.

    Example: `saraban webhook outcomes 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin`
    """
    from saraban.webhooks import service as webhooks

    page = reading_as(account, webhooks.outcomes, public_id=webhook, cursor=None, limit=50)
    print_list(map(_outcome_line, page.items), "ยังไม่มีการส่ง", "Nothing has been sent yet.")


def _outcome_line(row: "WebhookOutcome") -> str:
    answer = str(row.status) if row.status is not None else row.error or "-"
    return f"{row.created_at:%Y-%m-%d %H:%M:%S}Z  {answer:<16} {row.milliseconds:>6} ms  {row.name}"
