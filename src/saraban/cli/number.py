"""`saraban number`: which number would come next, without issuing it; the other verbs are in modules of their own."""

from typing import TYPE_CHECKING

import typer

from saraban.cli import number_import, number_ranges
from saraban.cli.number_lifecycle import cancel, confirm, override, reserve, reset, void
from saraban.cli.number_register import account, errors, series, verify
from saraban.cli.options import Category, Contract, Discipline, Originator, Project, Recipient, RfaType, SubType, Type
from saraban.cli.output import say, with_system
from saraban.cli.run import request_in_codes

if TYPE_CHECKING:
    from saraban.bootstrap import System


def register(app: typer.Typer) -> None:
    noun = typer.Typer(
        no_args_is_help=True, help="Document numbers: preview, reserve, account, verify, override, void, reset."
    )
    noun.callback()(lambda: None)
    for verb in (preview, series, account, verify, reserve, confirm, cancel, void, reset, override):
        noun.command()(verb)
    number_ranges.register(noun)
    number_import.register(noun)
    noun.command()(errors)
    app.add_typer(noun, name="number")


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
) -> None:
    """Show the next number of a series. This is a preview: nothing is issued.

    Examples:

        saraban number preview LETTER --from คคง. --to สคฉ.3 --project LCBP3-C2
        saraban number preview RFA --from ผรม.2 --to คคง. --contract LCBP3-C2 --project LCBP3-C2 \\
            --discipline TER --rfa-type RPT
    """
    codes = {
        "discipline_code": discipline,
        "rfa_type_code": rfa_type,
        "sub_type_code": sub_type,
        "category_code": category,
    }

    async def look(system: "System") -> tuple[str, str, str]:
        from saraban.identity.service import system_context
        from saraban.numbering import service as numbering

        async with system.db.reading() as session:
            ctx = await system_context(session, system.clock)
            request = await request_in_codes(ctx, session, (project, originator, recipient, contract), kind, codes)
            plan = await numbering.plan(ctx, session, request=request)
            following = await numbering.preview(session, plan=plan)
            return following.number, plan.series, plan.template.text

    number, series, template = with_system(look)
    typer.echo(number)
    typer.echo(f"  {say('ชุดเลข', 'series')}: {series}\n  {say('รูปแบบ', 'format')}: {template}")
