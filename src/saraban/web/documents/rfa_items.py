"""The items of an RFA in its forms: drawings by their numbers, one to a line, and an answer for each of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import ASBUILT, CONTRACT, SHOP, DrawingKind
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.text import fold
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import text, texts

FIELDS: Final[Mapping[DrawingKind, str]] = {
    CONTRACT: "contractNumbers",
    SHOP: "shopNumbers",
    ASBUILT: "asbuiltNumbers",
}
DOCUMENT: Final = "itemDocument"
_ANSWER, _NOTE = "item-", "itemNote-"
_UNKNOWN: Final[Mapping[DrawingKind, Text]] = {
    CONTRACT: Text("บรรทัดที่ {line}: ไม่พบแบบคู่สัญญาเลขที่ “{value}”", "Line {line}: There is no contract drawing “{value}”."),
    SHOP: Text("บรรทัดที่ {line}: ไม่พบแบบขยายเลขที่ “{value}”", "Line {line}: There is no shop drawing “{value}”."),
    ASBUILT: Text(
        "บรรทัดที่ {line}: ไม่พบแบบก่อสร้างจริงเลขที่ “{value}”", "Line {line}: There is no as-built drawing “{value}”."
    ),
}
_MOST_NAMED: Final = 10


async def items_typed(
    ctx: RequestContext, session: AsyncSession, form: FormValues, *, project: UUID | None
) -> list[dict[str, str]]:
    """
    Return the items of an RFA that a form names.

    :raises Invalid: naming the numbers that the registers of the project do not have
    """
    found = await revisions_typed(ctx, session, form, (SHOP, ASBUILT), project=project)
    return [
        *({"drawingRevisionPublicId": one} for one in found),
        *({"documentPublicId": one} for one in texts(form, DOCUMENT)),
    ]


async def revisions_typed(
    ctx: RequestContext, session: AsyncSession, form: FormValues, kinds: Sequence[DrawingKind], *, project: UUID | None
) -> list[str]:
    """
    Return the public ids of what is current of the drawings whose numbers a form has, one to a line.

    :raises Invalid: at the list of a register, naming the lines whose numbers it does not have
    """
    found: list[str] = []
    faults: list[FieldProblem] = []
    for kind in kinds:
        numbers = numbers_typed(form, kind)
        known: Mapping[str, UUID] = {}
        if project is not None:
            known = await drawings.current_by_number(ctx, session, kind, project=project, numbers=numbers)
        found += [str(known[one]) for one in numbers if one in known]
        faults += [unknown_number(kind, one, line) for one, line in numbers.items() if one not in known][:_MOST_NAMED]
    if faults:
        raise Invalid("A number is in no register.", fields=faults)
    return list(dict.fromkeys(found))


def numbers_typed(form: FormValues, kind: DrawingKind) -> dict[str, int]:
    """Return the numbers in the list of a register, each with the first line it stands in."""
    found: dict[str, int] = {}
    for line, typed in enumerate((text(form, FIELDS[kind]) or "").splitlines(), 1):
        if number := fold(typed.strip()):
            found.setdefault(number, line)
    return found


def unknown_number(kind: DrawingKind, number: str, line: int) -> FieldProblem:
    return FieldProblem(f"/{FIELDS[kind]}", "unknown", _UNKNOWN[kind], {"value": number, "line": line})


def form_of_items(document: Any) -> Iterator[tuple[str, str]]:
    yield from form_of_numbers((one.kind, one.number) for one in document.items)
    for one in document.items:
        if one.kind == "document":
            yield DOCUMENT, str(one.public_id)


def form_of_numbers(listed: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """
    Give the fields of numbers, one to a line.

    :param listed: register and number of each drawing
    """
    numbers = list(listed)
    for kind, field in FIELDS.items():
        yield field, "\n".join(number for name, number in numbers if name == kind.path)


def answers_of(form: FormValues) -> list[dict[str, str | None]]:
    """Return the answers to single items; those that were left empty get that of the whole."""
    return [
        {"publicId": item, "responseCode": str(code), "comment": text(form, _NOTE + item)}
        for name, code in form.items()
        if name.startswith(_ANSWER) and code
        for item in (name.removeprefix(_ANSWER),)
    ]
