"""Items of an RFA in forms: one drawing number per line, and an answer for each item."""

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
    """:raises Invalid: naming the unknown numbers"""
    revisions = await revisions_typed(ctx, session, form, (SHOP, ASBUILT), project=project)
    return [
        *({"drawingRevisionPublicId": public_id} for public_id in revisions),
        *({"documentPublicId": public_id} for public_id in texts(form, DOCUMENT)),
    ]


async def revisions_typed(
    ctx: RequestContext, session: AsyncSession, form: FormValues, kinds: Sequence[DrawingKind], *, project: UUID | None
) -> list[str]:
    """
    Return the ids of the current revisions of the typed numbers.
    :raises Invalid: naming the lines with unknown numbers
    """
    revision_ids: list[str] = []
    faults: list[FieldProblem] = []
    for kind in kinds:
        numbers = numbers_typed(form, kind)
        id_by_number: Mapping[str, UUID] = {}
        if project is not None:
            id_by_number = await drawings.current_by_number(ctx, session, kind, project=project, numbers=numbers)
        revision_ids += [str(id_by_number[number]) for number in numbers if number in id_by_number]
        faults += [
            unknown_number(kind, number, line) for number, line in numbers.items() if number not in id_by_number
        ][:_MOST_NAMED]
    if faults:
        raise Invalid("A number is in no register.", fields=faults)
    return list(dict.fromkeys(revision_ids))


def numbers_typed(form: FormValues, kind: DrawingKind) -> dict[str, int]:
    """Return each number with its first line."""
    line_by_number: dict[str, int] = {}
    for line, typed in enumerate((text(form, FIELDS[kind]) or "").splitlines(), 1):
        if number := fold(typed.strip()):
            line_by_number.setdefault(number, line)
    return line_by_number


def unknown_number(kind: DrawingKind, number: str, line: int) -> FieldProblem:
    return FieldProblem(f"/{FIELDS[kind]}", "unknown", _UNKNOWN[kind], {"value": number, "line": line})


def form_of_items(document: Any) -> Iterator[tuple[str, str]]:
    yield from form_of_numbers((item.kind, item.number) for item in document.items)
    for item in document.items:
        if item.kind == "document":
            yield DOCUMENT, str(item.public_id)


def form_of_numbers(listed: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """:param listed: register and number of each drawing"""
    numbers = list(listed)
    for kind, field in FIELDS.items():
        yield field, "\n".join(number for name, number in numbers if name == kind.path)


def answers_of(form: FormValues) -> list[dict[str, str | None]]:
    """Return the answers to items; an empty one gets the document's answer."""
    return [
        {"publicId": item, "responseCode": str(code), "comment": text(form, _NOTE + item)}
        for name, code in form.items()
        if name.startswith(_ANSWER) and code
        for item in (name.removeprefix(_ANSWER),)
    ]
