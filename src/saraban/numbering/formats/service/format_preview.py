"""What a format would do before it is saved: the next numbers of the series that count now, and whose numbers it could print."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.numbering.formats import repository
from saraban.numbering.formats.domain import FormatDraft, FormatTarget, TemplateShape, can_collide
from saraban.numbering.formats.service.formats import (
    checked_template,
    narrowed_columns,
    resolve_target,
)
from saraban.numbering.issue.service.number_plan import free_sequences
from saraban.numbering.issue.service.number_request import DRAWING, DRAWING_CATEGORIES
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.counter import (
    CounterState,
    Period,
    PrintedCodes,
    SequenceExhausted,
    SeriesKey,
    token_values,
)
from saraban.numbering.series.domain.format_selection import FormatKey, matching_format_keys
from saraban.numbering.series.domain.states import OverflowRule
from saraban.numbering.series.domain.template import FALLBACK, Template, stored_template
from saraban.numbering.series.models import FormatRow, NumberFormat
from saraban.numbering.series.repository import counter_state
from saraban.projects import service as projects

NEXT = 3
EXAMPLES = 5
_LOOKED_AT = 100  # counters, for examples that the format would number
FIRST_REVISION = "A"
RFA = "RFA"


@dataclass(frozen=True, slots=True)
class PrintRule:
    """A format as far as printing and counting go."""

    template: Template
    resets: bool
    refuses: bool


@dataclass(frozen=True, slots=True)
class FormatExample:
    """
    The next numbers of one pair of parties, as the format in force prints them and as the new one would.

    :param refusal: why the new format could print none of them
    :param stepped_over: numbers of the new series that others have taken already
    """

    before: list[str]
    after: list[str]
    series: str
    last_number: int
    stepped_over: int = 0
    refusal: DomainError | None = None


@dataclass(frozen=True, slots=True)
class FormatEffect:
    """:param meets: formats of the project that could print the same number as the new one"""

    template: Template
    resets: bool
    examples: list[FormatExample] = field(default_factory=list)
    meets: list[FormatRow] = field(default_factory=list)


async def format_effect(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget, wanted: FormatDraft
) -> FormatEffect:
    """
    Show what saving a format would do; nothing is saved and no number is drawn.

    :raises Invalid: what saving it would raise
    """
    project, kind, key = await resolve_target(ctx, session, target)
    template = checked_template(wanted, drawing=target.type_code == DRAWING)
    resets = template.prints_period if wanted.resets is None else wanted.resets
    saved = {row.format.key: row.format for row in await repository.formats_of_project(session, project.id)}
    old = saved.get(key)
    period, new = Period.of(ctx.now, ctx.zone), PrintRule(template, resets, wanted.overflow == OverflowRule.REFUSE)
    examples = [
        await _example(session, project.id, codes, period, _in_force(saved, fitting), new)
        for fitting, codes in await _samples(session, project, kind, key, {*saved, key})
    ]
    fresh = NumberFormat(
        public_id=old.public_id if old else new_id(),
        correspondence_type_id=kind.id if kind else None,
        **narrowed_columns(key.narrowing),
        format_template=template.text,
        reset_sequence_yearly=resets,
    )
    row = FormatRow(fresh, project.id, project.public_id, project.code, target.type_code)
    return FormatEffect(template, resets, examples, await colliding_formats(session, row))


def _in_force(saved: Mapping[FormatKey, NumberFormat], fitting: Sequence[FormatKey]) -> PrintRule:
    """The best of the formats that fit, or the system's fallback."""
    one = next((saved[key] for key in fitting if key in saved), None)
    if one is None:
        return PrintRule(stored_template(FALLBACK), resets=True, refuses=False)
    return PrintRule(
        stored_template(one.format_template), one.reset_sequence_yearly, one.overflow == OverflowRule.REFUSE
    )


async def _samples(
    session: AsyncSession,
    project: projects.ProjectRef,
    kind: projects.TypeRef | None,
    key: FormatKey,
    keys: Collection[FormatKey],
) -> list[tuple[Sequence[FormatKey], PrintedCodes]]:
    """
    The parties that number most now, or any two of the project's before its first number.

    :param keys: of all formats of the project; what another of them numbers is no example of this one
    """
    recent = await repository.recent_series(session, project_id=project.id, key=key, limit=_LOOKED_AT)
    fitting = [(matching_format_keys(type_id, document), codes) for type_id, document, codes in recent]
    found = [one for one in fitting if next(fits for fits in one[0] if fits in keys) == key][:EXAMPLES]
    printable = await projects.printable_codes(session, project_id=project.id)
    organizations = sorted(printable.organizations)
    if not found:
        numbers = await _sub_type_numbers(session, project, kind, key) or printable.sub_type_numbers
        codes = PrintedCodes(
            project=project.code,
            originator=organizations[0] if organizations else "",
            type=kind.code if kind else "LETTER",
            recipient=organizations[-1] if organizations else "",
            sub_type_number=min(numbers, default=""),
            rfa_type=key.narrowing.rfa_type or min(printable.rfa_types, default=""),
            discipline=key.narrowing.discipline,
        )
        found = [(matching_format_keys(key.type_id, key.narrowing), codes)]
    return [(fits, _completed(codes, organizations)) for fits, codes in found]


async def _sub_type_numbers(
    session: AsyncSession, project: projects.ProjectRef, kind: projects.TypeRef | None, key: FormatKey
) -> frozenset[str]:
    if kind is None or not key.narrowing.sub_type:
        return frozenset()
    numbers = await projects.sub_type_numbers(session, project_id=project.id)
    return numbers.get((kind.code, key.narrowing.sub_type), frozenset())


def _completed(codes: PrintedCodes, organizations: list[str]) -> PrintedCodes:
    """The counters of RFAs tell no recipient, and no counter tells a category; their documents have them all the same."""
    if codes.type == DRAWING:
        return replace(codes, category=min(DRAWING_CATEGORIES))
    if codes.type == RFA and not codes.recipient:
        return replace(codes, recipient=next((one for one in organizations if one != codes.originator), ""))
    return codes


async def _example(
    session: AsyncSession, project_id: int, codes: PrintedCodes, period: Period, old: PrintRule, new: PrintRule
) -> FormatExample:
    values = token_values(codes, period=period)
    try:
        before, *_ = await _next(session, project_id, values, old)
    except DomainError:
        before = []  # the format in force refuses these parties already
    try:
        after, series, last, over = await _next(session, project_id, values, new)
    except DomainError as refusal:
        return FormatExample(before, [], "", 0, refusal=refusal)
    return FormatExample(before, after, series, last, over)


async def _next(
    session: AsyncSession, project_id: int, values: dict[str, str], how: PrintRule
) -> tuple[list[str], str, int, int]:
    """:returns: the next numbers, their series, where that stands, how many it would step over"""
    series = how.template.series(values, resets=how.resets)

    def number(sequence: int) -> str:
        return how.template.render(values, sequence=sequence, revision=FIRST_REVISION)

    def base(sequence: int) -> str:
        return how.template.base(values, sequence=sequence)

    key = SeriesKey(project_id, series, 0)
    state = await counter_state(session, key, lock=False) or CounterState(0, 0)
    free = await free_sequences(session, key, state, number=number, base=base, count=NEXT)
    if how.refuses and how.template.overflows(free[-1]):
        raise SequenceExhausted
    closed = sum(
        closed_range.last - closed_range.first + 1 for closed_range in state.closed if closed_range.first <= free[-1]
    )
    over = max(free[-1] - state.last_number - NEXT - closed, 0)
    return [number(sequence) for sequence in free], series, state.last_number, over


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
