"""`saraban number reserve | confirm | cancel`: a number kept for an account until it is wanted, in its own name."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from saraban.cli.codes import account_context, number_named, request_in_codes
from saraban.cli.options import (
    As,
    Category,
    Contract,
    Discipline,
    Originator,
    Project,
    Reason,
    Recipient,
    RfaType,
    SubType,
    Type,
)
from saraban.cli.output import say, with_system
from saraban.cli.run import as_account

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.numbering.service import Issued

_Reserved = Annotated[str, typer.Argument(metavar="NUMBER", help="The number as it is printed, or its token.")]


def register(noun: typer.Typer) -> None:
    for verb in (reserve, confirm, cancel):
        noun.command()(verb)


def reserve(
    kind: Type,
    originator: Originator,
    account: As,
    project: Project,
    recipient: Recipient = None,
    contract: Contract = None,
    discipline: Discipline = None,
    rfa_type: RfaType = None,
    sub_type: SubType = None,
    category: Category = None,
    range_: Annotated[
        UUID | None,
        typer.Option("--range", help="A reserved range to issue from, as `saraban number range list` names it."),
    ] = None,
) -> None:
    """Reserve the next number of a series; it expires after SARABAN_RESERVATION_MINUTES unless it is used.

    Confirm it, or give its token to a document as `reservationToken`. What expires is not issued again.

    Examples:

        saraban number reserve LETTER --from คคง. --to สคฉ.3 --project LCBP3-C2 --as dc.consultant
        saraban number reserve RFA --from ผรม.2 --contract LCBP3-C2 --discipline TER --rfa-type RPT --project LCBP3-C2 --as dc.contractor
    """
    codes = {
        "discipline_code": discipline,
        "rfa_type_code": rfa_type,
        "sub_type_code": sub_type,
        "category_code": category,
        "range_public_id": range_,
    }

    async def work(system: "System") -> "tuple[Issued, ZoneInfo]":
        from saraban.kit.ids import new_id
        from saraban.numbering import service as numbering

        async with system.db.reading() as session:
            ctx = await account_context(session, system.clock, account)
            request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
            plan = await numbering.plan(ctx, session, request=request)
        lasts = timedelta(minutes=system.settings.reservation_minutes)
        issued = await system.allocator.issue(ctx, plan, token=new_id(), lasts=lasts)
        return issued, ctx.zone

    issued, zone = with_system(work)
    assert issued.expires_at is not None
    typer.echo(issued.number)
    typer.echo(f"  {say('โทเคน', 'token')}: {issued.public_id}")
    typer.echo(f"  {say('จองไว้ถึง', 'until')}: {issued.expires_at.astimezone(zone):%Y-%m-%d %H:%M:%S}")


def confirm(
    number: _Reserved,
    account: As,
    project: Project,
) -> None:
    """Confirm a number that the account reserved, without a document.

    Examples:

        saraban number confirm คคง.-สคฉ.3-0042-2569 --project LCBP3-C2 --as dc.consultant
    """

    async def step(ctx: "RequestContext", session: "AsyncSession") -> str:
        from saraban.numbering import service as numbering

        token = await _token(ctx, session, project, number)
        return (await numbering.confirm_reservation(ctx, session, token=token)).number

    confirmed = as_account(account, step)
    typer.echo(say(f"ยืนยัน {confirmed} แล้ว", f"{confirmed} is confirmed."))


def cancel(
    number: _Reserved,
    account: As,
    project: Project,
    reason: Reason = "No longer needed.",
) -> None:
    """Release a number that the account reserved; it stays in the register and is not issued again.

    Examples:

        saraban number cancel คคง.-สคฉ.3-0042-2569 --project LCBP3-C2 --as dc.consultant --reason "The letter was never written"
    """

    async def step(ctx: "RequestContext", session: "AsyncSession") -> str:
        from saraban.numbering import service as numbering

        token = await _token(ctx, session, project, number)
        issued = await numbering.cancel_reservation(ctx, session, token=token, reason=reason)
        return issued.number

    cancelled = as_account(account, step)
    typer.echo(say(f"ยกเลิกการจอง {cancelled} แล้ว", f"{cancelled} is given up."))


async def _token(ctx: "RequestContext", session: "AsyncSession", project: str, number: str) -> UUID:
    try:
        return UUID(number)
    except ValueError:
        return await number_named(ctx, session, project, number)
