"""Which formats of a project could print the same number: saving one of them warns and names the other."""

from collections.abc import Mapping

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.numbering import repository
from saraban.numbering.domain import template as tokens
from saraban.numbering.domain.meeting import TemplateShape, can_collide
from saraban.numbering.domain.template import stored_template
from saraban.numbering.models import NumberFormat
from saraban.numbering.repository import FormatRow
from saraban.numbering.service.checks import DRAWING_CATEGORIES
from saraban.projects import service as projects


async def colliding_formats(session: AsyncSession, row: FormatRow) -> list[FormatRow]:
    """Give the project's other formats that could print a number of this one."""
    others = [
        other
        for other in await repository.formats_of_project(session, row.project_id)
        if other.format.public_id != row.format.public_id and _counts_apart(other.format, row.format)
    ]
    if not others:
        return []
    codes = await _codes(session, row)
    numbers = await projects.sub_type_numbers(session, project_id=row.project_id)
    mine = _shape(row, codes, numbers)
    return [other for other in others if can_collide(mine, _shape(other, codes, numbers))]


def _counts_apart(one: NumberFormat, other: NumberFormat) -> bool:
    """Formats of the same text and reset share their series, so they cannot collide; any other two have counters apart."""
    return (one.format_template, one.reset_sequence_yearly) != (other.format_template, other.reset_sequence_yearly)


async def _codes(session: AsyncSession, row: FormatRow) -> dict[str, frozenset[str]]:
    printable = await projects.printable_codes(session, project_id=row.project_id)
    return {
        tokens.PROJECT: frozenset({row.project_code}),
        tokens.ORIGINATOR: printable.organizations,
        tokens.RECIPIENT: printable.organizations,
        tokens.DISCIPLINE: printable.disciplines | {"GEN"},
        tokens.RFA_TYPE: printable.rfa_types,
        tokens.SUB_TYPE: printable.sub_type_numbers,
        tokens.CORR_TYPE: printable.types,
        tokens.CATEGORY: DRAWING_CATEGORIES,
    }


def _shape(
    row: FormatRow, codes: Mapping[str, frozenset[str]], numbers: Mapping[tuple[str, str], frozenset[str]]
) -> TemplateShape:
    """:param numbers: what each sub type prints"""
    known, narrowing = dict(codes), row.format.narrowing
    if row.type_code is not None:
        known[tokens.CORR_TYPE] = frozenset({row.type_code})
        if narrowing.sub_type:
            known[tokens.SUB_TYPE] = numbers.get((row.type_code, narrowing.sub_type), frozenset())
    if narrowing.rfa_type:
        known[tokens.RFA_TYPE] = frozenset({narrowing.rfa_type})
    if narrowing.discipline:
        known[tokens.DISCIPLINE] = frozenset({narrowing.discipline})
    return TemplateShape(stored_template(row.format.format_template), known)
