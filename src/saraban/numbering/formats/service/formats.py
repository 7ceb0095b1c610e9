"""Number formats: read by administrators, changed by those who run the project (REQ-NUM-16), each change kept in the audit."""

from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import orjson
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext, Scope
from saraban.kit.db import violates_constraint
from saraban.kit.errors import DomainError, ErrorKind, Invalid, NotFound, Text, invalid
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page
from saraban.kit.text import fold
from saraban.numbering.formats import repository
from saraban.numbering.formats.domain import FormatChanges, FormatDraft, FormatTarget
from saraban.numbering.issue.repository import insert_audit
from saraban.numbering.issue.service.number_request import DRAWING, forget_resolutions, not_of_type
from saraban.numbering.series.domain.format_selection import FormatKey, Narrowing
from saraban.numbering.series.domain.states import OperationCode, OverflowRule
from saraban.numbering.series.domain.template import Template, stored_template
from saraban.numbering.series.models import FormatRow, NumberFormat
from saraban.numbering.series.repository import raise_versions
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef, TypeRef

_CODES = ("subTypeCode", "rfaTypeCode", "disciplineCode")
VIEW, MANAGE = "numbering.view_formats", "numbering.manage_formats"
RFA = "RFA"
SHIPPED: dict[str | None, tuple[str, str]] = {
    None: ("{ORIGINATOR}-{RECIPIENT}-{SEQ:4}-{YEAR:B.E.}", "หนังสือและเอกสารทั่วไป / Letters and everything else"),
    "TRANSMITTAL": ("{ORIGINATOR}-{RECIPIENT}-{SUB_TYPE}-{SEQ:4}-{YEAR:B.E.}", "ใบนำส่ง / Transmittals"),
    "RFA": ("{PROJECT}-{CORR_TYPE}-{DISCIPLINE}-{RFA_TYPE}-{SEQ:4}-{REV}", "ใบขออนุมัติ / Requests for approval"),
    "CIRCULATION": ("{ORIGINATOR}-CIR-{SEQ:4}-{YEAR:B.E.}", "ใบเวียนเอกสาร / Circulation sheets"),
    "DRAWING": ("{PROJECT}-{DISCIPLINE}-{CATEGORY}-{SEQ:4}-{REV}", "แบบก่อสร้าง / Drawings"),
}


@dataclass(frozen=True, slots=True)
class FormatVersion:
    """:param username: who made it; None for what stood there before changes were recorded"""

    version: int
    template: str
    reset_sequence_yearly: bool
    overflow: str
    reason: str | None
    username: str | None
    at: datetime


async def versions_of(session: AsyncSession, saved: NumberFormat) -> list[FormatVersion]:
    """Return every version of a format, newest first; there is always one."""
    rows = await repository.format_audits(session, saved)
    found = [
        _version(audit.new_value, reason=audit.reason, username=username, at=audit.created_at)
        for audit, username in rows
    ]
    if not rows:
        return [_version(facts_of(saved), reason=None, username=None, at=saved.updated_at)]
    oldest = rows[-1][0]
    if oldest.old_value is not None:
        found.append(_version(oldest.old_value, reason=None, username=None, at=saved.created_at))
    return found


def facts_of(saved: NumberFormat) -> str:
    """Return a format as the audit keeps it."""
    return orjson.dumps(
        {
            **{name: code for name, code in zip(_CODES, saved.narrowing, strict=True) if code},
            "template": saved.format_template,
            "resetSequenceYearly": saved.reset_sequence_yearly,
            "overflow": saved.overflow,
            "version": saved.version,
        }
    ).decode()


def _version(facts: str | None, *, reason: str | None, username: str | None, at: datetime) -> FormatVersion:
    recorded = orjson.loads(facts or "{}")
    return FormatVersion(
        version=recorded.get("version", 0),
        template=recorded.get("template", ""),
        reset_sequence_yearly=recorded.get("resetSequenceYearly", False),
        overflow=recorded.get("overflow", OverflowRule.WIDEN),
        reason=reason,
        username=username,
        at=at,
    )


class FormatStale(DomainError):
    """The format was changed by somebody else since it was read."""

    kind, code = ErrorKind.STALE, "NUMBER_FORMAT_STALE"
    says = Text("รูปแบบเลขที่ถูกแก้ไขโดยผู้อื่นแล้ว", "Somebody else has changed this number format.")
    recovery = (Text("รีเฟรชหน้าแล้วแก้ไขใหม่", "Refresh the page and make the change again."),)


class FormatInUse(DomainError):
    """Numbers were printed with the format; they could not be explained without it."""

    kind, code = ErrorKind.CONFLICT, "FORMAT_IN_USE"
    says = Text(
        "ลบรูปแบบนี้ไม่ได้ เพราะมีเลขที่ออกด้วยรูปแบบนี้แล้ว เช่น “{number}”",
        "Numbers were issued with this format, such as “{number}”, so it cannot be deleted.",
    )
    recovery = (Text("เปลี่ยนรูปแบบแทนการลบ", "Change the format instead."),)


async def list_formats(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID | None, cursor: str | None, limit: int
) -> Page[FormatRow]:
    """List the formats of one project, or of every project whose formats the caller may read."""
    if project_public_id is not None:
        project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
        ctx.caller.require(VIEW, Scope(project=project.id, organizations=ctx.caller.organization_ids))
        return await repository.formats_page(session, project_ids=[project.id], cursor=cursor, limit=limit)
    visible = await _readable_projects(ctx, session)
    return await repository.formats_page(session, project_ids=visible, cursor=cursor, limit=limit)


async def read_format(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> FormatRow:
    """
    :raises NotFound: when there is none, or the caller may not read that project's formats
    """
    row = await repository.format_by_public_id(session, public_id)
    if row is None or not ctx.caller.may(
        VIEW, Scope(project=row.project_id, organizations=ctx.caller.organization_ids)
    ):
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
            raise _type_missing()
        return project, None, FormatKey()
    kind = await projects.find_type(session, code=target.type_code, pointer="/correspondenceTypeCode")
    if narrowing.rfa_type and kind.code != RFA:
        raise not_of_type("/rfaTypeCode", kind.code)
    await projects.require_codes(session, project=project, type_id=kind.id, **narrowing._asdict())
    return project, kind, FormatKey(kind.id, narrowing)


def _type_missing() -> Invalid:
    return invalid(
        "/correspondenceTypeCode",
        "required",
        "รูปแบบที่ใช้เฉพาะบางเอกสารต้องระบุประเภทเอกสาร",
        "A format for some documents only requires a document type.",
    )


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
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, version: int | None, changes: FormatChanges
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
    old = row.format
    wanted = FormatDraft(
        template=changes.get("template") or old.format_template,
        description=changes.get("description", old.description),
        resets=changes.get("resets", _resets_still(old, changes)),
        overflow=changes.get("overflow") or OverflowRule(old.overflow),
        reason=changes.get("reason"),
    )
    template = checked_template(wanted, drawing=row.type_code == DRAWING)
    await _write(ctx, session, row, template, wanted)
    return row


async def _hold(session: AsyncSession, row: FormatRow) -> None:
    """Of two who change a format at the same time the second must see what the first made of it."""
    if not await repository.lock_format(session, row.format):
        raise NotFound


def _resets_still(old: NumberFormat, changes: FormatChanges) -> bool | None:
    """What counts on although the period is printed goes on doing so; otherwise a new template decides."""
    counts_on = not old.reset_sequence_yearly and stored_template(old.format_template).prints_period
    return None if "template" in changes and not counts_on else old.reset_sequence_yearly


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


async def format_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> list[FormatVersion]:
    """
    Return what a format was, newest first, with who changed it and why.

    :raises NotFound: when there is none, or the caller may not read that project's formats
    """
    row = await read_format(ctx, session, public_id=public_id)
    return await versions_of(session, row.format)


def checked_template(wanted: FormatDraft, *, drawing: bool) -> Template:
    """
    Read the wanted template.

    :raises TemplateInvalid: naming the position
    :raises Invalid: for a reset that would print the same numbers again
    """
    template = Template.parse(wanted.template, drawing=drawing)
    if wanted.resets and not template.prints_period:
        raise invalid(
            "/resetSequenceYearly",
            "no_period",
            "รูปแบบนี้ไม่มีปี เดือน หรือปีงบประมาณ จึงเริ่มนับใหม่ไม่ได้ (เลขเดิมจะซ้ำ)",
            "The format has no year, month or fiscal year, so restarting would repeat old numbers.",
        )
    if wanted.resets is not False and template.repeats_its_period:
        raise invalid(
            "/template",
            "month_without_year",
            "รูปแบบนี้มีเดือนโดยไม่มีปี เลขของเดือนเดียวกันในปีถัดไปจะซ้ำ ให้เพิ่มปี หรือให้นับต่อเนื่อง",
            "The format has the month without a year, so the same month of the next year would repeat its numbers: add the year, or continue numbering across periods.",
        )
    return template


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
        session,
        {
            "uuid": new_id(),
            "operation": OperationCode.FORMAT_CHANGE,
            "project_id": row.project_id,
            "format_uuid": row.format.public_id,
            "document_type": row.type_code,
            "template_used": row.format.format_template,
            "old_value": old,
            "new_value": new,
            "reason": reason,
            "user_id": ctx.caller.user_id,
            "ip_address": ctx.address[:45] or None,
            "created_at": ctx.now,
        },
    )


async def _readable_projects(ctx: RequestContext, session: AsyncSession) -> list[int] | None:
    caller = ctx.caller
    if caller.may(VIEW, Scope()):
        return None
    refs = await projects.projects_of(ctx, session)
    return [ref.id for ref in refs if caller.may(VIEW, Scope(project=ref.id, organizations=caller.organization_ids))]


async def default_formats(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> int:
    """Save the shipped formats that a project lacks, and return how many."""
    project = await projects.find_project(session, public_id=project_public_id, pointer="/projectPublicId")
    made = 0
    for code, (template, description) in SHIPPED.items():
        kind = await projects.find_type(session, code=code, pointer="/correspondenceTypeCode") if code else None
        key = FormatKey(kind.id if kind else 0)
        if await repository.format_of(session, project_id=project.id, key=key) is not None:
            continue
        wanted = FormatDraft(template=template, description=description, reason="Shipped default.")
        await save_format(replace(ctx, address=""), session, FormatTarget(project_public_id, code), wanted)
        made += 1
    return made
