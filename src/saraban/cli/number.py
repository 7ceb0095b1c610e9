"""
`saraban number preview | reserve | confirm | cancel | void | reset | skip | override`: single numbers and counters.

The last four are an administrator's. The register, its imports and its ranges are in modules of their own.
"""

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer

from saraban.cli import number_import, number_ranges, number_register
from saraban.cli.master import As as OptionalAs
from saraban.cli.options import (
    As,
    Category,
    Contract,
    Discipline,
    LongReason,
    Originator,
    Project,
    Reason,
    Recipient,
    Register,
    RfaType,
    SubType,
    Type,
    read_day,
    request_codes,
)
from saraban.cli.output import print_list, say, stop, tell, with_system
from saraban.cli.run import (
    account_context,
    as_account,
    in_project,
    number_named,
    project_named,
    reading,
    reading_as,
    request_in_codes,
)
from saraban.numbering.series.domain.counter import LARGEST_STATED

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.context import RequestContext
    from saraban.numbering.service import Issued, ManualNumberEffect, Plan

_Reserved = Annotated[str, typer.Argument(metavar="NUMBER", help="The number as it is printed, or its token.")]

group = typer.Typer(
    no_args_is_help=True, help="Document numbers: preview, reserve, account, verify, override, void, reset."
)
group.add_typer(number_register.group)
group.add_typer(number_import.group)
group.add_typer(number_ranges.group, name="range")


@group.command()
def preview(
    kind: Type,
    originator: Originator,
    project: Project,
    recipient: Recipient = None,
    contract: Contract = None,
    discipline: Discipline = None,
    rfa_type: RfaType = None,
    sub_type: SubType = None,
    category: Category = None,
    register: Register = None,
) -> None:
    """Show the next number of a series. This is a preview: nothing is issued.

    Examples:

        saraban number preview LETTER --from คคง. --to สคฉ.3 --project LCBP3-C2
        saraban number preview RFA --from ผรม.2 --to คคง. --contract LCBP3-C2 --project LCBP3-C2 \\
            --discipline TER --rfa-type RPT
    """
    from saraban.numbering import service as numbering

    codes = request_codes(discipline, rfa_type, sub_type, category, register)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> tuple[str, str, str]:
        request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
        plan = await numbering.plan(ctx, session, request)
        following = await numbering.preview(session, plan=plan)
        return following.number, plan.series, plan.template.text

    number, series, template = reading(step)
    typer.echo(number)
    typer.echo(f"  {say('ชุดเลข', 'series')}: {series}\n  {say('รูปแบบ', 'format')}: {template}")


@group.command()
def void(
    number: Annotated[str, typer.Argument(help="The number as it is printed.")],
    account: As,
    reason: Reason,
    project: Project,
    register: Register = None,
) -> None:
    """Void a confirmed number that no document uses; it is never issued again.

    Examples:

        saraban number void คคง.-สคฉ.3-0042-2569 --project LCBP3-C2 --as padmin --reason "Drawn for the wrong recipient"
    """

    voided = as_account(account, _void, (project, number, register), reason).number
    tell(f"{voided} เป็นโมฆะแล้ว", f"{voided} is void.")


async def _void(
    ctx: "RequestContext", session: "AsyncSession", named: tuple[str, str, str | None], reason: str
) -> "Issued":
    from saraban.numbering import service as numbering

    public_id = await number_named(ctx, session, *named)
    return await numbering.void_number(ctx, session, public_id=public_id, reason=reason)


@group.command()
def reset(
    series: Annotated[str, typer.Argument(help="The series, such as คคง.-สคฉ.3-{SEQ}-2569.")],
    account: As,
    reason: LongReason,
    project: Project,
    to: Annotated[int, typer.Option(min=0, help="The next number is looked for after this one.")] = 0,
) -> None:
    """Reset a counter to a lower value (Super Admins): unused sequences are issued, issued numbers are skipped.

    Examples:

        saraban number reset "คคง.-สคฉ.3-{SEQ}-2569" --project LCBP3-C2 --as admin --reason "Test numbers before the project began"
    """
    from saraban.numbering import service as numbering

    asked = {"series": series, "to": to, "reason": reason}
    before, after = as_account(account, in_project, project, numbering.reset_counter, **asked)
    typer.echo(f"{series}: {before} -> {after}")


@group.command()
def skip(
    project: Project,
    reason: Reason,
    series: Annotated[str | None, typer.Argument(help="As `saraban number series` lists it.")] = None,
    to: Annotated[int, typer.Option(max=LARGEST_STATED, help="Last sequence that is on paper.")] = 0,
    by: Annotated[int, typer.Option(max=1_000_000, help="Instead: how many numbers each counter skips.")] = 0,
    account: OptionalAs = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every series of the project, with --by.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Skip without being asked.")] = False,
) -> None:
    """Skip numbers that were issued after the backup that was restored; servers may run meanwhile.

    Examples:

        saraban number skip "คคง.-สคฉ.3-{SEQ}-2569" --to 52 --project LCBP3-C2 --reason "Restored the backup of 28 November"
        saraban number skip --all --by 50 --project LCBP3-C2 --reason "Restored the backup of 28 November"
    """
    from saraban.numbering import service as numbering

    if (series is None) != every or (to > 0) == (by > 0) or (every and by < 1):
        raise typer.BadParameter(say("ระบุ SERIES หรือ --all --by", "Give SERIES with --to or --by, or --all --by."))

    async def work(ctx: "RequestContext", session: "AsyncSession", why: str = "") -> list[tuple[str, int, int]]:
        named = await project_named(session, project)
        return await numbering.skip_numbers(ctx, session, project=named, series=series, to=to, by=by, reason=why)

    skips = reading_as(account, work)
    print_list((f"{name}: {before} -> {after}" for name, before, after in skips), "ไม่มีชุดเลข", "No series found.")
    if skips and not yes and not typer.confirm(say("ข้ามเลขตามนี้หรือไม่", "Skip these numbers?"), err=True):
        raise stop("ยังไม่ได้ทำอะไร", "Nothing was done.")
    done = as_account(account, partial(work, why=reason))
    tell(f"ข้ามเลขแล้ว {len(done)} ตัวนับ", f"Counters moved: {len(done)}")


@group.command()
def override(
    kind: Type,
    originator: Originator,
    account: As,
    reason: Reason,
    project: Project,
    sequence: Annotated[
        int | None, typer.Option(min=1, max=LARGEST_STATED, help="The sequence that is stated.")
    ] = None,
    number: Annotated[str | None, typer.Option(help="Instead: the number as it is printed.")] = None,
    recipient: Recipient = None,
    contract: Contract = None,
    discipline: Discipline = None,
    rfa_type: RfaType = None,
    sub_type: SubType = None,
    category: Category = None,
    register: Register = None,
    issued_on: Annotated[
        date | None,
        typer.Option(
            metavar="DAY", parser=read_day, help="Day of issue of a number that prints an earlier year or month."
        ),
    ] = None,
    year: Annotated[
        int | None, typer.Option(help="Year it prints, B.E. or A.D., where the day of issue is not known.")
    ] = None,
    *,
    move_counter: Annotated[
        bool, typer.Option("--move-counter", help="Have the series go on after it; the jump is shown first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take the jump without being asked.")] = False,
) -> None:
    """Register a number issued outside the system, by its sequence or as printed. The series is not moved without --move-counter.

    Examples:

        saraban number override LETTER --from คคง. --to สคฉ.3 --sequence 42 --project LCBP3-C2 --as padmin --reason "From the paper register"
        saraban number override LETTER --from คคง. --to สคฉ.3 --number คคง.-สคฉ.3-0042-2569 --move-counter --project LCBP3-C2 \\
            --as padmin --reason "From the paper register"
        saraban number override LETTER --from คคง. --to สคฉ.3 --sequence 7 --issued-on 2026-08-14 --project LCBP3-C2 \\
            --as padmin --reason "From the paper register"
        saraban number override LETTER --from คคง. --to สคฉ.3 --sequence 7 --year 2568 --project LCBP3-C2 \\
            --as padmin --reason "From the paper register"
    """
    from saraban.kit.ids import new_id
    from saraban.numbering import service as numbering

    codes = request_codes(discipline, rfa_type, sub_type, category, register)
    codes |= {"year": year, "year_reason": reason if year is not None else None}

    statement = numbering.ManualNumber(number, sequence)

    async def planned(ctx: "RequestContext", session: "AsyncSession") -> "Plan":
        request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
        return await numbering.plan_on(ctx, session, request=request, issued_on=issued_on)

    async def look(ctx: "RequestContext", session: "AsyncSession") -> "ManualNumberEffect":
        plan = await planned(ctx, session)
        return await numbering.manual_number_effect(ctx, session, plan=plan, statement=statement)

    jump = _confirmed(reading_as(account, look), yes=yes) if move_counter else None

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "Issued":
        return await numbering.issue_manually(
            ctx,
            session,
            plan=await planned(ctx, session),
            statement=statement,
            reason=reason,
            moves_counter=move_counter,
            confirmed_jump=jump,
            token=new_id(),
        )

    typer.echo(as_account(account, step).number)


def _confirmed(effect: "ManualNumberEffect", *, yes: bool) -> int:
    """Show how far the counter would jump, and return the jump when somebody has said yes to it."""
    after = effect.counter + effect.jump
    tell(
        f"{effect.series}: ตัวนับจะไปจาก {effect.counter} เป็น {after} ({effect.jump} ลำดับ)",
        f"{effect.series}: the counter goes from {effect.counter} to {after}, by {effect.jump}.",
        err=True,
    )
    if (
        effect.jump
        and not yes
        and not typer.confirm(say("ให้ตัวนับข้ามตามนี้หรือไม่", "Move the counter like this?"), err=True)
    ):
        raise stop("ยังไม่ได้ทำอะไร", "Nothing was done.")
    return effect.jump


@group.command()
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
    register: Register = None,
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
    codes = request_codes(discipline, rfa_type, sub_type, category, register)
    codes["range_public_id"] = range_

    async def work(system: "System") -> "tuple[Issued, ZoneInfo]":
        from saraban.numbering import service as numbering

        async with system.db.reading() as session:
            ctx = await account_context(session, system.clock, account)
            request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
            plan = await numbering.plan(ctx, session, request)
        lasts = timedelta(minutes=system.settings.reservation_minutes)
        issued = await system.allocator.issue(numbering.IssueRequest(ctx, plan, lasts=lasts))
        return issued, ctx.zone

    issued, zone = with_system(work)
    assert issued.expires_at is not None
    typer.echo(issued.number)
    typer.echo(f"  {say('โทเคน', 'token')}: {issued.public_id}")
    typer.echo(f"  {say('จองไว้ถึง', 'until')}: {issued.expires_at.astimezone(zone):%Y-%m-%d %H:%M:%S}")


@group.command()
def confirm(number: _Reserved, account: As, project: Project, register: Register = None) -> None:
    """Confirm a number that the account reserved, without a document.

    Examples:

        saraban number confirm คคง.-สคฉ.3-0042-2569 --project LCBP3-C2 --as dc.consultant
    """
    from saraban.numbering import service as numbering

    confirmed = _changed(
        account,
        (project, number, register),
        lambda ctx, session, token: numbering.confirm_reservation(ctx, session, token=token),
    )
    tell(f"ยืนยัน {confirmed} แล้ว", f"{confirmed} is confirmed.")


@group.command()
def cancel(
    number: _Reserved,
    account: As,
    project: Project,
    reason: Reason = "No longer needed.",
    register: Register = None,
) -> None:
    """Release a number that the account reserved; it stays in the register and is not issued again.

    Examples:

        saraban number cancel คคง.-สคฉ.3-0042-2569 --project LCBP3-C2 --as dc.consultant --reason "The letter was never written"
    """
    from saraban.numbering import service as numbering

    cancelled = _changed(
        account,
        (project, number, register),
        lambda ctx, session, token: numbering.cancel_reservation(ctx, session, token=token, reason=reason),
    )
    tell(f"ยกเลิกการจอง {cancelled} แล้ว", f"{cancelled} is given up.")


def _changed(
    account: str,
    reserved: tuple[str, str, str | None],
    verb: "Callable[[RequestContext, AsyncSession, UUID], Awaitable[Issued]]",
) -> str:
    """
    Do something with a reservation and return the number as it is printed.

    :param reserved: its project, its number or its token, and its register
    """
    project, number, register = reserved

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "Issued":
        try:
            named = UUID(number)
        except ValueError:
            named = await number_named(ctx, session, project, number, register)
        return await verb(ctx, session, named)

    return as_account(account, step).number
