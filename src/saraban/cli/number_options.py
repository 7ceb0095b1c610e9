"""What several verbs of `saraban number` ask for, each with the words of its help."""

from typing import Annotated

import typer

from saraban.cli.outcome import say
from saraban.kit.text import control_character, fold
from saraban.numbering.domain.reason import LONGEST, SHORTEST


def _checked(reason: str) -> str:
    """The service has the same rule; here it is told before the database is asked."""
    text = fold(reason).strip()
    if not SHORTEST <= len(text) <= LONGEST or control_character(text) is not None:
        raise typer.BadParameter(
            say(
                f"ต้องมี {SHORTEST} ถึง {LONGEST} ตัวอักษร ไม่มีอักขระควบคุม",
                f"{SHORTEST} to {LONGEST} characters are needed, without control characters",
            )
        )
    return text


As = Annotated[str, typer.Option("--as", help="Account in whose name it is done; its rights count.")]
Reason = Annotated[str, typer.Option(help="Kept in the ledger and the audit for ever.", callback=_checked)]
Project = Annotated[str, typer.Option(help="Code of the project.")]

Type = Annotated[str, typer.Argument(metavar="TYPE", help="Kind of document: LETTER, RFA, TRANSMITTAL, …")]
Originator = Annotated[str, typer.Option("--from", help="Code of the organization that issues it.")]
Recipient = Annotated[str | None, typer.Option("--to", help="Code of the main recipient.")]
Contract = Annotated[str | None, typer.Option(help="Code of the contract.")]
Discipline = Annotated[str | None, typer.Option(help="Code of the discipline.")]
RfaType = Annotated[str | None, typer.Option(help="Code of the RFA type.")]
SubType = Annotated[str | None, typer.Option(help="Code of the sub type.")]
Category = Annotated[str | None, typer.Option(help="Code of the drawing category.")]
