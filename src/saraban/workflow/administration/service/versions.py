"""The workflows there are, each with its versions: what an administrator chooses from."""

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
    """One version; `published_by` is None for what ships with the product."""

    public_id: UUID
    code: str
    version: int
    description: Text | None
    is_active: bool
    published_at: datetime
    published_by: str | None


@dataclass(frozen=True, slots=True)
class WorkflowVersions:
    """A code with all its versions, the newest first."""

    code: str
    versions: Sequence[VersionSummary]

    @property
    def active(self) -> VersionSummary | None:
        return next((one for one in self.versions if one.is_active), None)

    @property
    def description(self) -> Text | None:
        return (self.active or self.versions[0]).description


async def workflows(session: AsyncSession) -> list[WorkflowVersions]:
    rows = [_line(row) for row in await repository.summaries(session, code=None)]
    return [WorkflowVersions(code, tuple(some)) for code, some in groupby(rows, key=lambda line: line.code)]


async def workflow(session: AsyncSession, *, code: str) -> WorkflowVersions:
    """
    :raises NotFound: when no version of it was ever published
    """
    rows = tuple(_line(row) for row in await repository.summaries(session, code=code))
    if not rows:
        raise NotFound(f"There is no workflow {code}.")
    return WorkflowVersions(code, rows)


async def running_on(session: AsyncSession, *, public_id: UUID) -> int:
    return await repository.running_on(session, public_id)


async def role_names(session: AsyncSession) -> list[str]:
    roles, _ = await repository.known_names(session)
    return sorted(roles)


def _line(row: AnyRow) -> VersionSummary:
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
    """Two people published a version of the same workflow at the same time."""

    kind, code = ErrorKind.CONFLICT, "WORKFLOW_DEFINITION_CONFLICT"
    says = Text("มีผู้อื่นบันทึก Workflow นี้ในเวลาเดียวกัน", "Somebody else published this workflow at the same time.")
    recovery = (RETRY,)


async def validate(session: AsyncSession, *, raw: Json, root: str = "/dsl") -> tuple[FieldProblem, ...]:
    """Return what `create` would refuse, and save nothing."""
    try:
        definition = definition_checks.verify(raw, known=await _known(session, raw), root=root)
    except WorkflowNotValid as fault:
        return tuple(fault.fields)
    return await unfit(session, definition, root=root)


async def validate_text(session: AsyncSession, *, text: str) -> list[tuple[FieldProblem, int]]:
    """Do the same for a text, and return with each fault its line."""
    try:
        found = definition_text.read(text)
        faults = found.twice("/text") or await validate(session, raw=found.value, root="/text")
    except definition_text.InvalidJson as fault:
        return [
            (FieldProblem("/text", "not_json", _NOT_JSON, {"line": fault.line, "column": fault.column}), fault.line)
        ]
    except definition_text.JsonTooDeep:
        return [(FieldProblem("/text", "too_large", _TOO_DEEP), 1)]
    return [(fault, found.line(fault.pointer.removeprefix("/text"))) for fault in faults]


async def create(
    ctx: audit.AuditContext, session: AsyncSession, *, raw: dict[str, Json], activate: bool
) -> DefinitionDetailOut:
    """
    Keep a definition as the next version of its code.

    :param ctx: without a caller for the definitions that ship with the product, which no upgrade may fail on
    :raises WorkflowNotValid: when it cannot be published, or does not fit the documents that start on it
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
    await _note(ctx, session, "workflow.publish", row)
    if activate:
        await _activate(ctx, session, row, [*versions, row])
    return _view(row)


async def publish(ctx: RequestContext, session: AsyncSession, *, raw: dict[str, Json], activate: bool) -> Receipt:
    """Do `create` for a request that may be repeated; definitions belong to the whole installation."""
    ctx.caller.require(MANAGE, Scope())
    made = await create(ctx, session, raw=raw, activate=activate)
    return Receipt("workflow_definition", made.public_id, {"code": made.code, "version": made.version})


async def set_active(
    ctx: RequestContext, session: AsyncSession, *, code: str, version: int, is_active: bool
) -> DefinitionDetailOut:
    """
    Make one version the only active one of its code, or stop new instances from starting on it.

    Running instances keep their version (REQ-WFL-07).

    :raises WorkflowNotValid: when it does not fit the documents that start on it
    """
    ctx.caller.require(MANAGE, Scope())
    versions = await repository.locked_versions(session, code)
    row = _found(next((each for each in versions if each.version == version), None), f"version {version} of {code}")
    if is_active:
        # It may have been published before documents came to start on it.
        await check_fit(session, await load(session, row.id), published=True)
        await _activate(ctx, session, row, versions)
    elif row.is_active:
        row.is_active, row.updated_at = False, ctx.now
        await _note(ctx, session, "workflow.deactivate", row)
    return _view(row)


async def refused_today(session: AsyncSession, *, code: str, version: int) -> tuple[FieldProblem, ...]:
    """
    Return what publishing would refuse of a version that is published: checks have grown stricter, or what it names is gone.

    :raises NotFound: when there is no such version
    """
    return await validate(session, raw=(await find(session, code=code, version=version)).dsl, root="")


async def find(session: AsyncSession, *, code: str, version: int) -> DefinitionDetailOut:
    """
    :raises NotFound: when there is no such version
    """
    return _view(_found(await repository.version_of(session, code, version), f"version {version} of {code}"))


async def read(session: AsyncSession, *, public_id: UUID) -> DefinitionDetailOut:
    """
    :raises NotFound: when there is no such version
    """
    return _view(_found(await definition_row(session, public_id), f"version {public_id}"))


async def find_active(session: AsyncSession, *, code: str) -> DefinitionDetailOut:
    """
    :raises NotFound: when no version is active
    """
    definition_id = await active_id(session, code)
    return _view(
        _found(await definition_row(session, definition_id) if definition_id else None, f"active version of {code}")
    )


async def version(session: AsyncSession, *, code: str, version: int) -> Definition:
    """
    Return a version to be worked with.

    :raises NotFound: when there is no such version
    """
    row = _found(await repository.version_of(session, code, version), f"version {version} of {code}")
    return await load(session, row.id)


def _found(row: WorkflowDefinition | None, what: str) -> WorkflowDefinition:
    if row is None:
        raise NotFound(f"There is no {what}.")
    return row


async def listing(session: AsyncSession, *, code: str | None, cursor: str | None, limit: int) -> Page[DefinitionOut]:
    """Return versions newest first, without their text."""
    rows = await repository.definitions(session, code=code, cursor=cursor, limit=limit)
    views = [DefinitionOut(**_heading(row, said)) for row, said in rows]
    return page_of(views, limit=limit, key=lambda view: (view.created_at, view.public_id))


def shipped() -> Iterator[dict[str, Json]]:
    folder = files("saraban.workflow.language") / "shipped"
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        if file.name.endswith(".json"):
            yield orjson.loads(file.read_bytes())


async def seed_definitions(session: AsyncSession, *, now: datetime) -> None:
    """
    Publish each shipped definition that is new or has changed; running it again changes nothing.

    It is activated in the place of an earlier one that shipped and is in force, or as the very first version, unless
    documents start on the workflow that it does not fit: what administrators put in force or out of force stays so.
    """
    for raw in shipped():
        versions = await repository.locked_versions(session, str(raw["workflow"]))
        if any(each.dsl == raw for each in versions):
            continue
        in_force = next((each for each in versions if each.is_active), None)
        ours = in_force.created_by_user_id is None if in_force else not versions
        ours = ours and not await unfit(session, definition_checks.verify(raw))
        await create(audit.AuditOrigin(None, now), session, raw=raw, activate=ours)


async def _known(session: AsyncSession, raw: Json) -> dsl.Known:
    roles, permissions = await repository.known_names(session)
    people = await identity.load_callers(session, dsl.assigned(raw))
    return dsl.Known(roles, permissions, people.keys())


async def _activate(
    ctx: audit.AuditContext, session: AsyncSession, row: WorkflowDefinition, versions: Sequence[WorkflowDefinition]
) -> None:
    if row.is_active:
        return
    for each in versions:
        if each.is_active:
            each.is_active, each.updated_at = False, ctx.now
    row.is_active, row.updated_at = True, ctx.now
    await _note(ctx, session, "workflow.activate", row)


async def _note(ctx: audit.AuditContext, session: AsyncSession, action: str, row: WorkflowDefinition) -> None:
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
    """:param description: of its text, which lists do not read"""
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
    """Return why the documents that start on this workflow could not run on a version of it."""
    chosen = await repository.matters_of(session, definition.code)
    registers = starting_on(definition.code)
    registers += [REGISTERS[kind].of_type(type_code) for kind, type_code in chosen]
    return misfits(definition, list(dict.fromkeys(registers)), root=root, published=published)


async def check_fit(session: AsyncSession, definition: Definition, *, published: bool = False) -> None:
    """
    :raises WorkflowNotValid: naming each place that does not fit the documents which start on it
    """
    faults = await unfit(session, definition, published=published)
    if faults:
        raise WorkflowNotValid(fields=faults)
