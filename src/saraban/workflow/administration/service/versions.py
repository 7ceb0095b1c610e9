"""Workflows and their versions: list, validate, publish, activate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.service.callers import display_name
from saraban.kit.db import AnyRow
from saraban.kit.errors import RETRY, DomainError, ErrorKind, FieldProblem, NotFound, Text, invalid
from saraban.kit.ids import new_id
from saraban.kit.json import Json
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page, page_of
from saraban.workflow.administration import repository
from saraban.workflow.administration.domain import definition_text
from saraban.workflow.administration.schemas import DefinitionDetailOut, DefinitionOut
from saraban.workflow.administration.service.workflow_assignment import MANAGE
from saraban.workflow.language import dsl
from saraban.workflow.language.definition import Definition, compiled
from saraban.workflow.language.dsl import WorkflowNotValid
from saraban.workflow.language.registers import REGISTERS, starting_on
from saraban.workflow.runtime.models import WorkflowDefinition
from saraban.workflow.runtime.repository import active_id
from saraban.workflow.runtime.repository import definition as definition_row
from saraban.workflow.runtime.service.definitions import load
from saraban.workflow.verification import definition_checks
from saraban.workflow.verification.register_fit import misfits


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """`published_by` is None for shipped versions."""

    public_id: UUID
    code: str
    version: int
    description: Text | None
    is_active: bool
    published_at: datetime
    published_by: str | None


@dataclass(frozen=True, slots=True)
class WorkflowVersions:
    code: str
    versions: Sequence[VersionSummary]

    @property
    def active(self) -> VersionSummary | None:
        return next((summary for summary in self.versions if summary.is_active), None)

    @property
    def description(self) -> Text | None:
        return (self.active or self.versions[0]).description


async def workflows(session: AsyncSession) -> list[WorkflowVersions]:
    rows = [_summary(row) for row in await repository.summaries(session, code=None)]
    return [WorkflowVersions(code, tuple(group_rows)) for code, group_rows in groupby(rows, key=lambda line: line.code)]


async def workflow(session: AsyncSession, *, code: str) -> WorkflowVersions:
    """:raises NotFound:"""
    rows = tuple(_summary(row) for row in await repository.summaries(session, code=code))
    if not rows:
        raise NotFound(f"There is no workflow {code}.")
    return WorkflowVersions(code, rows)


async def running_on(session: AsyncSession, *, public_id: UUID) -> int:
    return await repository.running_on(session, public_id)


async def role_names(session: AsyncSession) -> list[str]:
    roles, _ = await repository.known_names(session)
    return sorted(roles)


def _summary(row: AnyRow) -> VersionSummary:
    return VersionSummary(
        row.id,
        row.workflow_code,
        row.version,
        dsl.said_of(row.description),
        row.is_active,
        row.created_at,
        display_name(row) if row.username is not None else None,
    )


_NOT_JSON: Final = Text(
    "ข้อความนี้ไม่ใช่ JSON ที่บรรทัด {line} ตัวอักษรที่ {column}", "Not valid JSON: line {line}, character {column}."
)
_TOO_DEEP: Final = Text("นิยามใหญ่หรือซ้อนลึกเกินไป", "The definition is too large or too deeply nested.")


class DefinitionRaced(DomainError):
    """Another person published a version of the same workflow at the same time."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_DEFINITION_CONFLICT"
    says = Text("มีผู้อื่นบันทึก Workflow นี้ในเวลาเดียวกัน", "Somebody else published this workflow at the same time.")
    recovery = (RETRY,)


async def validate(session: AsyncSession, *, raw: Json, root: str = "/dsl") -> tuple[FieldProblem, ...]:
    """Return the faults that `create` would refuse."""
    try:
        definition = definition_checks.verify(raw, known=await _known(session, raw), root=root)
    except WorkflowNotValid as fault:
        return tuple(fault.fields)
    return await unfit(session, definition, root=root)


async def validate_text(session: AsyncSession, *, text: str) -> list[tuple[FieldProblem, int]]:
    """Return each fault with its line."""
    try:
        parsed = definition_text.read(text)
        faults = parsed.twice("/text") or await validate(session, raw=parsed.value, root="/text")
    except definition_text.InvalidJson as fault:
        return [
            (FieldProblem("/text", "not_json", _NOT_JSON, {"line": fault.line, "column": fault.column}), fault.line)
        ]
    except definition_text.JsonTooDeep:
        return [(FieldProblem("/text", "too_large", _TOO_DEEP), 1)]
    return [(fault, parsed.line(fault.pointer.removeprefix("/text"))) for fault in faults]


async def create(
    ctx: audit.AuditContext, session: AsyncSession, *, raw: dict[str, Json], activate: bool
) -> DefinitionDetailOut:
    """
    :param ctx: without a caller for shipped definitions, which no upgrade may refuse
    :raises WorkflowNotValid: when it is not valid, or does not fit the documents that start on it
    """
    definition = definition_checks.verify(raw, known=await _known(session, raw))
    versions = await repository.locked_versions(session, definition.code)
    version = versions[-1].version + 1 if versions else 1
    if raw.get("version", version) != version:
        th, en = "เวอร์ชันถัดไปคือ {next}", "The next version is {next}; leave this out, or say so."
        raise invalid("/dsl/version", "not_next", th, en, next=version)
    if ctx.caller is not None:
        await check_fit(session, definition)
    row = WorkflowDefinition(
        id=new_id(),
        workflow_code=definition.code,
        version=version,
        description=definition.description.en if definition.description else None,
        dsl=raw,
        compiled=compiled(definition),
        is_active=False,
        created_by_user_id=ctx.caller.user_id if ctx.caller else None,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    session.add(row)
    try:
        await session.flush()
    except IntegrityError as fault:
        raise DefinitionRaced from fault
    await _record_audit(ctx, session, "workflow.publish", row)
    if activate:
        await _activate(ctx, session, row, [*versions, row])
    return _view(row)


async def publish(ctx: RequestContext, session: AsyncSession, *, raw: dict[str, Json], activate: bool) -> Receipt:
    ctx.caller.require(MANAGE, Scope())
    published = await create(ctx, session, raw=raw, activate=activate)
    return Receipt("workflow_definition", published.public_id, {"code": published.code, "version": published.version})


async def set_active(
    ctx: RequestContext, session: AsyncSession, *, code: str, version: int, is_active: bool
) -> DefinitionDetailOut:
    """
    Activate one version, or stop new instances; running ones keep theirs (REQ-WFL-07).
    :raises WorkflowNotValid: when it does not fit the documents that start on it
    """
    ctx.caller.require(MANAGE, Scope())
    versions = await repository.locked_versions(session, code)
    row = _require_found(
        next((candidate for candidate in versions if candidate.version == version), None),
        f"version {version} of {code}",
    )
    if is_active:
        # Documents may have been assigned after its publication.
        await check_fit(session, await load(session, row.id), published=True)
        await _activate(ctx, session, row, versions)
    elif row.is_active:
        row.is_active, row.updated_at = False, ctx.now
        await _record_audit(ctx, session, "workflow.deactivate", row)
    return _view(row)


async def refused_today(session: AsyncSession, *, code: str, version: int) -> tuple[FieldProblem, ...]:
    """
    Return the current faults of a published version: checks and names change.
    :raises NotFound:
    """
    return await validate(session, raw=(await find(session, code=code, version=version)).dsl, root="")


async def find(session: AsyncSession, *, code: str, version: int) -> DefinitionDetailOut:
    """:raises NotFound:"""
    return _view(_require_found(await repository.version_of(session, code, version), f"version {version} of {code}"))


async def read(session: AsyncSession, *, public_id: UUID) -> DefinitionDetailOut:
    """:raises NotFound:"""
    return _view(_require_found(await definition_row(session, public_id), f"version {public_id}"))


async def find_active(session: AsyncSession, *, code: str) -> DefinitionDetailOut:
    """:raises NotFound:"""
    definition_id = await active_id(session, code)
    return _view(
        _require_found(
            await definition_row(session, definition_id) if definition_id else None, f"active version of {code}"
        )
    )


async def version(session: AsyncSession, *, code: str, version: int) -> Definition:
    """:raises NotFound:"""
    row = _require_found(await repository.version_of(session, code, version), f"version {version} of {code}")
    return await load(session, row.id)


def _require_found(row: WorkflowDefinition | None, description: str) -> WorkflowDefinition:
    if row is None:
        raise NotFound(f"There is no {description}.")
    return row


async def listing(session: AsyncSession, *, code: str | None, cursor: str | None, limit: int) -> Page[DefinitionOut]:
    rows = await repository.definitions(session, code=code, cursor=cursor, limit=limit)
    views = [DefinitionOut(**_heading(row, description)) for row, description in rows]
    return page_of(views, limit=limit, key=lambda view: (view.created_at, view.public_id))


def shipped() -> Iterator[dict[str, Json]]:
    folder = files("saraban.workflow.language") / "shipped"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".json"):
            yield orjson.loads(file.read_bytes())


async def seed_definitions(session: AsyncSession, *, now: datetime) -> None:
    """
    Publish new and changed shipped definitions; repeating it changes nothing.
    Activate one that fits and replaces an active shipped one, or is the first version.
    """
    for raw in shipped():
        versions = await repository.locked_versions(session, str(raw["workflow"]))
        if any(existing.dsl == raw for existing in versions):
            continue
        in_force = next((existing for existing in versions if existing.is_active), None)
        activates = in_force.created_by_user_id is None if in_force else not versions
        activates = activates and not await unfit(session, definition_checks.verify(raw))
        await create(audit.AuditOrigin(None, now), session, raw=raw, activate=activates)


async def _known(session: AsyncSession, raw: Json) -> dsl.Known:
    roles, permissions = await repository.known_names(session)
    people = await identity.load_callers(session, dsl.assigned(raw))
    return dsl.Known(roles, permissions, people.keys())


async def _activate(
    ctx: audit.AuditContext, session: AsyncSession, row: WorkflowDefinition, versions: Sequence[WorkflowDefinition]
) -> None:
    if row.is_active:
        return
    for other in versions:
        if other.is_active:
            other.is_active, other.updated_at = False, ctx.now
    row.is_active, row.updated_at = True, ctx.now
    await _record_audit(ctx, session, "workflow.activate", row)


async def _record_audit(ctx: audit.AuditContext, session: AsyncSession, action: str, row: WorkflowDefinition) -> None:
    await audit.record(
        ctx,
        session,
        audit.AuditEntry(
            action, "workflow_definition", str(row.id), {"workflowCode": row.workflow_code, "version": row.version}
        ),
    )


def _view(row: WorkflowDefinition) -> DefinitionDetailOut:
    return DefinitionDetailOut(**_heading(row, row.dsl.get("description")), dsl=row.dsl)


def _heading(row: WorkflowDefinition, description: Json) -> dict[str, Any]:
    """:param description: separate, because lists do not read the definition's content"""
    return {
        "public_id": row.id,
        "code": row.workflow_code,
        "version": row.version,
        "description": dsl.said_of(description),
        "is_active": row.is_active,
        "created_at": row.created_at,
    }


async def unfit(
    session: AsyncSession, definition: Definition, *, root: str = "/dsl", published: bool = False
) -> tuple[FieldProblem, ...]:
    assigned = await repository.matters_of(session, definition.code)
    registers = starting_on(definition.code)
    registers += [REGISTERS[kind].of_type(type_code) for kind, type_code in assigned]
    return misfits(definition, list(dict.fromkeys(registers)), root=root, published=published)


async def check_fit(session: AsyncSession, definition: Definition, *, published: bool = False) -> None:
    """:raises WorkflowNotValid:"""
    faults = await unfit(session, definition, published=published)
    if faults:
        raise WorkflowNotValid(fields=faults)
