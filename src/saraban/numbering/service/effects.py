"""What a format would do before it is saved: the next numbers of the series that count now, and whom it could meet."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.caller import Caller
from saraban.kit.errors import DomainError
from saraban.kit.ids import new_id
from saraban.numbering import repository
from saraban.numbering.domain import counter
from saraban.numbering.domain.counter import PrintedCodes
from saraban.numbering.domain.narrowing import FormatKey, Narrowing, matching_format_keys
from saraban.numbering.domain.period import Period
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.domain.template import FALLBACK, Template, stored_template
from saraban.numbering.models import NumberFormat
from saraban.numbering.repository import FormatRow, effects
from saraban.numbering.service.checks import DRAWING, DRAWING_CATEGORIES
from saraban.numbering.service.format_collision import colliding_formats
from saraban.numbering.service.formats import (
    NOT_NARROWED,
    FormatDraft,
    checked_template,
    format_target,
    narrowed_columns,
)
from saraban.numbering.service.previewing import free_sequences
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
    session: AsyncSession,
    *,
    caller: Caller,
    project_public_id: UUID,
    type_code: str | None,
    narrowing: Narrowing = NOT_NARROWED,
    wanted: FormatDraft,
    now: datetime,
    zone: ZoneInfo,
) -> FormatEffect:
    """
    Show what saving a format would do; nothing is saved and no number is drawn.

    :raises Invalid: what saving it would raise
    """
    project, kind, key = await format_target(
        session, caller=caller, project_public_id=project_public_id, type_code=type_code, narrowing=narrowing
    )
    template = checked_template(wanted, drawing=type_code == DRAWING)
    resets = template.prints_period if wanted.resets is None else wanted.resets
    saved = {row.format.key: row.format for row in await repository.formats_of_project(session, project.id)}
    old = saved.get(key)
    period, new = Period.of(now, zone), PrintRule(template, resets, wanted.overflow == "refuse")
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
    row = FormatRow(fresh, project.id, project.public_id, project.code, type_code)
    return FormatEffect(template, resets, examples, await colliding_formats(session, row))


def _in_force(saved: Mapping[FormatKey, NumberFormat], fitting: Sequence[FormatKey]) -> PrintRule:
    """The best of the formats that fit, or the system's fallback."""
    one = next((saved[key] for key in fitting if key in saved), None)
    if one is None:
        return PrintRule(stored_template(FALLBACK), resets=True, refuses=False)
    return PrintRule(stored_template(one.format_template), one.reset_sequence_yearly, one.overflow == "refuse")


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
    counters = await effects.recent_series(session, project_id=project.id, key=key, limit=_LOOKED_AT)
    fitting = [(matching_format_keys(type_id, document), codes) for type_id, document, codes in counters]
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
    values = counter.token_values(codes, period=period)
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

    place = repository.SeriesKey(project_id, series, 0)
    standing = await repository.counter_state(session, place, lock=False) or repository.CounterState(0, 0)
    free = await free_sequences(session, place, standing, number=number, base=base, count=NEXT)
    if how.refuses and how.template.overflows(free[-1]):
        raise SequenceExhausted
    closed = sum(stretch.last - stretch.first + 1 for stretch in standing.closed if stretch.first <= free[-1])
    over = max(free[-1] - standing.last_number - NEXT - closed, 0)
    return [number(sequence) for sequence in free], series, standing.last_number, over
