"""Compares a project file with the stored project, and saves the differences."""

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


async def save(saving: ApplyContext, differences: Sequence[Difference]) -> None:
    wanted = [difference for difference in differences if difference.what in {ChangeType.ADD, ChangeType.CHANGE}]
    is_new = saving.project is None
    for pattern, work in _STEPS:
        changes = [difference for difference in wanted if _matches(difference.path, pattern)]
        if changes or work in _ALWAYS:
            await work(saving, changes)
            await saving.session.flush()
    await project_changes.save_order(saving, wanted)
    if is_new and ("numberFormats",) not in saving.wanted.stated:
        await numbering.default_formats(saving.ctx, saving.session, project_public_id=saving.project_public_id)


def _matches(path: Codes, pattern: Pattern) -> bool:
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
# Later steps need the rows that these steps look up.
_ALWAYS: Final = frozenset(
    {project_changes.save_organizations, project_changes.save_types, project_changes.save_contracts}
)


class ProjectConflict(DomainError):
    """
    The project file differs from shared data of the installation (organizations, document
    types, accounts), or contains a contract of another project.
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
    """
    The project was changed after the differences were shown, so applying the file would now
    have a different effect.
    """

    code = "PROJECT_CHANGED_MEANWHILE"
    says = Text(
        "โครงการถูกเปลี่ยนหลังจากแสดงรายการนี้ จึงยังไม่ได้บันทึกสิ่งใด",
        "The project was changed after these differences were shown, so nothing was written.",
    )
    recovery = (Text("ตรวจรายการใหม่แล้วยืนยันอีกครั้ง", "Look at the differences again, then apply them."),)


@dataclass(frozen=True, slots=True)
class AppliedFile:
    project_code: str
    differences: Sequence[Difference]
    applied: bool
    invitations: Sequence[Invitation] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(
            repr([_change_values(difference) for difference in self.differences]).encode()
        ).hexdigest()


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
    :param dry_run: save, then roll back, so that every fault is found
    :param operator: operating system user, for the audit trail
    :param shown: digest of the differences that the user confirmed
    :raises Invalid, ProjectConflict, ProjectChangedMeanwhile:
    """
    ctx.caller.require(EVERYTHING, Scope())
    read = read_file(content)
    await lock_rights(session)  # one file at a time
    origin = Origin("project.apply", {"file": hashlib.sha256(content).hexdigest(), "operator": operator})
    options = ApplyOptions(prune, update_shared, dry_run, shown)
    return await reconcile(ctx, session, read, origin, options)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    prune: bool = False
    update_shared: bool = False
    dry_run: bool = False
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    action: str
    details: Mapping[str, Json]


async def reconcile(
    ctx: RequestContext, session: AsyncSession, read: ReadFile, origin: Origin, options: ApplyOptions
) -> AppliedFile:
    """Apply without the permission check and lock of `apply`, which the caller must do."""
    wanted = project_items(read.file.model_dump(mode="json", by_alias=True, exclude_none=True))
    project, stored, elsewhere = await _read_stored(session, read, wanted)
    faults = reference_faults(read, wanted, stored, await _read_known_codes(session, project))
    if faults:
        raise Invalid("The project file has faults.", fields=faults[:100])
    found = differences(wanted, stored, prune=options.prune, update_shared=options.update_shared, elsewhere=elsewhere)
    conflicts = [difference for difference in found if difference.what is ChangeType.CONFLICT]
    code = read.file.project.code
    if conflicts and options.dry_run:
        return AppliedFile(code, found, applied=False)
    if conflicts:
        raise _conflict_error(read, found, conflicts)
    saving = ApplyContext(ctx, session, read, wanted, project)
    async with session.begin_nested() as attempt:
        await save(saving, found)
        # Close items before the items that they refer to.
        found = [await _close_or_keep(saving, difference) for difference in reversed(found)][::-1]
        await _record_changes(saving, found, origin)
        if options.dry_run:
            await attempt.rollback()
            return AppliedFile(code, found, applied=False)
    applied = AppliedFile(code, found, applied=True, invitations=saving.invitations)
    if options.shown not in {None, applied.digest}:
        raise ProjectChangedMeanwhile
    return applied


async def _read_stored(
    session: AsyncSession, read: ReadFile, wanted: ProjectItems
) -> tuple[Project | None, ProjectItems, frozenset[Codes]]:
    """Return the stored project, and the contracts of the file in other projects."""
    file = read.file
    project = await repository.project(session, code=file.project.code)
    names = [part.username for part in file.people or ()]
    data = await current_project.read_shared(
        session, codes={path[1] for path in wanted.by_path if path[0] == "organizations"}, usernames=names
    )
    codes = [part.code for part in file.contracts or ()]
    rows = await repository.contracts(session, codes, project_id=None)
    elsewhere = frozenset(
        ("contracts", row.contract_code) for row in rows if project is None or row.project_id != project.id
    )
    if project is not None:
        data |= await current_project.read_project(session, project)
        roles = await current_project.roles_by_username(session, project, named=names)
        data["people"] = [
            *({**person, "roles": roles.pop(person["username"], [])} for person in data["people"]),
            *({"username": name, "roles": items} for name, items in roles.items()),
        ]
        if not project.is_active:
            data.pop("project")
    _add_global_roles(data, await repository.global_grants(session))
    return project, project_items(data), elsewhere


def _add_global_roles(data: Data, grants: Sequence[AnyRow]) -> None:
    for person in data["people"]:
        roles = [{"role": row.role_name, "level": "Global"} for row in grants if row.username == person["username"]]
        person["roles"] = [*person.get("roles", ()), *roles]


async def _read_known_codes(session: AsyncSession, project: Project | None) -> KnownCodes:
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


def _conflict_error(read: ReadFile, found: Sequence[Difference], conflicts: Iterable[Difference]) -> ProjectConflict:
    th, en = "ในระบบเป็น {before} แต่ไฟล์ระบุ {after}", "The database has {before}, the file says {after}."
    taken_th, taken_en = "รหัสสัญญานี้เป็นของโครงการอื่น", "Another project has a contract of this code."
    fields: list[FieldProblem] = []
    for conflict in conflicts:
        if conflict.before is None:
            fields.append(read.fault(conflict.at, "taken", taken_th, taken_en))
        else:
            before, after = (", ".join(map(str, values.values())) for values in (conflict.before, conflict.after or {}))
            fields.append(read.fault(conflict.at, "differs", th, en, before=before, after=after))
    error = ProjectConflict(fields=fields[:100])
    error.differences = found
    return error


async def _close_or_keep(saving: ApplyContext, difference: Difference) -> Difference:
    if difference.what is not ChangeType.CLOSE or await close(saving, difference):
        return difference
    return replace(difference, what=ChangeType.KEEP, after=difference.before)


async def _record_changes(saving: ApplyContext, found: Sequence[Difference], origin: Origin) -> None:
    """Record one row for each section of the file."""
    details = {**origin.details, "project": saving.read.file.project.code}
    changed = [difference for difference in found if difference.what is not ChangeType.KEEP]
    for section, section_changes in groupby(changed, key=lambda difference: difference.path[0]):
        section_details = {
            "section": section,
            "changes": [_change_values(difference) for difference in section_changes],
            **details,
        }
        entry = audit.AuditEntry(origin.action, "project", str(saving.project_public_id), section_details)
        await audit.record(saving.ctx, saving.session, entry)


def _change_values(difference: Difference) -> dict[str, Json]:
    return {
        "path": difference.pointer,
        "change": difference.what.value,
        "before": difference.before,
        "after": difference.after,
    }
