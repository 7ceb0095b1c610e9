"""
Everything that can be decided about a number before any lock is taken: whose it is, which format and why that one, which series.

Reads only. A plan is enough to issue the number without asking the database for a code again, and to preview it.
"""

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

# An RFA goes along its approval path and a sheet stays inside its organization: their counters have no recipient.
_WITHOUT_RECIPIENT = frozenset({"RFA", "CIRCULATION", DRAWING})
_ROWS = 1500  # what is left of the three rows when the texts are taken away
_BLOCK = 50


@dataclass(frozen=True, slots=True)
class PreparedTemplate:
    """
    A template made ready for one request: printing it part by part for every number would cost more than all the rest.

    :param width: least digits of the sequence
    :param around: what the number prints left and right of its sequence; `around_base` the same without `{REV}`
    """

    width: int
    around: tuple[str, str]
    around_base: tuple[str, str]

    @classmethod
    def of(cls, template: Template, values: Mapping[str, str], revision: str) -> "PreparedTemplate":
        """:raises NumberUnprintable: for a token without a value, and past 255 characters"""
        template.render(values, sequence=1, revision=revision)
        return cls(template.width, _around(template, values, revision), _around(template, values, ""))


def _around(template: Template, values: Mapping[str, str], revision: str) -> tuple[str, str]:
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
    A request resolved: the series it counts in and all that its number prints.

    :param format_keys: of the formats that fit, the best first
    :param format_mark: key and version of the format it was made with; None for the fallback
    :param narrowing: of the format
    :param codes_text: `codes` as the audit keeps them
    :param weight: bytes that its rows may take in a statement, generously
    :param stated_at: the moment that an administrator states for it; None for that of the request
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
        """Whether its format is still the one that counts."""
        saved = counter.formats
        return self.format_mark == next((saved[key] for key in self.format_keys if key in saved), None)

    def number(self, sequence: int) -> str:
        return self._join(sequence, self.printing.around)

    def base(self, sequence: int) -> str:
        return self._join(sequence, self.printing.around_base)

    def both(self, sequence: int) -> tuple[str, str]:
        """Return the number and its base: the same object where the format prints no revision."""
        number = self.number(sequence)
        same = self.printing.around == self.printing.around_base
        return number, number if same else self.base(sequence)

    def _join(self, sequence: int, around: tuple[str, str]) -> str:
        number = f"{around[0]}{str(sequence).zfill(self.printing.width)}{around[1]}"
        if len(number) > LONGEST_NUMBER:  # a widened sequence may be what makes it too long
            self.template.render(self.values, sequence=sequence, revision=self.revision)
        return number


async def plan(ctx: RequestContext, session: AsyncSession, request: NumberRequest) -> Plan:
    """
    Resolve a request for a number and check that the caller may make it (REQ-NUM-16).

    :param now: when the request arrived; it decides the year and serves every attempt (REQ-NUM-29)
    :raises Invalid: naming the field; nothing has been touched
    :raises Forbidden: when the caller may not create such a document
    :raises NotYourOrganization: when the caller does not act for the originator
    """
    check_codes(request)
    return _allowed(ctx, request, await resolve(session, request))


async def planner(ctx: RequestContext, session: AsyncSession, request: NumberRequest) -> Callable[[datetime], Plan]:
    """Return what plans the same request for any moment, with the format that is in force now."""
    check_codes(request)
    resolved = await resolve(session, request)
    return lambda at: _allowed(replace(ctx, now=at), request, resolved)


async def plan_apart(ctx: RequestContext, db: Database, request: NumberRequest) -> Plan:
    """
    Do what `plan` does for whoever has no session, and take a connection only where something must be read.

    :raises: what `plan` raises
    """
    check_codes(request)
    resolved = remembered_resolution(db, request)
    if resolved is None:
        async with db.reading() as session:
            resolved = await resolve(session, request)
    return _allowed(ctx, request, resolved)


def _allowed(ctx: RequestContext, request: NumberRequest, resolved: ResolvedRequest) -> Plan:
    check_permission(ctx, resolved.parties)
    check_recipient_type(request, resolved.parties.recipient)
    year = requested_year(ctx, request, resolved.parties)
    return _made(request, resolved, Period.of(ctx.now, ctx.zone, year=year))


async def replan(ctx: RequestContext, session: AsyncSession, old: Plan) -> Plan:
    """Plan the same request, of the same moment, with the format that is in force now."""
    resolved = await resolve(session, old.request, fresh=True)
    return _made(old.request, resolved, Period.of(ctx.now, ctx.zone, year=old.year))


def _made(request: NumberRequest, resolved: ResolvedRequest, period: Period) -> Plan:
    """Making one takes longer than writing its number in a batch does."""
    known = resolved.plans.get((request, period))
    if known is None:
        known = resolved.plans[request, period] = _made_anew(request, resolved, period)
    return known


def _made_anew(request: NumberRequest, resolved: ResolvedRequest, period: Period) -> Plan:
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
        # A number that cannot be printed is refused here, before any counter is touched.
        printing=PreparedTemplate.of(template, printed, revision),
        weight=_ROWS + 4 * (5 * LONGEST_NUMBER + 4 * len(codes_text) + len(request.year_reason or "")),
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
    """Return the counter key as the audit keeps it: codes that still mean something in twenty years."""
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
    """The number that would be issued now, if nobody else asks first."""

    number: str
    sequence: int


async def preview(session: AsyncSession, *, plan: Plan) -> NumberPreview:
    """
    Return the number that would be issued now; nothing is consumed.

    :raises SequenceExhausted: where issuing would be refused too
    """
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
    """Return the next sequences that are neither closed nor taken by whatever prints alike."""
    after, found = state.last_number, list[int]()
    while len(found) < count:
        candidates = list(islice(open_sequences(after, closed=state.closed), _BLOCK))
        names = await repository.taken_numbers(
            session,
            project_id=key.project_id,
            bases=[base(sequence) for sequence in candidates],
            numbers=[number(sequence) for sequence in candidates],
            register=register,
        )
        found += [one for one in candidates if base(one) not in names and number(one) not in names]
        after = candidates[-1]
    return found[:count]


_STATED: dict[str, FormatReason] = {
    NumberSource.OVERRIDE: FormatReason.STATED,
    NumberSource.IMPORT: FormatReason.IMPORTED,
}
_CHOSEN: dict[str, FormatReason] = {
    FormatSource.DEFAULT: FormatReason.DEFAULT,
    FormatSource.FALLBACK: FormatReason.FALLBACK,
}


@dataclass(frozen=True, slots=True)
class FormatChoice:
    """
    :param public_id: None for the system's fallback, and where it was not recorded
    :param narrowing: what that format is narrowed to
    """

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
        """:param codes: what the format is narrowed to"""
        narrowing = Narrowing(*(code or "" for code in codes))
        return cls(template, reason_of(source, chosen, narrowing), type_code, public_id, narrowing)

    @classmethod
    def of_plan(cls, plan: Plan) -> "FormatChoice":
        """The format that would number a document now."""
        reason = reason_of(NumberSource.DRAW, plan.source, plan.narrowing)
        return cls(plan.template.text, reason, plan.type.code, plan.format_public_id, plan.narrowing)


async def format_choice(session: AsyncSession, public_id: UUID) -> FormatChoice | None:
    """Give the format of a number of the ledger; None where there is no such number."""
    row = await repository.format_of_number(session, public_id)
    return None if row is None else FormatChoice.of_ledger(*row)


def reason_of(source: str, chosen: str | None, narrowing: Narrowing) -> FormatReason:
    """
    :param source: of the number: `DRAW`, `OVERRIDE`, `IMPORT`, `MIGRATED`
    :param chosen: `specific`, `default` or `fallback`; None where it was not kept
    """
    if source in _STATED:
        return _STATED[source]
    if chosen == FormatSource.SPECIFIC:
        return FormatReason.NARROWED if any(narrowing) else FormatReason.TYPE
    return _CHOSEN.get(chosen or "", FormatReason.NOT_RECORDED)
