"""The items of an RFA in its forms: drawings by their numbers, one to a line, and an answer for each of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import ASBUILT, SHOP, DrawingKind
from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import FieldProblem, Invalid, Text
from saraban.kit.text import fold
from saraban.web.shell.forms import FormValues, text, texts

FIELDS: Final[Mapping[DrawingKind, str]] = {SHOP: "shopNumbers", ASBUILT: "asbuiltNumbers"}
DOCUMENT: Final = "itemDocument"
_ANSWER, _NOTE = "item-", "itemNote-"
_UNKNOWN: Final[Mapping[DrawingKind, Text]] = {
    SHOP: Text("ไม่พบแบบขยายเลขที่ “{value}”", "There is no shop drawing “{value}”."),
    ASBUILT: Text("ไม่พบแบบก่อสร้างจริงเลขที่ “{value}”", "There is no as-built drawing “{value}”."),
}
_MOST_NAMED: Final = 10


async def items_typed(
    ctx: RequestContext, session: AsyncSession, form: FormValues, *, project: UUID | None
) -> list[dict[str, str]]:
    """
    Return the items that a form names.

    :raises Invalid: naming the numbers that the registers of the project do not have
    """
    found: list[dict[str, str]] = []
    unknown: list[FieldProblem] = []
    for kind, field in FIELDS.items():
        numbers = list(
            dict.fromkeys(fold(line.strip()) for line in (text(form, field) or "").splitlines() if line.strip())
        )
        known: Mapping[str, UUID] = {}
        if project is not None:
            known = await drawings.current_by_number(ctx, session, kind, project=project, numbers=numbers)
        found += [{"drawingRevisionPublicId": str(known[one])} for one in numbers if one in known]
        unknown += [
            FieldProblem("/items", "unknown", _UNKNOWN[kind], {"value": one}) for one in numbers if one not in known
        ]
    if unknown:
        raise Invalid("A number is in no register.", fields=unknown[:_MOST_NAMED])
    return found + [{"documentPublicId": one} for one in texts(form, DOCUMENT)]


def form_of_items(document: Any) -> Iterator[tuple[str, str]]:
    """Give the fields of the items of a draft as it stands."""
    for kind, field in FIELDS.items():
        yield field, "\n".join(one.number for one in document.items if one.kind == kind.path)
    for one in document.items:
        if one.kind == "document":
            yield DOCUMENT, str(one.public_id)


def answers_of(form: FormValues) -> list[dict[str, str | None]]:
    """Return the answers to single items; those that were left empty get that of the whole."""
    return [
        {"publicId": item, "responseCode": str(code), "comment": text(form, _NOTE + item)}
        for name, code in form.items()
        if name.startswith(_ANSWER) and code
        for item in (name.removeprefix(_ANSWER),)
    ]
