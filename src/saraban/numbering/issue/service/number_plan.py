"""Plan a number before any lock: parties, format, series. Reads only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import Text, unknown
from saraban.numbering.issue import repository
from saraban.numbering.issue.schemas import NumberFormatOut
from saraban.numbering.issue.service.number_request import (
    NumberParties,
    NumberRequest,
    ResolvedRequest,
    check_codes,
    check_permission,
    check_recipient_type,
    remembered_resolution,
    requested_revision,
    requested_year,
    resolve,
)
from saraban.numbering.series.domain.counter import (
    LARGEST,
    NO_RECIPIENT,
    NONE,
    CounterKey,
    CounterState,
    Period,
    PrintedCodes,
    SequenceExhausted,
    SeriesKey,
    open_sequences,
    printed_values,
    token_values,
)
from saraban.numbering.series.domain.states import DOCUMENTS, DRAWING, FormatSource, NumberSource, series_in
from saraban.numbering.series.domain.template import (
    LONGEST_NUMBER,
    FormatKey,
    FormatReason,
    Narrowing,
    Template,
    TemplateText,
    reason_text,
)
from saraban.numbering.series.domain.tokens import REV, SEQ
from saraban.numbering.series.repository import counter_or_new
from saraban.projects.service import (
    ContractRef,
    DisciplineRef,
    OrganizationRef,
    ProjectRef,
    RfaTypeRef,
    SubTypeRef,
    TypeRef,
)

# An RFA follows its approval path and a circulation stays inside its organization: no recipient in the counter.
_WITHOUT_RECIPIENT = frozenset({"RFA", "CIRCULATION", DRAWING})
_ROW_BYTES = 1500  # three rows without their texts
_BLOCK = 50


@dataclass(frozen=True, slots=True)
class PreparedTemplate:
    """:param around: text left and right of the sequence; `around_base` has no `{REV}`"""

    width: int
    around: tuple[str, str]
    around_base: tuple[str, str]

    @classmethod
    def of(cls, template: Template, values: Mapping[str, str], revision: str) -> "PreparedTemplate":
        """:raises NumberUnprintable: for a token without a value, and past 255 characters"""
        template.render(values, sequence=1, revision=revision)
        return cls(
            template.width, _surrounding_text(template, values, revision), _surrounding_text(template, values, "")
        )


def _surrounding_text(template: Template, values: Mapping[str, str], revision: str) -> tuple[str, str]:
    sides = ["", ""]
    side = 0
    for part in template.parts:
        if isinstance(part, TemplateText):
            sides[side] += part.text
        elif part.name == SEQ:
            side = 1
        else:
            sides[side] += revision if part.name == REV else values[part.name]
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    :param format_keys: of matching formats, best first
    :param format_mark: id and version of its format; None for the fallback
    :param weight: upper estimate of its rows' bytes
    :param stated_at: the moment that an administrator states
    """

    request: NumberRequest
    parties: NumberParties
    template: Template
    source: FormatSource
    refuses_overflow: bool
    format_keys: tuple[FormatKey, ...]
    format_mark: tuple[int, int] | None
    format_public_id: UUID | None
    narrowing: Narrowing
    values: Mapping[str, str]
    series: str
    range: int
    key: CounterKey
    year: int
    year_reason: str | None
    revision: str
    codes: Mapping[str, object]
    codes_text: str
    lock_name: str
    printing: PreparedTemplate
    weight: int
    stated_at: datetime | None = None

    @property
    def project(self) -> ProjectRef:
        return self.parties.project

    @property
    def register(self) -> str:
        return self.request.unique_in

    @property
    def type(self) -> TypeRef:
        return self.parties.type

    @property
    def originator(self) -> OrganizationRef:
        return self.parties.originator

    @property
    def contract(self) -> ContractRef | None:
        return self.parties.contract

    @property
    def sub_type(self) -> SubTypeRef | None:
        return self.parties.sub_type

    @property
    def rfa_type(self) -> RfaTypeRef | None:
        return self.parties.rfa_type

    @property
    def discipline(self) -> DisciplineRef | None:
        return self.parties.discipline

    @property
    def series_key(self) -> SeriesKey:
        return SeriesKey(self.project.id, self.series, self.range)

    def is_in_force(self, counter: CounterState) -> bool:
        saved = counter.formats
        return self.format_mark == next((saved[key] for key in self.format_keys if key in saved), None)

    def number(self, sequence: int) -> str:
        return self._join(sequence, self.printing.around)

    def base(self, sequence: int) -> str:
        return self._join(sequence, self.printing.around_base)

    def both(self, sequence: int) -> tuple[str, str]:
        """Return number and base; the same object if the format prints no revision."""
        number = self.number(sequence)
        same = self.printing.around == self.printing.around_base
        return number, number if same else self.base(sequence)

    def _join(self, sequence: int, around: tuple[str, str]) -> str:
        number = f"{around[0]}{str(sequence).zfill(self.printing.width)}{around[1]}"
        if len(number) > LONGEST_NUMBER:  # raises: a widened sequence can make the number too long
            self.template.render(self.values, sequence=sequence, revision=self.revision)
        return number


async def plan(ctx: RequestContext, session: AsyncSession, request: NumberRequest) -> Plan:
    """
    Plan and check permission (REQ-NUM-16); `ctx.now`, the request's arrival, decides the year (REQ-NUM-29).

    :raises Invalid: naming the field
    :raises Forbidden: when the caller may not create such a document
    :raises NotYourOrganization: when the caller does not act for the originator
    """
    check_codes(request)
    return _check_and_build(ctx, request, await resolve(session, request))


async def planner(ctx: RequestContext, session: AsyncSession, request: NumberRequest) -> Callable[[datetime], Plan]:
    """Resolve once with the active format; return a function that plans for any moment."""
    check_codes(request)
    resolved = await resolve(session, request)
    return lambda at: _check_and_build(replace(ctx, now=at), request, resolved)


async def plan_apart(ctx: RequestContext, db: Database, request: NumberRequest) -> Plan:
    """
    Plan without a session; take a connection only on a cache miss.

    :raises: what `plan` raises
    """
    check_codes(request)
    resolved = remembered_resolution(db, request)
    if resolved is None:
        async with db.reading() as session:
            resolved = await resolve(session, request)
    return _check_and_build(ctx, request, resolved)


def _check_and_build(ctx: RequestContext, request: NumberRequest, resolved: ResolvedRequest) -> Plan:
    check_permission(ctx, resolved.parties)
    check_recipient_type(request, resolved.parties.recipient)
    year = requested_year(ctx, request, resolved.parties)
    return _build_plan(request, resolved, Period.of(ctx.now, ctx.zone, year=year))


async def replan(ctx: RequestContext, session: AsyncSession, old: Plan) -> Plan:
    resolved = await resolve(session, old.request, fresh=True)
    return _build_plan(old.request, resolved, Period.of(ctx.now, ctx.zone, year=old.year))


def _build_plan(request: NumberRequest, resolved: ResolvedRequest, period: Period) -> Plan:
    """Cached: building takes longer than writing a number in a batch."""
    cached_plan = resolved.plans.get((request, period))
    if cached_plan is None:
        cached_plan = resolved.plans[request, period] = _build_uncached(request, resolved, period)
    return cached_plan


def _build_uncached(request: NumberRequest, resolved: ResolvedRequest, period: Period) -> Plan:
    parties, template, year = resolved.parties, resolved.template, period.year
    values = token_values(printed_codes(parties, request.category_code), period=period)
    series = series_in(request.unique_in, template.series(values, resets=resolved.resets))
    if resolved.range_series is not None and resolved.range_series != series:
        raise unknown("/rangePublicId", str(request.range_public_id))
    codes = key_in_codes(parties, year, request)
    codes_text = orjson.dumps(codes).decode()
    printed = printed_values(template, values)
    revision = requested_revision(request.revision or resolved.first_revision)
    return Plan(
        request=request,
        parties=parties,
        template=template,
        source=resolved.source,
        refuses_overflow=resolved.refuses_overflow,
        format_keys=resolved.keys,
        format_mark=resolved.mark,
        format_public_id=resolved.format_public_id,
        narrowing=resolved.narrowing,
        values=printed,
        series=series,
        range=resolved.range,
        key=_counter_key(parties, year),
        year=year,
        year_reason=request.year_reason,
        revision=revision,
        codes=codes,
        codes_text=codes_text,
        lock_name=f"docnum:{parties.project.public_id}:{resolved.range}:{series}",
        # Refuses a number that cannot be printed, before any counter changes.
        printing=PreparedTemplate.of(template, printed, revision),
        weight=_ROW_BYTES + 4 * (5 * LONGEST_NUMBER + 4 * len(codes_text) + len(request.year_reason or "")),
    )


def printed_codes(parties: NumberParties, category: str | None) -> PrintedCodes:
    return PrintedCodes(
        project=parties.project.code,
        originator=parties.originator.code,
        type=parties.type.code,
        recipient=parties.recipient.code if parties.recipient else "",
        sub_type_number=(parties.sub_type.number or "") if parties.sub_type else "",
        rfa_type=parties.rfa_type.code if parties.rfa_type else "",
        discipline=parties.discipline.code if parties.discipline else "",
        category=category or "",
    )


def _counter_key(parties: NumberParties, year: int) -> CounterKey:
    counts_recipient = parties.recipient is not None and parties.type.code not in _WITHOUT_RECIPIENT
    return CounterKey(
        project_id=parties.project.id,
        originator_organization_id=parties.originator.id,
        recipient_organization_id=(parties.recipient.id if parties.recipient and counts_recipient else NO_RECIPIENT),
        correspondence_type_id=parties.type.id,
        sub_type_id=parties.sub_type.id if parties.sub_type else NONE,
        rfa_type_id=parties.rfa_type.id if parties.rfa_type else NONE,
        discipline_id=parties.discipline.id if parties.discipline else NONE,
        current_year=year,
    )


def key_in_codes(parties: NumberParties, year: int, request: NumberRequest) -> dict[str, object]:
    """Return the counter key as codes, which stay readable in the audit for decades."""
    return {
        "project": parties.project.code,
        "originator": parties.originator.code,
        "recipient": parties.recipient.code if parties.recipient else None,
        "type": parties.type.code,
        "contract": parties.contract.code if parties.contract else None,
        "subType": parties.sub_type.code if parties.sub_type else None,
        "rfaType": parties.rfa_type.code if parties.rfa_type else None,
        "discipline": parties.discipline.code if parties.discipline else None,
        "category": request.category_code,
        "year": year,
    }


@dataclass(frozen=True, slots=True)
class NumberPreview:
    number: str
    sequence: int


async def preview(session: AsyncSession, *, plan: Plan) -> NumberPreview:
    """:raises SequenceExhausted: where issuing would be refused too"""
    key = plan.series_key
    state = await counter_or_new(session, key)
    (sequence,) = await free_sequences(
        session, key, state, number=plan.number, base=plan.base, count=1, register=plan.register
    )
    if sequence > (LARGEST if state.end is None else state.end) or (
        plan.refuses_overflow and plan.template.overflows(sequence)
    ):
        raise SequenceExhausted
    return NumberPreview(plan.number(sequence), sequence)


async def free_sequences(
    session: AsyncSession,
    key: SeriesKey,
    state: CounterState,
    *,
    number: Callable[[int], str],
    base: Callable[[int], str],
    count: int,
    register: str = DOCUMENTS,
) -> list[int]:
    """Return sequences outside closed ranges and without look-alikes."""
    after, free = state.last_number, list[int]()
    while len(free) < count:
        candidates = list(islice(open_sequences(after, closed=state.closed), _BLOCK))
        taken = await repository.taken_numbers(
            session,
            project_id=key.project_id,
            bases=[base(sequence) for sequence in candidates],
            numbers=[number(sequence) for sequence in candidates],
            register=register,
        )
        free += [sequence for sequence in candidates if base(sequence) not in taken and number(sequence) not in taken]
        after = candidates[-1]
    return free[:count]


_REASON_OF_NUMBER_SOURCE: dict[str, FormatReason] = {
    NumberSource.OVERRIDE: FormatReason.STATED,
    NumberSource.IMPORT: FormatReason.IMPORTED,
}
_REASON_OF_FORMAT_SOURCE: dict[str, FormatReason] = {
    FormatSource.DEFAULT: FormatReason.DEFAULT,
    FormatSource.FALLBACK: FormatReason.FALLBACK,
}


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """:param public_id: None for the fallback, and where it was not recorded"""

    template: str
    reason: FormatReason
    type_code: str
    public_id: UUID | None = None
    narrowing: Narrowing = Narrowing()  # noqa: RUF009  a tuple

    @property
    def words(self) -> Text:
        return reason_text(self.reason, type_code=self.type_code, narrowing=self.narrowing)

    def shown(self) -> NumberFormatOut:
        return NumberFormatOut(
            public_id=self.public_id,
            template=self.template,
            sub_type_code=self.narrowing.sub_type or None,
            rfa_type_code=self.narrowing.rfa_type or None,
            discipline_code=self.narrowing.discipline or None,
            reason=self.reason,
            reason_th=self.words.th,
            reason_en=self.words.en,
        )

    @classmethod
    def of_ledger(
        cls, type_code: str, template: str, source: str, chosen: str | None, public_id: UUID | None, *codes: str | None
    ) -> "FormatChoice":
        narrowing = Narrowing(*(code or "" for code in codes))
        return cls(template, reason_of(source, chosen, narrowing), type_code, public_id, narrowing)

    @classmethod
    def of_plan(cls, plan: Plan) -> "FormatChoice":
        reason = reason_of(NumberSource.DRAW, plan.source, plan.narrowing)
        return cls(plan.template.text, reason, plan.type.code, plan.format_public_id, plan.narrowing)


async def format_choice(session: AsyncSession, public_id: UUID) -> FormatChoice | None:
    row = await repository.format_of_number(session, public_id)
    return None if row is None else FormatChoice.of_ledger(*row)


def reason_of(source: str, chosen: str | None, narrowing: Narrowing) -> FormatReason:
    """:param chosen: a `FormatSource`; None where it was not recorded"""
    if source in _REASON_OF_NUMBER_SOURCE:
        return _REASON_OF_NUMBER_SOURCE[source]
    if chosen == FormatSource.SPECIFIC:
        return FormatReason.NARROWED if any(narrowing) else FormatReason.TYPE
    return _REASON_OF_FORMAT_SOURCE.get(chosen or "", FormatReason.NOT_RECORDED)
