"""`saraban number range list | create | release`: stretches of a series that are kept for somebody, or barred."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from saraban.cli.options import (
    As,
    Category,
    Contract,
    Discipline,
    Originator,
    Project,
    Reason,
    Recipient,
    Register,
    RfaType,
    SubType,
    Type,
    request_codes,
)
from saraban.cli.output import print_list, say, stop, tell
from saraban.cli.run import PAGE, as_account, members_of, read_pages, reading, reading_as, request_in_codes
from saraban.kit.errors import unknown
from saraban.numbering.series.domain.counter import LARGEST_STATED

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.numbering.ranges.schemas import RangeEffectOut
    from saraban.numbering.service import Plan, RangeDraft, RangeRow


group = typer.Typer(no_args_is_help=True, help="Ranges that a series skips: reserved, or blocked.")


@group.command("list")
def list_(project: Project) -> None:
    """List the ranges of a project, the released ones too, newest first.

    Example: `saraban number range list --project LCBP3-C2`
    """
    from saraban.numbering import service as numbering

    async def step(ctx: "RequestContext", session: "AsyncSession") -> list[str]:
        place, members = await members_of(ctx, session, project)
        codes = {public_id: code for code, public_id in members.items()}
        rows = await read_pages(
            lambda cursor: numbering.list_ranges(ctx, session, project_public_id=place, cursor=cursor, limit=PAGE)
        )
        return [_line(row, codes) for row in rows]

    print_list(reading(step), "ไม่มีช่วงเลข", "No reserved or blocked ranges.")


@group.command()
def create(
    kind: Type,
    originator: Originator,
    first: Annotated[int, typer.Option(min=1, max=LARGEST_STATED, help="First sequence of the range.")],
    account: As,
    reason: Reason,
    project: Project,
    last: Annotated[
        int | None,
        typer.Option(min=1, max=LARGEST_STATED, help="Last sequence of the range; the first one if left out."),
    ] = None,
    recipient: Recipient = None,
    contract: Contract = None,
    discipline: Discipline = None,
    rfa_type: RfaType = None,
    sub_type: SubType = None,
    category: Category = None,
    register: Register = None,
    keeper: Annotated[
        str | None,
        typer.Option("--for", help="Code of the only organization that may issue numbers from a reserved range."),
    ] = None,
    *,
    barred: Annotated[
        bool,
        typer.Option("--barred", help="Block the range: nobody issues numbers from it. Without this, it is reserved."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Close a large range without being asked.")] = False,
) -> None:
    """Reserve or block a range of the series that such a document counts in; a reserved range counts by itself.

    More than 1,000 sequences, or more digits than the format prints, are shown first and must be confirmed.

    Examples:

        saraban number range create LETTER --from คคง. --to สคฉ.3 --first 100 --last 199 --for คคง. --project LCBP3-C2 \\
            --as padmin --reason "For the site office"
        saraban number range create LETTER --from คคง. --to สคฉ.3 --first 13 --barred --project LCBP3-C2 --as padmin --reason "Unlucky"
    """
    from saraban.numbering import service as numbering

    codes = request_codes(discipline, rfa_type, sub_type, category, register)

    async def asked(ctx: "RequestContext", session: "AsyncSession") -> "tuple[Plan, RangeDraft]":
        request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
        _, members = await members_of(ctx, session, project)
        if keeper is not None and keeper not in members:
            raise unknown("/for", keeper)
        kind_of_range = numbering.RangeKind.BARRED if barred else numbering.RangeKind.KEPT
        end = first if last is None else last
        owner = members[keeper] if keeper is not None else None
        draft = numbering.RangeDraft(kind_of_range, first, end, owner, reason)
        return await numbering.plan(ctx, session, request), draft

    async def look(ctx: "RequestContext", session: "AsyncSession") -> "RangeEffectOut":
        return await numbering.range_effect(ctx, session, *await asked(ctx, session))

    effect = reading_as(account, look)
    _confirm(effect, yes=yes)

    async def step(ctx: "RequestContext", session: "AsyncSession") -> "RangeRow":
        plan, draft = await asked(ctx, session)
        return await numbering.create_range(ctx, session, plan, replace(draft, confirmed_size=effect.size))

    row = as_account(account, step)
    typer.echo(_line(row, {row.organization: keeper} if row.organization and keeper else {}))


def _confirm(effect: "RangeEffectOut", *, yes: bool) -> None:
    """Somebody looks at a large range before it is closed."""
    if not effect.must_confirm or yes:
        return
    following = effect.next_number or say("ไม่มีอีก", "none any more")
    words = say(
        f"จะกัน {effect.size:,} ลำดับ เลขถัดไปของชุดคือ {following} ยืนยันหรือไม่",
        f"{effect.size:,} sequences would be closed, and the next number of the series would be {following}. Close them?",
    )
    if not typer.confirm(words, err=True):
        raise stop("ยังไม่ได้ทำอะไร", "Nothing was done.")


@group.command()
def release(
    range_: Annotated[UUID, typer.Argument(metavar="RANGE", help="As `saraban number range list` names it.")],
    account: As,
    reason: Reason,
) -> None:
    """Release a range: the series issues what it has not passed yet; numbers issued from the range stay issued.

    Examples:

        saraban number range release 0190a7c4-d1e2-7b3f-8a6c-5d4e3f2a1b0c --as padmin --reason "The site office closed"
    """
    from saraban.numbering import service as numbering

    as_account(account, numbering.release_range, public_id=range_, reason=reason)
    tell("ปลดช่วงเลขแล้ว", "Range released.")


def _line(row: "RangeRow", codes: Mapping[UUID, str]) -> str:
    kept = row.range
    stretch = f"{kept.first_number}-{kept.last_number}"
    state = "RELEASED" if kept.released_at else kept.kind
    keeper = codes.get(row.organization, "-") if row.organization else "-"
    given = say(f"ออกถึง {row.last}", f"given to {row.last}") if row.last and row.last >= kept.first_number else "-"
    return f"{kept.public_id}  {stretch:>11}  {state:<8}  {keeper}  {given}  {kept.series}  {kept.reason}"
