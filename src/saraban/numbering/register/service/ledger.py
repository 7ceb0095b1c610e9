"""The number register: series, ledgers, search, histories."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.db import database_now
from saraban.kit.errors import NotFound
from saraban.kit.pagination import Page, decode_cursor, encode_cursor, list_mark, malformed_cursor
from saraban.kit.text import fold
from saraban.numbering.issue.domain import NumberActor, required_state
from saraban.numbering.issue.repository import (
    by_printed_number,
    by_public_id,
    held_by,
    project_and_type_of,
    recorded_issue,
)
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.lifecycle import VIEW_COUNTERS, issued_in, may_see
from saraban.numbering.issue.service.monitoring import SeriesUtilization
from saraban.numbering.issue.service.number_plan import FormatChoice, format_choice
from saraban.numbering.issue.service.number_request import OVERRIDE, NumberRequest
from saraban.numbering.register.domain import (
    Gap,
    GapReason,
    LedgerLine,
    NumberRow,
    ledger_lines,
)
from saraban.numbering.register.repository import ledger, search
from saraban.numbering.register.repository.ledger import RegisterPlace
from saraban.numbering.register.schemas import FoundNumberOut, SeriesOut
from saraban.numbering.series.domain.counter import LARGEST, SequenceRange
from saraban.numbering.series.domain.states import DOCUMENTS, NumberState
from saraban.numbering.series.domain.template import Template, TemplateInvalid
from saraban.numbering.series.domain.tokens import RFA_TYPE
from saraban.numbering.series.models import LedgerEntry, NumberOperation, NumberRendering
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef

_IN_USE = timedelta(days=60)
_MOST_MEASURED = 200
_MOST_REPORTED = 20


@dataclass(frozen=True, slots=True)
class SeriesLedger:
    project_code: str
    series: str
    counter: int
    lines: list[LedgerLine[NumberRow]]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class ViewedRegister:
    project: ProjectRef
    place: RegisterPlace


async def viewed_register(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> ViewedRegister:
    """:raises Forbidden: when the caller may see the counters of neither the project nor an organization"""
    project = await projects.find_project(session, public_id=public_id, pointer="query:projectPublicId")
    caller = ctx.caller
    if caller.may(VIEW_COUNTERS, Scope(project=project.id)):
        return ViewedRegister(project, RegisterPlace(project.id))
    organizations = frozenset(
        organization
        for organization in (await projects.own_scope(ctx, session, project.id)).organizations
        if caller.may(VIEW_COUNTERS, Scope(organizations=frozenset({organization})))
    )
    if not organizations:
        caller.require(VIEW_COUNTERS, Scope(project=project.id))
    return ViewedRegister(project, RegisterPlace(project.id, organizations))


async def list_series(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[SeriesOut]:
    """
    A caller limited to organizations gets the series begun for them or containing their numbers.

    :raises Forbidden: when the caller may see the counters of neither the project nor an organization
    """
    viewed = await viewed_register(ctx, session, project_public_id)
    text = fold(text) if text else None
    mark = list_mark("series", str(project_public_id), text or "")
    after = decode_cursor(cursor, mark, str)[0] if cursor else None
    rows = await search.series_page(session, viewed.place, text=text, after=after, limit=limit + 1)
    has_more = len(rows) > limit
    return Page(list(rows[:limit]), encode_cursor(mark, rows[limit - 1].series) if has_more else None)


async def series_printing(
    session: AsyncSession, *, columns: Sequence[str], texts: Mapping[int, str]
) -> list[tuple[str, str, int]]:
    """
    :param columns: of the counters, that refer to the rows
    :param texts: printed text by key of the row
    """
    rows = await search.series_of(session, columns=columns, keys=texts)
    return [
        (project, series, last)
        for project, series, last, *keys in rows
        if any(key in texts and texts[key] in series for key in keys)
    ]


async def search_numbers(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, text: str, limit: int = 20
) -> list[FoundNumberOut]:
    """
    Match any part of any form, also of former revisions and replaced numbers.

    :raises Forbidden: as `list_series`; a caller limited to organizations finds only their numbers
    """
    viewed = await viewed_register(ctx, session, project_public_id)
    part = fold(text).strip()
    numbers = []
    for row in await search.find_numbers(session, viewed.place, text=part, limit=limit) if part else ():
        last = await _find_replacement(ctx, session, row.replaced_by_uuid) if row.replaced_by_uuid else None
        number = FoundNumberOut.from_object(
            row,
            status=row.document_number_status,
            current_number=last.document_number if last else row.document_number,
            document_kind=row.holder_kind,
            document_public_id=row.holder_public_id,
        )
        numbers.append(number)
    return numbers


async def series_ledger(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    series: str,
    first: int = 1,
    cursor: str | None = None,
    limit: int = 50,
) -> SeriesLedger:
    """
    :param first: the first sequence, without a cursor
    :param limit: numbers on a page; gaps do not count
    :raises NotFound: for an empty series, and for one that the caller may not see
    :raises Forbidden: when the caller may see the counters of neither the project nor an organization
    """
    viewed = await viewed_register(ctx, session, project_public_id)
    project, organizations = viewed.project, viewed.place.organizations
    series = fold(series)
    mark = list_mark("ledger", str(project_public_id), series)
    after = decode_cursor(cursor, mark, int)[0] if cursor else first - 1
    if after > LARGEST:
        raise malformed_cursor()
    counter = await ledger.main_counter(session, project_id=project.id, series=series)
    begun_for = (
        counter.originator if counter else await ledger.first_originator(session, project_id=project.id, series=series)
    )
    is_visible = organizations is None or begun_for in organizations
    if begun_for is None or not (is_visible or await ledger.has_number_in(session, viewed.place, series)):
        raise NotFound("There is no such series.")
    last = counter.last_number if counter else 0
    ranges = await ledger.ranges_of(session, project_id=project.id, series=series)
    rows = await ledger.numbers_page(session, viewed.place, series=series, ranges=ranges, after=after, limit=limit + 1)
    has_more = len(rows) > limit
    if has_more:
        rows = _complete_sequences(rows[:limit], following=rows[limit])
    gaps, _ = await ledger.gaps_of(
        session,
        project_id=project.id,
        series=series,
        within=SequenceRange(after + 1, rows[-1].sequence if has_more else LARGEST),
        organizations=organizations,
    )
    lines = [
        _redact_line(organizations, line)
        for line in ledger_lines(rows, after=after, counter=last, gaps=gaps, upto=0 if has_more else None)
    ]
    return SeriesLedger(project.code, series, last, lines, encode_cursor(mark, rows[-1].sequence) if has_more else None)


def _redact_line(organizations: Collection[int] | None, line: LedgerLine[NumberRow]) -> LedgerLine[NumberRow]:
    if line.entry is None or organizations is None or line.entry.originator in organizations:
        return line
    return replace(line, entry=None, gap=Gap(SequenceRange(line.first, line.last), GapReason.OTHER_ORGANIZATION))


def _complete_sequences(rows: Sequence[NumberRow], *, following: NumberRow) -> Sequence[NumberRow]:
    """Two widths can print one sequence twice; keep both on a page."""
    complete_rows = [row for row in rows if row.sequence != following.sequence]
    return complete_rows or rows


async def measure_utilization(session: AsyncSession, *, now: datetime) -> Sequence[SeriesUtilization]:
    rows = await ledger.fullest_series(session, since=now - _IN_USE, most=_MOST_MEASURED)
    utilizations = [
        SeriesUtilization(project, series, last / (10**width - 1))
        for project, series, last, template in rows
        if (width := _width(template))
    ]
    monitoring.UTILIZATION.series = sorted(utilizations, key=lambda utilization: utilization.ratio, reverse=True)[
        :_MOST_REPORTED
    ]
    return monitoring.UTILIZATION.series


def _width(template: str | None) -> int:
    """0 for a migrated number without a readable format."""
    try:
        return Template.parse(template or "", drawing=True).width
    except TemplateInvalid:
        return 0


async def audit_trail(session: AsyncSession, *, number: str) -> list[NumberOperation]:
    """:raises NotFound: when the number was never printed"""
    operations = await ledger.operations_of_number(session, fold(number))
    if not operations:
        raise NotFound(f"No document was ever numbered {number}.")
    return operations


async def holders_of_number(session: AsyncSession, *, number: str) -> frozenset[UUID]:
    return await ledger.holders_of_number(session, fold(number))


@dataclass(frozen=True, slots=True)
class NumberResolution:
    """`current` is the same as `asked` if the number was not replaced."""

    asked: LedgerEntry
    current: LedgerEntry


async def resolve_number(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, number: str, register: str = DOCUMENTS
) -> NumberResolution:
    """:raises NotFound: also when the caller neither administers the project nor is a party"""
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    entry = await by_printed_number(session, project_id=project.id, number=fold(number), register=register)
    if entry is None or not may_see(ctx, entry):
        raise NotFound("No such number is known here.")
    current = await _find_replacement(ctx, session, entry.replaced_by_uuid) if entry.replaced_by_uuid else None
    return NumberResolution(entry, current or entry)


async def _find_replacement(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> LedgerEntry | None:
    """Follow replacements as far as the caller may see them."""
    current, seen = None, set[UUID]()
    following: UUID | None = public_id
    while following is not None and following not in seen:
        seen.add(following)
        entry = await by_public_id(session, following)
        if entry is None or not may_see(ctx, entry):
            break
        current, following = entry, entry.replaced_by_uuid
    return current


async def rfa_type_of(session: AsyncSession, *, number: UUID) -> str | None:
    """None for other documents."""
    issued_for = await recorded_issue(session, number)
    if issued_for is not None:
        rfa_type = orjson.loads(issued_for[1]).get("rfaType")
        return str(rfa_type) if rfa_type else None
    entry = await by_public_id(session, number)
    return entry.format_values.get(RFA_TYPE) if entry else None


@dataclass(frozen=True, slots=True)
class NumberHistory:
    """
    :param neighbours: visible numbers that it replaces or is replaced by
    :param may_settle: the reader's own, unexpired reservation
    """

    entry: LedgerEntry
    format: FormatChoice
    project: UUID
    project_code: str
    type_code: str
    renderings: Sequence[NumberRendering]
    history: Sequence[NumberOperation]
    neighbours: Mapping[UUID, str]
    may_void: bool
    may_replace: bool
    may_settle: bool


async def number_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberHistory:
    """:raises NotFound: also without access to the project's counters or the number's originator"""
    entry = await by_public_id(session, public_id)
    if entry is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, project_code, type_code = await project_and_type_of(session, entry)
    links = (entry.replaces_uuid, entry.replaced_by_uuid)
    linked_entries = [await by_public_id(session, linked) for linked in links if linked is not None]
    may_void = _may_void(ctx.caller, entry)
    choice = await format_choice(session, public_id)
    assert choice is not None, "ledger rows are never deleted"
    return NumberHistory(
        entry=entry,
        format=choice,
        project=project,
        project_code=project_code,
        type_code=type_code,
        renderings=await ledger.renderings(session, entry),
        history=await ledger.operations_on(session, public_id),
        neighbours={
            linked.public_id: linked.document_number
            for linked in linked_entries
            if linked is not None and may_see(ctx, linked)
        },
        may_void=may_void,
        may_replace=may_void and await recorded_issue(session, public_id) is not None,
        may_settle=_may_settle(ctx.caller, entry, now=await database_now(session)),
    )


def _may_void(caller: Caller, entry: LedgerEntry) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.VOID, NumberActor.ADMINISTRATOR)
        and entry.holder_public_id is None
        and caller.may(OVERRIDE, issued_in(entry))
    )


def _may_settle(caller: Caller, entry: LedgerEntry, *, now: datetime) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.CONFIRMED, NumberActor.RESERVER)
        and entry.user_id == caller.user_id
        and entry.expires_at is not None
        and entry.expires_at > now
    )


async def request_like(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberRequest:
    """:raises NotFound: also for a number whose issue is not recorded"""
    entry = await by_public_id(session, public_id)
    issue = await recorded_issue(session, public_id)
    if entry is None or issue is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, _, type_code = await project_and_type_of(session, entry)
    detail = await projects.read_project(ctx, session, public_id=project)
    issued_for = orjson.loads(issue[1])
    organizations = {part.organization_code: part.public_id for part in detail.organizations}
    contracts = {part.contract_code: part.public_id for part in detail.contracts}
    if issued_for["originator"] not in organizations:
        raise NotFound("The organization that the number was issued for has left the project.")
    return NumberRequest(
        project_public_id=project,
        correspondence_type_code=type_code,
        originator_organization_public_id=organizations[issued_for["originator"]],
        recipient_organization_public_id=organizations.get(issued_for.get("recipient")),
        contract_public_id=contracts.get(issued_for.get("contract")),
        sub_type_code=issued_for.get("subType"),
        rfa_type_code=issued_for.get("rfaType"),
        discipline_code=issued_for.get("discipline"),
        category_code=issued_for.get("category"),
        revision=entry.revision_label if "{REV}" in entry.format_template else None,
        drawing_register=entry.register if entry.register != DOCUMENTS else None,
    )


async def number_of_holder(ctx: RequestContext, session: AsyncSession, *, holder: UUID) -> UUID | None:
    """None also when the caller may not read that number."""
    entry = await held_by(session, holder)
    return entry.public_id if entry is not None and may_see(ctx, entry) else None
