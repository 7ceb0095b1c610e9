"""What several verbs of `saraban number` ask for, each with the words of its help."""

from collections.abc import Callable
from typing import Annotated

import typer

from saraban.cli.output import language
from saraban.kit.errors import Invalid
from saraban.numbering.issue.domain import SHORTEST_REASON, SHORTEST_RESET_REASON, checked_reason


def _checked(least: int) -> Callable[[str], str]:
    """The service has the same rule; here it is told before the database is asked."""

    def check(reason: str) -> str:
        try:
            return checked_reason(reason, shortest=least)
        except Invalid as fault:
            first = fault.fields[0]
            raise typer.BadParameter(first.text.say(language(), first.values)) from None

    return check


As = Annotated[str, typer.Option("--as", help="Account in whose name it is done; its rights count.")]
Reason = Annotated[
    str, typer.Option(help="Kept in the ledger and the audit for ever.", callback=_checked(SHORTEST_REASON))
]
LongReason = Annotated[
    str,
    typer.Option(help="Kept in the audit for ever; at least 20 characters.", callback=_checked(SHORTEST_RESET_REASON)),
]
Project = Annotated[str, typer.Option(help="Code of the project.")]

Type = Annotated[str, typer.Argument(metavar="TYPE", help="Kind of document: LETTER, RFA, TRANSMITTAL, …")]
Originator = Annotated[str, typer.Option("--from", help="Code of the organization that issues it.")]
Recipient = Annotated[str | None, typer.Option("--to", help="Code of the main recipient.")]
Contract = Annotated[str | None, typer.Option(help="Code of the contract.")]
Discipline = Annotated[str | None, typer.Option(help="Code of the discipline.")]
RfaType = Annotated[str | None, typer.Option(help="Code of the RFA type.")]
SubType = Annotated[str | None, typer.Option(help="Code of the sub type.")]
Category = Annotated[str | None, typer.Option(help="Code of the drawing category.")]
