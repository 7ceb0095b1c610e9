"""Number formats: reads, audited changes (REQ-NUM-16), previews."""

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


async def versions_of(session: AsyncSession, number_format: NumberFormat) -> list[FormatVersionOut]:
    """Newest first, at least one."""
    rows = await repository.format_audits(session, number_format)
    versions = [_version(audit.new_value, audit.created_at, audit.reason, username) for audit, username in rows]
    if not rows:
        return [_version(facts_of(number_format), number_format.updated_at)]
    oldest = rows[-1][0]
    if oldest.old_value is not None:
        versions.append(_version(oldest.old_value, number_format.created_at))
    return versions


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
    visible: list[int] | None = None
    if project_public_id is not None:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(VIEW, await projects.own_scope(ctx, session, project.id))
        visible = [project.id]
    elif not ctx.caller.may(VIEW, Scope()):
        project_refs = await projects.projects_of(ctx, session)
        visible = [
            ref.id for ref in project_refs if ctx.caller.may(VIEW, await projects.own_scope(ctx, session, ref.id))
        ]
    return await repository.formats_page(session, project_ids=visible, cursor=cursor, limit=limit)


async def read_format(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> FormatRow:
    """:raises NotFound: also when the caller may not read that project's formats"""
    row = await repository.format_by_public_id(session, public_id)
    if row is None or not ctx.caller.may(VIEW, await projects.own_scope(ctx, session, row.project_id)):
        raise NotFound
    return row


async def resolve_target(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget
) -> tuple[ProjectRef, TypeRef | None, FormatKey]:
    """
    Return project, type (None for the project's default) and key.

    :raises Forbidden: when the caller does not manage the project's formats
    :raises Invalid: for a type or a code that the project does not have
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
    document_type = await projects.find_type(session, code=target.type_code, pointer="/correspondenceTypeCode")
    if narrowing.rfa_type and document_type.code != RFA:
        raise not_of_type("/rfaTypeCode", document_type.code)
    await projects.require_codes(session, project=project, type_id=document_type.id, **narrowing._asdict())
    return project, document_type, FormatKey(document_type.id, narrowing)


def narrowed_columns(narrowing: Narrowing) -> dict[str, str]:
    return {f"{name}_code": code for name, code in narrowing._asdict().items()}


async def save_format(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget, wanted: FormatDraft
) -> FormatRow:
    """:raises Invalid: naming the field, also for a code that no contract of the project has"""
    project, document_type, key = await resolve_target(ctx, session, target)
    template = checked_template(wanted, drawing=target.type_code == DRAWING)
    row = await repository.format_of(session, project_id=project.id, key=key)
    if row is None:
        number_format = NumberFormat(
            public_id=new_id(),
            project_id=project.id,
            correspondence_type_id=document_type.id if document_type else None,
            **narrowed_columns(key.narrowing),
            version=0,
            created_at=ctx.now,
            format_template="",
        )
        session.add(number_format)
        row = FormatRow(number_format, project.id, project.public_id, project.code, target.type_code)
    elif not wanted.reason:
        raise invalid("/reason", "required", "ระบุเหตุผลที่เปลี่ยนรูปแบบ", "Give a reason for the change.")
    else:
        await _lock(session, row)
    await _apply_draft(ctx, session, row, template, wanted)
    return row


async def change_format(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, version: int | None, changes: FormatChange
) -> FormatRow:
    """
    :param version: of `If-Match`; None overwrites any version
    :raises FormatStale: when `version` is no longer the current one
    """
    row = await read_format(ctx, session, public_id=public_id)
    ctx.caller.require(MANAGE, Scope(project=row.project_id))
    await _lock(session, row)
    if version is not None and version != row.format.version:
        raise FormatStale
    old, stated = row.format, changes.model_fields_set
    wanted = FormatDraft(
        template=changes.template or old.format_template,
        description=changes.description if "description" in stated else old.description,
        resets=changes.reset_sequence_yearly if "reset_sequence_yearly" in stated else _keep_continuous(old),
        overflow=changes.overflow or OverflowRule(old.overflow),
        reason=changes.reason,
    )
    template = checked_template(wanted, drawing=row.type_code == DRAWING)
    await _apply_draft(ctx, session, row, template, wanted)
    return row


async def _lock(session: AsyncSession, row: FormatRow) -> None:
    if not await repository.lock_format(session, row.format):
        raise NotFound


def _keep_continuous(old: NumberFormat) -> bool | None:
    """False keeps continuous numbering; None lets the template decide."""
    is_continuous = not old.reset_sequence_yearly and stored_template(old.format_template).prints_period
    return False if is_continuous else None


async def delete_format(ctx: RequestContext, session: AsyncSession, *, public_id: UUID, reason: str) -> None:
    """:raises FormatInUse: naming a number that it has printed in any version"""
    row = await read_format(ctx, session, public_id=public_id)
    ctx.caller.require(MANAGE, Scope(project=row.project_id))
    await _lock(session, row)
    templates = {row.format.format_template} | {version.template for version in await versions_of(session, row.format)}
    printed = await repository.number_issued_with(session, row.format, templates)
    if printed is not None:
        raise FormatInUse(values={"number": printed})
    await _record_change(ctx, session, row, facts_of(row.format), None, reason)
    await session.delete(row.format)
    await session.flush()


async def format_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> list[FormatVersionOut]:
    """:raises NotFound: also when the caller may not read that project's formats"""
    row = await read_format(ctx, session, public_id=public_id)
    return await versions_of(session, row.format)


async def _apply_draft(
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
            raise FormatStale from error  # another user has just created the first format of this type
        raise
    await _record_change(ctx, session, row, before, facts_of(row.format), wanted.reason)


async def _record_change(
    ctx: RequestContext, session: AsyncSession, row: FormatRow, old: str | None, new: str | None, reason: str | None
) -> None:
    """Also make every allocator read the formats again."""
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
    count = 0
    for code, (template, description) in SHIPPED.items():
        document_type = (
            await projects.find_type(session, code=code, pointer="/correspondenceTypeCode") if code else None
        )
        key = FormatKey(document_type.id if document_type else 0)
        if await repository.format_of(session, project_id=project.id, key=key) is not None:
            continue
        draft = FormatDraft(template=template, description=description, reason="รูปแบบที่มากับระบบ / Shipped default")
        await save_format(replace(ctx, address=""), session, FormatTarget(project_public_id, code), draft)
        count += 1
    return count


NEXT = 3
EXAMPLES = 5
_MOST_COUNTERS = 100  # to examine for examples


@dataclass(frozen=True, slots=True)
class FormatEffect:
    """:param meets: formats of the project that could print the same number"""

    template: Template
    resets: bool
    examples: list[FormatExampleOut]
    meets: list[FormatRow]


async def format_effect(
    ctx: RequestContext, session: AsyncSession, target: FormatTarget, wanted: FormatDraft
) -> FormatEffect:
    """:raises Invalid: as `save_format`; nothing is saved"""
    project, document_type, key = await resolve_target(ctx, session, target)
    template = checked_template(wanted, drawing=target.type_code == DRAWING)
    resets = template.prints_period if wanted.resets is None else wanted.resets
    saved = {row.format.key: row.format for row in await repository.formats_of_project(session, project.id)}
    old = saved.get(key)
    new = PrintRule(template, resets, wanted.overflow == OverflowRule.REFUSE)
    examples = [
        await _preview_example(ctx, session, project.id, codes, _active_rule(saved, fitting), new)
        for fitting, codes in await _sample_codes(session, project, document_type, key, {*saved, key})
    ]
    number_format = NumberFormat(
        public_id=old.public_id if old else new_id(),
        correspondence_type_id=document_type.id if document_type else None,
        **narrowed_columns(key.narrowing),
        format_template=template.text,
        reset_sequence_yearly=resets,
    )
    row = FormatRow(number_format, project.id, project.public_id, project.code, target.type_code)
    return FormatEffect(template, resets, examples, await colliding_formats(session, row))


def _active_rule(saved: Mapping[FormatKey, NumberFormat], keys: Sequence[FormatKey]) -> PrintRule:
    number_format = next((saved[key] for key in keys if key in saved), None)
    if number_format is None:
        return PrintRule(stored_template(FALLBACK), resets=True, refuses=False)
    return PrintRule(
        stored_template(number_format.format_template),
        number_format.reset_sequence_yearly,
        number_format.overflow == OverflowRule.REFUSE,
    )


async def _sample_codes(
    session: AsyncSession,
    project: projects.ProjectRef,
    document_type: projects.TypeRef | None,
    key: FormatKey,
    keys: Collection[FormatKey],
) -> list[tuple[Sequence[FormatKey], PrintedCodes]]:
    """Codes of recent counters that this format numbers, else of any two organizations."""
    recent = await repository.recent_series(session, project_id=project.id, key=key, limit=_MOST_COUNTERS)
    candidates = [(matching_format_keys(type_id, document), codes) for type_id, document, codes in recent]
    samples = [candidate for candidate in candidates if next(fits for fits in candidate[0] if fits in keys) == key][
        :EXAMPLES
    ]
    printable = await projects.printable_codes(session, project_id=project.id)
    organizations = sorted(printable.organizations)
    if not samples:
        numbers = await _sub_type_numbers(session, project, document_type, key) or printable.sub_type_numbers
        codes = PrintedCodes(
            project=project.code,
            originator=organizations[0] if organizations else "",
            type=document_type.code if document_type else "LETTER",
            recipient=organizations[-1] if organizations else "",
            sub_type_number=min(numbers, default=""),
            rfa_type=key.narrowing.rfa_type or min(printable.rfa_types, default=""),
            discipline=key.narrowing.discipline,
        )
        samples = [(matching_format_keys(key.type_id, key.narrowing), codes)]
    return [(fits, _complete_codes(codes, organizations)) for fits, codes in samples]


async def _sub_type_numbers(
    session: AsyncSession, project: projects.ProjectRef, document_type: projects.TypeRef | None, key: FormatKey
) -> frozenset[str]:
    if document_type is None or not key.narrowing.sub_type:
        return frozenset()
    numbers = await projects.sub_type_numbers(session, project_id=project.id)
    return numbers.get((document_type.code, key.narrowing.sub_type), frozenset())


def _complete_codes(codes: PrintedCodes, organizations: list[str]) -> PrintedCodes:
    """Counters of RFAs have no recipient, those of drawings no category."""
    if codes.type == DRAWING:
        return replace(codes, category=min(DRAWING_CATEGORIES))
    if codes.type == RFA and not codes.recipient:
        return replace(
            codes,
            recipient=next((organization for organization in organizations if organization != codes.originator), ""),
        )
    return codes


async def _preview_example(
    ctx: RequestContext, session: AsyncSession, project_id: int, codes: PrintedCodes, old: PrintRule, new: PrintRule
) -> FormatExampleOut:
    values, register = token_values(codes, period=Period.of(ctx.now, ctx.zone)), register_of(codes.type)
    try:
        before = (await _next_numbers(session, project_id, values, old, register)).after
    except DomainError:
        before = []  # the active format refuses these codes too
    try:
        example = await _next_numbers(session, project_id, values, new, register)
    except DomainError as error:
        faults = [fault.text.say(ctx.language, fault.values) for fault in error.fields]
        refusal = " ".join(faults) or error.words.say(ctx.language, error.values)
        return FormatExampleOut(before=before, after=[], series="", last_number=0, stepped_over=0, refusal=refusal)
    return example.model_copy(update={"before": before})


async def _next_numbers(
    session: AsyncSession, project_id: int, values: dict[str, str], rule: PrintRule, register: str
) -> FormatExampleOut:
    series = series_in(register, rule.template.series(values, resets=rule.resets))
    printer = SeriesPrinter(rule.template, values, FIRST_REVISION)
    key = SeriesKey(project_id, series, 0)
    state = await counter_or_new(session, key)
    free = await free_sequences(
        session, key, state, number=printer.number, base=printer.base, count=NEXT, register=register
    )
    if rule.refuses and rule.template.overflows(free[-1]):
        raise SequenceExhausted
    closed = sum(
        closed_range.last - closed_range.first + 1 for closed_range in state.closed if closed_range.first <= free[-1]
    )
    skipped = max(free[-1] - state.last_number - NEXT - closed, 0)
    numbers = [printer.number(sequence) for sequence in free]
    return FormatExampleOut(
        before=[], after=numbers, series=series, last_number=state.last_number, stepped_over=skipped
    )


async def colliding_formats(session: AsyncSession, row: FormatRow) -> list[FormatRow]:
    others = [
        other
        for other in await repository.formats_of_project(session, row.project_id)
        if other.format.public_id != row.format.public_id and _have_separate_series(other.format, row.format)
    ]
    if not others:
        return []
    codes = await _printable_codes(session, row)
    numbers = await projects.sub_type_numbers(session, project_id=row.project_id)
    own_shape, *other_shapes = [
        TemplateShape.of(
            stored_template(format_row.format.format_template),
            (format_row.type_code, format_row.format.narrowing),
            codes,
            numbers,
        )
        for format_row in (row, *others)
    ]
    return [other for other, shape in zip(others, other_shapes, strict=True) if can_collide(own_shape, shape)]


def _have_separate_series(left: NumberFormat, right: NumberFormat) -> bool:
    """Formats of the same text and reset share their series and cannot collide."""
    return (left.format_template, left.reset_sequence_yearly) != (right.format_template, right.reset_sequence_yearly)


async def _printable_codes(session: AsyncSession, row: FormatRow) -> dict[str, frozenset[str]]:
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
