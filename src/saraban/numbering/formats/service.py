"""
Number formats: read by administrators, changed by those who run the project (REQ-NUM-16), each change kept in the audit. What one
would do shows before it is saved: the next numbers of the series that count now, and whose numbers it could print.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.db import violates_constraint
from saraban.kit.errors import DomainError, NotFound, invalid
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering.formats import repository
from saraban.numbering.formats.domain import (
    SHIPPED,
    FormatDraft,
    FormatInUse,
    FormatStale,
    FormatTarget,
    PrintRule,
    SeriesPrinter,
    TemplateShape,
    can_collide,
    checked_template,
)
from saraban.numbering.formats.schemas import FormatChange, FormatExampleOut, FormatVersionOut
from saraban.numbering.issue.repository import insert_audit
from saraban.numbering.issue.service.number_plan import free_sequences
from saraban.numbering.issue.service.number_request import (
    DRAWING_CATEGORIES,
    FIRST_REVISION,
    forget_resolutions,
    not_of_type,
)
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.counter import (
    Period,
    PrintedCodes,
    SequenceExhausted,
    SeriesKey,
    token_values,
)
from saraban.numbering.series.domain.states import DRAWING, OperationCode, OverflowRule, register_of, series_in
from saraban.numbering.series.domain.template import (
    FALLBACK,
    FormatKey,
    Narrowing,
    Template,
    matching_format_keys,
    stored_template,
)
from saraban.numbering.series.models import FormatRow, NumberFormat
from saraban.numbering.series.repository import counter_or_new, raise_versions
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef, TypeRef

_CODES = ("subTypeCode", "rfaTypeCode", "disciplineCode")
VIEW, MANAGE = "numbering.view_formats", "numbering.manage_formats"
RFA = "RFA"


async def versions_of(session: AsyncSession, saved: NumberFormat) -> list[FormatVersionOut]:
    """Return every version of a format, newest first; there is always one."""
    rows = await repository.format_audits(session, saved)
    found = [_version(audit.new_value, audit.created_at, audit.reason, username) for audit, username in rows]
    if not rows:
        return [_version(facts_of(saved), saved.updated_at)]
    oldest = rows[-1][0]
    if oldest.old_value is not None:
        found.append(_version(oldest.old_value, saved.created_at))
    return found


def facts_of(saved: NumberFormat) -> str:
    return orjson.dumps(
        {
            **{name: code for name, code in zip(_CODES, saved.narrowing, strict=True) if code},
            "template": saved.format_template,
            "description": saved.description,
            "resetSequenceYearly": saved.reset_sequence_yearly,
            "overflow": saved.overflow,
            "version": saved.version,
        }
    ).decode()


def _version(
    facts: str | None, at: datetime, reason: str | None = None, username: str | None = None
) -> FormatVersionOut:
    recorded = orjson.loads(facts or "{}")
    return FormatVersionOut(
        version=recorded.get("version", 0),
        template=recorded.get("template", ""),
        reset_sequence_yearly=recorded.get("resetSequenceYearly", False),
        overflow=recorded.get("overflow", OverflowRule.WIDEN),
        reason=reason,
        username=username,
        at=at,
    )


async def list_formats(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID | None, cursor: str | None, limit: int
) -> Page[FormatRow]:
    """List the formats of one project, or of every project whose formats the caller may read."""
    visible: list[int] | None = None
    if project_public_id is not None:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(VIEW, await projects.own_scope(ctx, session, project.id))
        visible = [project.id]
    elif not ctx.caller.may(VIEW, Scope()):
        found = await projects.projects_of(ctx, session)
        visible = [ref.id for ref in found if ctx.caller.may(VIEW, await projects.own_scope(ctx, session, ref.id))]
    return await repository.formats_page(session, project_ids=visible, cursor=cursor, limit=limit)


async def read_format(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> FormatRow:
    """:raises NotFound: when there is none, or the caller may not read that project's formats"""
    row = await repository.format_by_public_id(session, public_id)
    if row is None or not ctx.caller.may(VIEW, await projects.own_scope(ctx, session, row.project_id)):
        raise NotFound
    return row


async def resolve_target(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget
) -> tuple[ProjectRef, TypeRef | None, FormatKey]:
    """
    Return the project and the type that a format is to be for, and its key; no type for the project's default.

    :raises Forbidden: when the caller does not manage the project's formats
    :raises Invalid: for a type, or a code that it is narrowed to, that the project does not have
    """
    project = await projects.find_project(session, public_id=target.project_public_id, pointer="/projectPublicId")
    ctx.caller.require(MANAGE, Scope(project=project.id))
    narrowing = Narrowing(*map(fold, target.narrowing))
    if target.type_code is None:
        if any(narrowing):
            raise invalid(
                "/correspondenceTypeCode",
                "required",
                "รูปแบบที่ใช้เฉพาะบางเอกสารต้องระบุประเภทเอกสาร",
                "A format for some documents only requires a document type.",
            )
        return project, None, FormatKey()
    kind = await projects.find_type(session, code=target.type_code, pointer="/correspondenceTypeCode")
    if narrowing.rfa_type and kind.code != RFA:
        raise not_of_type("/rfaTypeCode", kind.code)
    await projects.require_codes(session, project=project, type_id=kind.id, **narrowing._asdict())
    return project, kind, FormatKey(kind.id, narrowing)


def narrowed_columns(narrowing: Narrowing) -> dict[str, str]:
    return {f"{name}_code": code for name, code in narrowing._asdict().items()}


async def save_format(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget, wanted: FormatDraft
) -> FormatRow:
    """
    Create or replace a format.

    :raises Invalid: naming the field, also for a code that no contract of the project has
    """
    project, kind, key = await resolve_target(ctx, session, target)
    template = checked_template(wanted, drawing=target.type_code == DRAWING)
    row = await repository.format_of(session, project_id=project.id, key=key)
    if row is None:
        fresh = NumberFormat(
            public_id=new_id(),
            project_id=project.id,
            correspondence_type_id=kind.id if kind else None,
            **narrowed_columns(key.narrowing),
            version=0,
            created_at=ctx.now,
            format_template="",
        )
        session.add(fresh)
        row = FormatRow(fresh, project.id, project.public_id, project.code, target.type_code)
    elif not wanted.reason:
        raise invalid("/reason", "required", "ระบุเหตุผลที่เปลี่ยนรูปแบบ", "Give a reason for the change.")
    else:
        await _hold(session, row)
    await _write(ctx, session, row, template, wanted)
    return row


async def change_format(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, version: int | None, changes: FormatChange
) -> FormatRow:
    """
    Change one format.

    :param version: of `If-Match`; None overwrites whatever is there
    :raises FormatStale: when `version` is no longer the current one
    """
    row = await read_format(ctx, session, public_id=public_id)
    ctx.caller.require(MANAGE, Scope(project=row.project_id))
    await _hold(session, row)
    if version is not None and version != row.format.version:
        raise FormatStale
    old, stated = row.format, changes.model_fields_set
    wanted = FormatDraft(
        template=changes.template or old.format_template,
        description=changes.description if "description" in stated else old.description,
        resets=changes.reset_sequence_yearly if "reset_sequence_yearly" in stated else _resets_still(old),
        overflow=changes.overflow or OverflowRule(old.overflow),
        reason=changes.reason,
    )
    template = checked_template(wanted, drawing=row.type_code == DRAWING)
    await _write(ctx, session, row, template, wanted)
    return row


async def _hold(session: AsyncSession, row: FormatRow) -> None:
    """Of two who change a format at the same time the second must see what the first made of it."""
    if not await repository.lock_format(session, row.format):
        raise NotFound


def _resets_still(old: NumberFormat) -> bool | None:
    """What counts on although the period is printed goes on doing so; otherwise a new template decides."""
    counts_on = not old.reset_sequence_yearly and stored_template(old.format_template).prints_period
    return False if counts_on else None


async def delete_format(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> None:
    """
    Delete a format that has printed no number in any of its versions; the audit keeps them.

    :raises FormatInUse: naming a number that it has printed
    """
    row = await read_format(ctx, session, public_id=public_id)
    ctx.caller.require(MANAGE, Scope(project=row.project_id))
    await _hold(session, row)
    templates = {row.format.format_template} | {one.template for one in await versions_of(session, row.format)}
    printed = await repository.number_issued_with(session, row.format, templates)
    if printed is not None:
        raise FormatInUse(values={"number": printed})
    await _note(ctx, session, row, facts_of(row.format), None, reason)
    await session.delete(row.format)
    await session.flush()


async def format_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> list[FormatVersionOut]:
    """
    Return what a format was, newest first, with who changed it and why.

    :raises NotFound: when there is none, or the caller may not read that project's formats
    """
    row = await read_format(ctx, session, public_id=public_id)
    return await versions_of(session, row.format)


async def _write(
    ctx: RequestContext, session: AsyncSession, row: FormatRow, template: Template, wanted: FormatDraft
) -> None:
    before = facts_of(row.format) if row.format.version else None
    row.format.format_template = template.text
    row.format.description = wanted.description
    row.format.reset_sequence_yearly = template.prints_period if wanted.resets is None else wanted.resets
    row.format.overflow = wanted.overflow
    row.format.version += 1
    row.format.updated_at = ctx.now
    try:
        await session.flush()
    except IntegrityError as error:
        if violates_constraint(error, "unique_format", "document_number_formats.project_id"):
            raise FormatStale from error  # somebody saved the first format of this type a moment earlier
        raise
    await _note(ctx, session, row, before, facts_of(row.format), wanted.reason)


async def _note(
    ctx: RequestContext, session: AsyncSession, row: FormatRow, old: str | None, new: str | None, reason: str | None
) -> None:
    """Keep the change in the audit, and have every allocator look again."""
    await raise_versions(session, project_id=row.project_id)
    forget_resolutions(session)
    await insert_audit(
        ctx,
        session,
        OperationCode.FORMAT_CHANGE,
        {
            "project_id": row.project_id,
            "format_uuid": row.format.public_id,
            "document_type": row.type_code,
            "template_used": row.format.format_template,
            "old_value": old,
            "new_value": new,
            "reason": reason,
        },
    )


async def default_formats(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> int:
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    made = 0
    for code, (template, description) in SHIPPED.items():
        kind = await projects.find_type(session, code=code, pointer="/correspondenceTypeCode") if code else None
        key = FormatKey(kind.id if kind else 0)
        if await repository.format_of(session, project_id=project.id, key=key) is not None:
            continue
        wanted = FormatDraft(template=template, description=description, reason="รูปแบบที่มากับระบบ / Shipped default")
        await save_format(replace(ctx, address=""), session, FormatTarget(project_public_id, code), wanted)
        made += 1
    return made


NEXT = 3
EXAMPLES = 5
_LOOKED_AT = 100  # counters, for examples that the format would number


@dataclass(frozen=True, slots=True)
class FormatEffect:
    """:param meets: formats of the project that could print the same number as the new one"""

    template: Template
    resets: bool
    examples: list[FormatExampleOut]
    meets: list[FormatRow]


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
    new = PrintRule(template, resets, wanted.overflow == OverflowRule.REFUSE)
    examples = [
        await _example(ctx, session, project.id, codes, _in_force(saved, fitting), new)
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
    ctx: RequestContext, session: AsyncSession, project_id: int, codes: PrintedCodes, old: PrintRule, new: PrintRule
) -> FormatExampleOut:
    values, register = token_values(codes, period=Period.of(ctx.now, ctx.zone)), register_of(codes.type)
    try:
        before = (await _next(session, project_id, values, old, register)).after
    except DomainError:
        before = []  # the format in force refuses these parties already
    try:
        example = await _next(session, project_id, values, new, register)
    except DomainError as error:
        faults = [fault.text.say(ctx.language, fault.values) for fault in error.fields]
        refusal = " ".join(faults) or error.words.say(ctx.language, error.values)
        return FormatExampleOut(before=before, after=[], series="", last_number=0, stepped_over=0, refusal=refusal)
    return example.model_copy(update={"before": before})


async def _next(
    session: AsyncSession, project_id: int, values: dict[str, str], how: PrintRule, register: str
) -> FormatExampleOut:
    series = series_in(register, how.template.series(values, resets=how.resets))
    printer = SeriesPrinter(how.template, values, FIRST_REVISION)
    key = SeriesKey(project_id, series, 0)
    state = await counter_or_new(session, key)
    free = await free_sequences(
        session, key, state, number=printer.number, base=printer.base, count=NEXT, register=register
    )
    if how.refuses and how.template.overflows(free[-1]):
        raise SequenceExhausted
    closed = sum(one.last - one.first + 1 for one in state.closed if one.first <= free[-1])
    over = max(free[-1] - state.last_number - NEXT - closed, 0)
    numbers = [printer.number(sequence) for sequence in free]
    return FormatExampleOut(before=[], after=numbers, series=series, last_number=state.last_number, stepped_over=over)


async def colliding_formats(session: AsyncSession, row: FormatRow) -> list[FormatRow]:
    others = [
        other
        for other in await repository.formats_of_project(session, row.project_id)
        if other.format.public_id != row.format.public_id and _counts_apart(other.format, row.format)
    ]
    if not others:
        return []
    codes = await _codes(session, row)
    numbers = await projects.sub_type_numbers(session, project_id=row.project_id)
    mine, *theirs = [
        TemplateShape.of(
            stored_template(one.format.format_template), (one.type_code, one.format.narrowing), codes, numbers
        )
        for one in (row, *others)
    ]
    return [other for other, shape in zip(others, theirs, strict=True) if can_collide(mine, shape)]


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
