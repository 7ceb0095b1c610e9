"""What a format would do before it is saved: the next numbers of the series that count now, and whom it could meet."""

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
from saraban.numbering.domain.counter import Codes
from saraban.numbering.domain.period import Period
from saraban.numbering.domain.sequence import SequenceExhausted
from saraban.numbering.domain.template import FALLBACK, Template, stored
from saraban.numbering.models import NumberFormat
from saraban.numbering.repository import FormatRow, effects
from saraban.numbering.service.checks import DRAWING, DRAWING_CATEGORIES
from saraban.numbering.service.formats import Wanted, checked, meeting, place_of
from saraban.numbering.service.previewing import next_free
from saraban.projects import service as projects

NEXT = 3
EXAMPLES = 5
FIRST_REVISION = "A"
RFA = "RFA"


@dataclass(frozen=True, slots=True)
class How:
    """A format as far as printing and counting go."""

    template: Template
    resets: bool
    refuses: bool


@dataclass(frozen=True, slots=True)
class Example:
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
    examples: list[Example] = field(default_factory=list)
    meets: list[FormatRow] = field(default_factory=list)


async def format_effect(
    session: AsyncSession,
    *,
    caller: Caller,
    project_public_id: UUID,
    type_code: str | None,
    wanted: Wanted,
    now: datetime,
    zone: ZoneInfo,
) -> FormatEffect:
    """
    This will show what saving a format would do; nothing is saved and no number is drawn.

    :raises Invalid: what saving it would raise
    """
    project, kind = await place_of(session, caller=caller, project_public_id=project_public_id, type_code=type_code)
    template = checked(wanted, drawing=type_code == DRAWING)
    resets = template.prints_period if wanted.resets is None else wanted.resets
    old = await repository.format_of(session, project_id=project.id, type_id=kind.id if kind else None)
    default = await repository.format_of(session, project_id=project.id, type_id=None)
    period, new = Period.of(now, zone), How(template, resets, wanted.overflow == "refuse")
    examples = [
        await _example(session, project.id, codes, period, _in_force(old or default), new)
        for codes in await _samples(session, project, kind)
    ]
    fresh = NumberFormat(
        public_id=old.format.public_id if old else new_id(),
        format_template=template.text,
        reset_sequence_yearly=resets,
    )
    row = FormatRow(fresh, project.id, project.public_id, project.code, type_code)
    return FormatEffect(template, resets, examples, await meeting(session, row))


def _in_force(old: FormatRow | None) -> How:
    """A type's own format, or else the project's default, or else the system's fallback."""
    if old is None:
        return How(stored(FALLBACK), resets=True, refuses=False)
    saved = old.format
    return How(stored(saved.format_template), saved.reset_sequence_yearly, saved.overflow == "refuse")


async def _samples(session: AsyncSession, project: projects.ProjectRef, kind: projects.TypeRef | None) -> list[Codes]:
    """The parties that number most now, or any two of the project's before its first number."""
    type_id = kind.id if kind else None
    found = list(await effects.busiest(session, project_id=project.id, type_id=type_id, limit=EXAMPLES))
    printable = await projects.printable_codes(session, project_id=project.id)
    organizations = sorted(printable.organizations)
    if not found:
        found = [
            Codes(
                project=project.code,
                originator=organizations[0] if organizations else "",
                type=kind.code if kind else "LETTER",
                recipient=organizations[-1] if organizations else "",
                sub_type_number=min(printable.sub_type_numbers, default=""),
                rfa_type=min(printable.rfa_types, default=""),
            )
        ]
    return [_completed(codes, organizations) for codes in found]


def _completed(codes: Codes, organizations: list[str]) -> Codes:
    """The counters of RFAs tell no recipient, and no counter tells a category; their documents have them all the same."""
    if codes.type == DRAWING:
        return replace(codes, category=min(DRAWING_CATEGORIES))
    if codes.type == RFA and not codes.recipient:
        return replace(codes, recipient=next((one for one in organizations if one != codes.originator), ""))
    return codes


async def _example(session: AsyncSession, project_id: int, codes: Codes, period: Period, old: How, new: How) -> Example:
    values = counter.values_of(codes, period=period)
    try:
        before, *_ = await _next(session, project_id, values, old)
    except DomainError:
        before = []  # the format in force refuses these parties already
    try:
        after, series, last, over = await _next(session, project_id, values, new)
    except DomainError as refusal:
        return Example(before, [], "", 0, refusal=refusal)
    return Example(before, after, series, last, over)


async def _next(
    session: AsyncSession, project_id: int, values: dict[str, str], how: How
) -> tuple[list[str], str, int, int]:
    """:returns: the next numbers, their series, where that stands, how many it would step over"""
    series = how.template.series(values, resets=how.resets)

    def number(sequence: int) -> str:
        return how.template.render(values, sequence=sequence, revision=FIRST_REVISION)

    def base(sequence: int) -> str:
        return how.template.base(values, sequence=sequence)

    place = repository.Place(project_id, series, 0)
    standing = await repository.standing(session, place, lock=False) or repository.Standing(0, 0)
    free = await next_free(session, place, standing, number=number, base=base, count=NEXT)
    if how.refuses and how.template.overflows(free[-1]):
        raise SequenceExhausted
    closed = sum(stretch.last - stretch.first + 1 for stretch in standing.closed if stretch.first <= free[-1])
    over = max(free[-1] - standing.last_number - NEXT - closed, 0)
    return [number(sequence) for sequence in free], series, standing.last_number, over
