"""`saraban number preview`: which number would come next, without drawing it."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from saraban.cli.outcome import say, with_system
from saraban.kit.errors import unknown

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.bootstrap import System
    from saraban.identity.domain.caller import Caller
    from saraban.numbering.service import NumberRequest


def register(app: typer.Typer) -> None:
    noun = typer.Typer(no_args_is_help=True, help="Look at document numbers.")
    noun.callback()(lambda: None)
    noun.command()(preview)
    app.add_typer(noun, name="number")


def preview(
    kind: Annotated[str, typer.Argument(metavar="TYPE", help="Kind of document: LETTER, RFA, TRANSMITTAL, …")],
    originator: Annotated[str, typer.Option("--from", help="Code of the organization that issues it.")],
    recipient: Annotated[str | None, typer.Option("--to", help="Code of the main recipient.")] = None,
    project: Annotated[str, typer.Option(help="Code of the project.")] = "LCBP3-C2",
    contract: Annotated[str | None, typer.Option(help="Code of the contract.")] = None,
    discipline: Annotated[str | None, typer.Option(help="Code of the discipline.")] = None,
    rfa_type: Annotated[str | None, typer.Option(help="Code of the RFA type.")] = None,
    sub_type: Annotated[str | None, typer.Option(help="Code of the sub type.")] = None,
    category: Annotated[str | None, typer.Option(help="Code of the drawing category.")] = None,
) -> None:
    """Show the next number of a series; nothing is drawn, and somebody else may draw it first.

    Examples:

        saraban number preview LETTER --from คคง. --to สคฉ.3
        saraban number preview RFA --from ผรม.2 --to คคง. --contract LCBP3-C2 \\
            --discipline TER --rfa-type RPT
    """
    codes = {
        "discipline_code": discipline,
        "rfa_type_code": rfa_type,
        "sub_type_code": sub_type,
        "category_code": category,
    }

    async def look(system: "System") -> tuple[str, str, str]:
        from saraban.identity.service import system_caller
        from saraban.numbering import service as numbering

        async with system.db.reading() as session:
            caller = await system_caller(session)
            request = await _request(session, caller, (project, originator, recipient, contract), kind, codes)
            now, zone = system.clock.now(), system.clock.zone
            plan = await numbering.plan(session, caller=caller, request=request, now=now, zone=zone)
            following = await numbering.preview(session, plan=plan)
            return following.number, plan.series, plan.template.text

    number, series, template = with_system(look)
    typer.echo(number)
    typer.echo(f"  {say('ชุดเลข', 'series')}: {series}\n  {say('รูปแบบ', 'format')}: {template}")


async def _request(
    session: "AsyncSession",
    caller: "Caller",
    places: tuple[str, str, str | None, str | None],
    kind: str,
    codes: dict[str, str | None],
) -> "NumberRequest":
    """The command takes codes where the API takes public ids."""
    from saraban.numbering.service import NumberRequest
    from saraban.projects import service as projects

    project_code, originator, recipient, contract = places
    project = await projects.find_project_by_code(session, code=project_code, pointer="/project")
    read = await projects.read_project(session, caller=caller, public_id=project.public_id)
    members = {one.organization_code: one.public_id for one in read.organizations}
    contracts = {one.contract_code: one.public_id for one in read.contracts}
    values: dict[str, Any] = codes
    return NumberRequest(
        project_public_id=project.public_id,
        correspondence_type_code=kind,
        originator_organization_public_id=_named(members, originator, "from"),
        recipient_organization_public_id=_named(members, recipient, "to") if recipient else None,
        contract_public_id=_named(contracts, contract, "contract") if contract else None,
        **values,
    )


def _named(known: dict[str, UUID], code: str, option: str) -> UUID:
    if code not in known:
        raise unknown(f"/{option}", code)
    return known[code]
