"""What several verbs of `saraban number` ask for, each with the words of its help."""

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

import typer

from saraban.cli.output import language
from saraban.kit.dates import read_date
from saraban.kit.errors import Invalid
from saraban.numbering.issue.domain import SHORTEST_REASON, SHORTEST_RESET_REASON, checked_reason

if TYPE_CHECKING:
    from saraban.kit.schema import Schema

Order = TypeVar("Order", bound="Schema")


def _checked(least: int) -> Callable[[str], str]:
    """The service has the same rule; here it is told before the database is asked."""

    def check(reason: str) -> str:
        try:
            return checked_reason(reason, shortest=least)
        except Invalid as fault:
            first = fault.fields[0]
            raise typer.BadParameter(first.text.say(language(), first.values)) from None

    return check


def read_day(typed: str) -> date:
    """Read an option or argument that is a day, as the API reads it."""
    try:
        return read_date(typed)
    except Invalid as fault:
        raise typer.BadParameter(fault.fields[0].text.say(language())) from None


def checked(schema: "type[Order]", **said: object) -> "Order":
    """The rules of the API's fields hold at the terminal too."""
    from pydantic import ValidationError

    try:
        return schema.model_validate(said)
    except ValidationError as fault:
        first = fault.errors()[0]
        named = ".".join(map(str, first["loc"]))
        raise typer.BadParameter(f"{named}: {first['msg']}") from None


As = Annotated[str, typer.Option("--as", help="Account in whose name it is done; its rights count.")]
Reason = Annotated[str, typer.Option(help="Why; the audit trail keeps it.", callback=_checked(SHORTEST_REASON))]
LongReason = Annotated[
    str,
    typer.Option(
        help="Why; the audit trail keeps it. At least 20 characters.", callback=_checked(SHORTEST_RESET_REASON)
    ),
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
Register = Annotated[
    Literal["contract", "shop", "asbuilt"] | None,
    typer.Option(help="Of drawings: the register of the number; new ones are shop drawings if left out."),
]


def request_codes(
    discipline: str | None, rfa_type: str | None, sub_type: str | None, category: str | None, register: str | None
) -> dict[str, object]:
    """Return what these options state of a request for a number."""
    names = ("discipline_code", "rfa_type_code", "sub_type_code", "category_code", "drawing_register")
    return dict(zip(names, (discipline, rfa_type, sub_type, category, register), strict=True))
