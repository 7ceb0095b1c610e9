"""
Applies a project file: reads what is there, says what differs, and saves it, all in the caller's one transaction.

Whatever the file leaves out stays as it is; `prune` closes what its lists leave out and nothing refers to.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.identity.domain.context import EVERYTHING, RequestContext, Scope
from saraban.identity.service import Invitation, lock_rights
from saraban.kit.db import AnyRow
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, Invalid, Text
from saraban.kit.etags import Stale
from saraban.kit.json import Json
from saraban.numbering import service as numbering
from saraban.projects.models import Project
from saraban.setup.domain.comparison import ChangeType, Codes, Difference, ProjectItems, differences, project_items
from saraban.setup.domain.new_project import Data
from saraban.setup.domain.project_yaml import ReadFile, read_file
from saraban.setup.domain.references import KnownCodes, reference_faults
from saraban.setup.repository import project_contents as repository
from saraban.setup.service import current_project, project_changes
from saraban.setup.service.project_changes import ApplyContext, close

Pattern = tuple[str | None, ...]  # of a path; None stands for any code
Save = Callable[[ApplyContext, Sequence[Difference]], Awaitable[None]]


async def save(saving: ApplyContext, found: Sequence[Difference]) -> None:
    """Add and change; what the parts refer to comes before them."""
    wanted = [one for one in found if one.what in {ChangeType.ADD, ChangeType.CHANGE}]
    is_new = saving.project is None
    for pattern, work in _STEPS:
        those = [one for one in wanted if _fits(one.path, pattern)]
        if those or work in _ALWAYS:
            await work(saving, those)
            await saving.session.flush()
    await project_changes.save_order(saving, wanted)
    if is_new and ("numberFormats",) not in saving.wanted.stated:
        await numbering.default_formats(saving.ctx, saving.session, project_public_id=saving.project_public_id)


def _fits(path: Codes, pattern: Pattern) -> bool:
    return len(path) == len(pattern) and all(part in {None, code} for part, code in zip(pattern, path, strict=True))


_STEPS: Final[Sequence[tuple[Pattern, Save]]] = (
    (("organizations", None), project_changes.save_organizations),
    (("correspondenceTypes", None), project_changes.save_types),
    (("project",), project_changes.save_project),
    (("members", None), project_changes.save_members),
    (("contracts", None), project_changes.save_contracts),
    (("contracts", None, "parties", None), project_changes.save_parties),
    *((("contracts", None, name, None), project_changes.save_rows) for name in current_project.OF_CONTRACTS),
    *(((name, None), project_changes.save_rows) for name in current_project.OF_PROJECTS),
    (("drawingRegisters", None), project_changes.save_registers),
    (("people", None), project_changes.save_people),
    (("people", None, "roles", None), project_changes.save_roles),
    (("reviewTeams", None), project_changes.save_teams),
    (("reviewTeams", None, "members", None), project_changes.save_seats),
    (("numberFormats", None), project_changes.save_formats),
    (("assignments", None), project_changes.save_assignments),
    (("calendar",), project_changes.save_calendar),
    (("calendar", "days", None), project_changes.save_days),
)
# They look up the rows that later steps refer to.
_ALWAYS: Final = frozenset(
    {project_changes.save_organizations, project_changes.save_types, project_changes.save_contracts}
)


class ProjectConflict(DomainError):
    """
    A project file says something else than is there of what belongs to the whole installation (organizations, document types,
    accounts), or names a contract of another project.
    """

    kind, code = ErrorKind.CONFLICT, "PROJECT_FILE_CONFLICT"
    says = Text(
        "ไฟล์โครงการขัดกับข้อมูลที่ใช้ร่วมกันทั้งระบบ จึงยังไม่ได้บันทึกสิ่งใด",
        "The project file contradicts what the installation has already, so nothing was written.",
    )
    recovery = (
        Text("แก้ไฟล์ให้ตรงกับข้อมูลในระบบ", "Make the file agree with what is there."),
        Text(
            "หรือสั่งอีกครั้งด้วย --update-shared (API: updateShared=true) เพื่อเปลี่ยนข้อมูลร่วม",
            "Or apply it with --update-shared (API: updateShared=true), which changes it for every project.",
        ),
    )
    differences: Sequence[Difference] = ()


class ProjectChangedMeanwhile(Stale):
    """Somebody changed the project after the differences were shown: applying the file would do something else now."""

    code = "PROJECT_CHANGED_MEANWHILE"
    says = Text(
        "โครงการถูกเปลี่ยนหลังจากแสดงรายการนี้ จึงยังไม่ได้บันทึกสิ่งใด",
        "The project was changed after these differences were shown, so nothing was written.",
    )
    recovery = (Text("ตรวจรายการใหม่แล้วยืนยันอีกครั้ง", "Look at the differences again, then apply them."),)


@dataclass(frozen=True, slots=True)
class AppliedFile:
    """
    :param applied: false for a dry run
    :param invitations: to the accounts that were made, each with a link that works once
    """

    project_code: str
    differences: Sequence[Difference]
    applied: bool
    invitations: Sequence[Invitation] = ()

    @property
    def digest(self) -> str:
        """Tell these differences from any others."""
        return hashlib.sha256(repr([_change(one) for one in self.differences]).encode()).hexdigest()


async def apply(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    content: bytes,
    prune: bool = False,
    update_shared: bool = False,
    dry_run: bool = False,
    operator: str | None = None,
    shown: str | None = None,
) -> AppliedFile:
    """
    Make a project what a file says, and say what that changed; a second time it changes nothing.

    :param dry_run: do the same and take it back, so that it finds every fault
    :param operator: log-in name of the operating system, where nobody is named; kept in the audit trail
    :param shown: the digest of the differences that somebody was shown; others are not applied
    :raises Invalid: naming line and key of each fault
    :raises ProjectConflict: naming what belongs to the installation or to another project
    :raises ProjectChangedMeanwhile: when the differences are others than those shown
    """
    ctx.caller.require(EVERYTHING, Scope())
    read = read_file(content)
    await lock_rights(session)  # one file at a time
    origin = Origin("project.apply", {"file": hashlib.sha256(content).hexdigest(), "operator": operator})
    manner = Manner(prune, update_shared, dry_run, shown)
    return await reconcile(ctx, session, read, origin, manner)


@dataclass(frozen=True, slots=True)
class Manner:
    prune: bool = False
    update_shared: bool = False
    dry_run: bool = False
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    action: str
    details: Mapping[str, Json]


async def reconcile(
    ctx: RequestContext, session: AsyncSession, read: ReadFile, origin: Origin, manner: Manner
) -> AppliedFile:
    """Do what `apply` does, for whoever has been asked for the right and holds the lock."""
    wanted = project_items(read.file.model_dump(mode="json", by_alias=True, exclude_none=True))
    project, there, elsewhere = await _there(session, read, wanted)
    faults = reference_faults(read, wanted, there, await _known(session, project))
    if faults:
        raise Invalid("The project file has faults.", fields=faults[:100])
    found = differences(wanted, there, prune=manner.prune, update_shared=manner.update_shared, elsewhere=elsewhere)
    conflicts = [one for one in found if one.what is ChangeType.CONFLICT]
    code = read.file.project.code
    if conflicts and manner.dry_run:
        return AppliedFile(code, found, applied=False)
    if conflicts:
        raise _conflict(read, found, conflicts)
    saving = ApplyContext(ctx, session, read, wanted, project)
    async with session.begin_nested() as attempt:
        await save(saving, found)
        # What refers to others goes before them.
        found = [await _closed(saving, one) for one in reversed(found)][::-1]
        await _note(saving, found, origin)
        if manner.dry_run:
            await attempt.rollback()
            return AppliedFile(code, found, applied=False)
    applied = AppliedFile(code, found, applied=True, invitations=saving.invitations)
    if manner.shown not in {None, applied.digest}:
        raise ProjectChangedMeanwhile
    return applied


async def _there(
    session: AsyncSession, read: ReadFile, wanted: ProjectItems
) -> tuple[Project | None, ProjectItems, frozenset[Codes]]:
    """What is there; and the contracts of the file that another project has."""
    file = read.file
    project = await repository.project(session, code=file.project.code)
    names = [one.username for one in file.people or ()]
    data = await current_project.read_shared(
        session, codes={path[1] for path in wanted.found if path[0] == "organizations"}, usernames=names
    )
    codes = [one.code for one in file.contracts or ()]
    rows = await repository.contracts(session, codes, project_id=None)
    elsewhere = frozenset(
        ("contracts", row.contract_code) for row in rows if project is None or row.project_id != project.id
    )
    if project is not None:
        data |= await current_project.read_project(session, project)
        roles = await current_project.roles_in(session, project, named=names)
        data["people"] = [
            *({**person, "roles": roles.pop(person["username"], [])} for person in data["people"]),
            *({"username": name, "roles": held} for name, held in roles.items()),
        ]
        if not project.is_active:
            data.pop("project")
    _with_global_roles(data, await repository.global_grants(session))
    return project, project_items(data), elsewhere


def _with_global_roles(data: Data, grants: Sequence[AnyRow]) -> None:
    for person in data["people"]:
        held = [{"role": row.role_name, "level": "Global"} for row in grants if row.username == person["username"]]
        person["roles"] = [*person.get("roles", ()), *held]


async def _known(session: AsyncSession, project: Project | None) -> KnownCodes:
    accounts = await repository.accounts(session)
    return KnownCodes(
        organizations={
            row.organization_code for row in await repository.organizations(session) if row.deleted_at is None
        },
        types={row.type_code for row in await repository.types(session) if row.is_active},
        roles=await repository.roles(session),
        workflows=await repository.workflows(session),
        accounts={name: row.User.email for name, row in accounts.items()},
        codes=await repository.codes(session, project_id=project.id if project else None),
    )


def _conflict(read: ReadFile, found: Sequence[Difference], conflicts: Iterable[Difference]) -> ProjectConflict:
    th, en = "ในระบบเป็น {before} แต่ไฟล์ระบุ {after}", "The database has {before}, the file says {after}."
    taken_th, taken_en = "รหัสสัญญานี้เป็นของโครงการอื่น", "Another project has a contract of this code."
    fields: list[FieldProblem] = []
    for one in conflicts:
        if one.before is None:
            fields.append(read.fault(one.at, "taken", taken_th, taken_en))
        else:
            before, after = (", ".join(map(str, values.values())) for values in (one.before, one.after or {}))
            fields.append(read.fault(one.at, "differs", th, en, before=before, after=after))
    error = ProjectConflict(fields=fields[:100])
    error.differences = found
    return error


async def _closed(saving: ApplyContext, one: Difference) -> Difference:
    """Close what is to be closed; what is in use is kept, and said to be."""
    if one.what is not ChangeType.CLOSE or await close(saving, one):
        return one
    return replace(one, what=ChangeType.KEEP, after=one.before)


async def _note(saving: ApplyContext, found: Sequence[Difference], origin: Origin) -> None:
    """Keep in the audit trail what was changed: one row for each part of the file."""
    whole = {**origin.details, "project": saving.read.file.project.code}
    changed = [one for one in found if one.what is not ChangeType.KEEP]
    for section, those in groupby(changed, key=lambda one: one.path[0]):
        told = {"section": section, "changes": [_change(one) for one in those], **whole}
        entry = audit.AuditEntry(origin.action, "project", str(saving.project_public_id), told)
        await audit.record(saving.ctx, saving.session, entry)


def _change(one: Difference) -> dict[str, Json]:
    return {"path": one.pointer, "change": one.what.value, "before": one.before, "after": one.after}
