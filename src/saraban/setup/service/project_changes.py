"""Saves the changes of a project file, and closes what it leaves out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby
from typing import Final, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext, Scope
from saraban.identity.models import Organization
from saraban.identity.service import Invitation
from saraban.kit.errors import DomainError, FieldProblem
from saraban.kit.problem import pointer_of
from saraban.numbering import service as numbering
from saraban.numbering.formats.domain import FormatInUse
from saraban.numbering.series.models import NumberFormat
from saraban.projects import service as projects
from saraban.projects.domain.calendar import DayKind
from saraban.projects.models import (
    Contract,
    ContractOrganization,
    CorrespondenceType,
    Project,
    ProjectOrganization,
)
from saraban.projects.schemas import NewCalendarDay, RegisterSettings, ReviewTeamIn, TeamMemberIn
from saraban.search_index import service as search_index
from saraban.setup.domain.comparison import ChangeType, Codes, Difference, ProjectItems, Values
from saraban.setup.domain.master_kinds import FILE_LISTS
from saraban.setup.domain.master_rows import MasterRow, new_order
from saraban.setup.domain.project_yaml import ReadFile, YamlPath, add_line
from saraban.setup.repository import master_rows
from saraban.setup.repository import project_contents as repository
from saraban.setup.service import master_data
from saraban.setup.service.current_project import WEEKDAY_OF
from saraban.setup.service.master_data import MasterPlace
from saraban.workflow.administration.service import workflow_assignment

Row = TypeVar("Row", Organization, CorrespondenceType, Project, Contract)

REASON: Final = "ตามไฟล์โครงการ / Project file"


@dataclass
class ApplyContext:
    ctx: RequestContext
    session: AsyncSession
    read: ReadFile
    wanted: ProjectItems
    project: Project | None
    organizations: dict[str, Organization] = field(default_factory=dict)
    types: dict[str, int] = field(default_factory=dict)
    contracts: dict[str, Contract] = field(default_factory=dict)
    people: dict[str, UUID] = field(default_factory=dict)
    invitations: list[Invitation] = field(default_factory=list)

    @property
    def project_row(self) -> Project:
        assert self.project is not None
        return self.project

    @property
    def project_public_id(self) -> UUID:
        return self.project_row.public_id

    @contextmanager
    def field_errors_at(self, at: YamlPath, names: Mapping[str, str] | None = None) -> Iterator[None]:
        """
        Make refusals name the line and key of the file.

        :param names: keys of the file by field names of the service
        """
        try:
            yield
        except DomainError as error:
            problem = FieldProblem("", error.code.lower(), error.words, error.values)
            error.fields = tuple(self._move_to_file(field, at, names or {}) for field in error.fields or (problem,))
            raise

    def _move_to_file(self, problem: FieldProblem, at: YamlPath, names: Mapping[str, str]) -> FieldProblem:
        key = problem.pointer.strip("/").split("/")[0]
        place = (*at, names.get(key, key)) if key else at
        return add_line(self.read.lines, replace(problem, pointer=pointer_of(("body", *place))), place)


def open_row(saving: ApplyContext, row: Row, values: Values, columns: Mapping[str, str]) -> Row:
    set_columns(row, values, columns)
    row.is_active, row.deleted_at, row.updated_at = True, None, saving.ctx.now
    saving.session.add(row)
    return row


def set_columns(row: object, values: Values, columns: Mapping[str, str]) -> None:
    for key, column in columns.items():
        if key in values:
            setattr(row, column, values[key])


async def save_organizations(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    session = saving.session
    rows = saving.organizations = {row.organization_code: row for row in await repository.organizations(session)}
    renamed = [rows[change.path[1]].public_id for change in changes if change.path[1] in rows]
    await search_index.queue_renamed(session, organizations=renamed)
    roles = await repository.organization_roles(session)
    columns = {"name": "organization_name", "nameEn": "organization_name_en"}
    for change in changes:
        code = change.path[1]
        member = saving.wanted.by_path.get(("members", code))
        role_id = roles.get(member.values["role"]) if member else None
        row = rows.get(code) or Organization(organization_code=code, role_id=role_id, created_at=saving.ctx.now)
        rows[code] = open_row(saving, row, change.values, columns)


async def save_types(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    rows = {row.type_code: row for row in await repository.types(saving.session)}
    for change in changes:
        code, last = change.path[1], max((row.sort_order for row in rows.values()), default=0)
        row = rows.get(code)
        if row is None:
            row = CorrespondenceType(type_code=code, sort_order=last + 10, created_at=saving.ctx.now)
        rows[code] = open_row(saving, row, change.values, {"name": "type_name", "nameEn": "type_name_en"})
    await saving.session.flush()
    saving.types = {code: row.id for code, row in rows.items()}


async def save_project(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    columns = {"name": "project_name", "nameEn": "project_name_en", "fileKinds": "file_kinds"}
    for change in changes:
        row = saving.project or Project(project_code=change.values["code"], created_at=saving.ctx.now)
        saving.project = open_row(saving, row, change.values, columns)


async def save_members(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    for change in changes:
        organization = saving.organizations[change.path[1]]
        await saving.session.merge(
            ProjectOrganization(
                project_id=saving.project_row.id,
                organization_id=organization.id,
                role_in_project=change.values["role"],
            )
        )


async def save_contracts(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    key = saving.project_row.id
    rows = await repository.contracts(saving.session, codes=(), project_id=key)
    saving.contracts = {row.contract_code: row for row in rows}
    columns = {"name": "contract_name", "nameEn": "contract_name_en", "startDate": "start_date", "endDate": "end_date"}
    for change in changes:
        code = change.path[1]
        days = {key: change.values[key] for key in ("startDate", "endDate") if key in change.values}
        row = saving.contracts.get(code) or Contract(project_id=key, contract_code=code, created_at=saving.ctx.now)
        values = {**change.values, **{key: date.fromisoformat(day) for key, day in days.items()}}
        saving.contracts[code] = open_row(saving, row, values, columns)


async def save_parties(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    for change in changes:
        await saving.session.merge(
            ContractOrganization(
                contract_id=saving.contracts[change.path[1]].id,
                organization_id=saving.organizations[change.path[3]].id,
                role_in_contract=change.values["role"],
            )
        )


async def save_rows(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    for path, group in groupby(changes, key=lambda change: change.path[:-1]):
        kind = FILE_LISTS[path[-1]]
        place = MasterPlace(_owner_key(saving, path), Scope(), {}, {})
        keys = await master_data.reference_keys(saving.session, kind, place.key)
        current = {_path_code(row): row for row in await master_rows.rows(saving.session, kind, owner=place.key)}
        new = []
        for change in group:
            values = {"typeCode" if name == "type" else name: value for name, value in change.values.items()}
            row = current.get(change.path[-1])
            with saving.field_errors_at(change.at):
                complete = master_data.complete_values(kind, values) if row is None else values
                columns = master_data.column_values(kind, complete, keys)
            if row is None:
                new.append((change.at, complete, columns))
                continue
            columns |= {
                "is_active": True,
                **dict.fromkeys(master_rows.timestamp_columns(kind, "updated_at"), saving.ctx.now),
            }
            await master_rows.update(saving.session, kind, [(row.key, columns)])
            await master_data.save_pairs(saving.session, kind, place.key, {row.code: values})
        if new:
            with saving.field_errors_at(new[0][0]):
                await master_data.write_new(saving.ctx, saving.session, kind, place, [row[1:] for row in new])


def _owner_key(saving: ApplyContext, path: Codes) -> int:
    return saving.contracts[path[1]].id if path[0] == "contracts" else saving.project_row.id


def _path_code(row: MasterRow) -> str:
    return f"{row.within} {row.code}" if row.within else row.code


async def save_order(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    lists = {change.path if "order" in change.values else change.path[:-1]: None for change in changes}
    for path in lists:
        if path and path[-1] in FILE_LISTS:
            kind = FILE_LISTS[path[-1]]
            rows = await master_rows.rows(saving.session, kind, owner=_owner_key(saving, path))
            names = {_path_code(row): f"{row.code} {row.within}".strip() for row in rows}
            wanted = [names[item[-1]] for item in saving.wanted.by_path if item[:-1] == path]
            places = new_order(rows, wanted)
            moved = [(row.key, {"sort_order": places[row.key]}) for row in rows if row.sort_order != places[row.key]]
            await master_rows.update(saving.session, kind, moved)


async def save_people(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    names = {"organizationCode": "organization"}
    for change in changes:
        if change.what is ChangeType.CHANGE:
            with saving.field_errors_at(change.at, names):
                await _change_account(saving, change)
    new = [change for change in changes if change.what is not ChangeType.CHANGE]
    accounts = [
        identity.NewAccount(
            values["username"], values["email"], values["firstName"], values["lastName"], values.get("organization")
        )
        for values in (change.values for change in new)
    ]
    saving.invitations += await identity.invite_users(
        saving.ctx, saving.session, accounts, at=lambda index: saving.field_errors_at(new[index].at, names)
    )


async def _change_account(saving: ApplyContext, change: Difference) -> None:
    row = await repository.account(saving.session, username=change.path[1])
    set_columns(row, change.values, {"email": "email", "firstName": "first_name", "lastName": "last_name"})
    if "organization" in change.values:
        row.primary_organization_id = saving.organizations[change.values["organization"]].id
    if not {"firstName", "lastName"}.isdisjoint(change.values):
        await search_index.queue_renamed(saving.session, people=[row.public_id])
    row.updated_at = saving.ctx.now


def role_grant(values: Values) -> identity.RoleGrant:
    place = values.get("place")
    return identity.RoleGrant(values["role"], **({f"{values['level'].lower()}_code": place} if place else {}))


async def save_roles(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    names = {"role": "role", "organizationCode": "place", "projectCode": "place", "contractCode": "place"}
    await identity.grant_roles(
        saving.ctx,
        saving.session,
        [(change.path[1], role_grant(change.values)) for change in changes],
        at=lambda index: saving.field_errors_at(changes[index].at, names),
    )


async def save_teams(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    project = saving.project_public_id
    for change in changes:
        with saving.field_errors_at(change.at, {"nameTh": "name"}):
            english = change.values.get("nameEn") or await _english_name(saving, change) or change.values["name"]
            order = ReviewTeamIn(name_th=change.values["name"], name_en=english)
            await projects.save_team(
                saving.ctx, saving.session, project_public_id=project, code=change.path[1], order=order
            )


async def _english_name(saving: ApplyContext, change: Difference) -> str | None:
    rows = await repository.teams(saving.session, project_id=saving.project_row.id)
    return next((row.name_en for row in rows if row.team_code == change.path[1]), None)


async def account_ids(saving: ApplyContext) -> Mapping[str, UUID]:
    if not saving.people:
        accounts = await repository.accounts(saving.session)
        saving.people = {name: row.User.public_id for name, row in accounts.items()}
    return saving.people


async def save_seats(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    people, project = await account_ids(saving), saving.project_public_id
    for change in changes:
        code, user = change.path[1], people[change.path[3]]
        order = TeamMemberIn(
            discipline_code=change.values.get("discipline"), role=change.values.get("role") or "REVIEWER"
        )
        with saving.field_errors_at(change.at, {"disciplineCode": "discipline"}):
            await projects.save_member(
                saving.ctx, saving.session, project_public_id=project, code=code, user_public_id=user, order=order
            )


async def save_formats(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    names = {
        "correspondenceTypeCode": "type",
        "subTypeCode": "subType",
        "rfaTypeCode": "rfaType",
        "disciplineCode": "discipline",
        "resetSequenceYearly": "resetYearly",
    }
    for change in changes:
        resets = change.values.get("resetYearly")
        if resets is None and change.what is ChangeType.CHANGE and "template" not in (change.before or {}):
            row = await find_format(saving, change.values)
            resets = row.reset_sequence_yearly if row else None
        wanted = numbering.FormatDraft(
            template=change.values["template"],
            description=change.values.get("description"),
            resets=resets,
            overflow=numbering.OverflowRule(change.values.get("overflow") or "widen"),
            reason=REASON,
        )
        target = numbering.FormatTarget(saving.project_public_id, change.values.get("type"), _narrowing(change.values))
        with saving.field_errors_at(change.at, names):
            await numbering.save_format(saving.ctx, saving.session, target, wanted)


def _narrowing(values: Values) -> numbering.Narrowing:
    return numbering.Narrowing(*(values.get(key) or "" for key in ("subType", "rfaType", "discipline")))


async def find_format(saving: ApplyContext, values: Values) -> NumberFormat | None:
    rows = await repository.formats(saving.session, project_id=saving.project_row.id)
    wanted = values.get("type"), _narrowing(values)
    return next((row[0] for row in rows if (row.type_code, repository.narrowing(row[0])) == wanted), None)


def assignment_target(saving: ApplyContext, values: Values) -> workflow_assignment.AssignmentTarget:
    return workflow_assignment.AssignmentTarget(values["kind"].lower(), values.get("type"), saving.project_public_id)


async def save_assignments(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    for change in changes:
        with saving.field_errors_at(change.at, {"workflowCode": "workflow", "typeCode": "type"}):
            place, code = assignment_target(saving, change.values), change.values["workflow"]
            await workflow_assignment.assign(saving.ctx, saving.session, place=place, workflow_code=code)


async def save_calendar(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    ctx, session, project = saving.ctx, saving.session, saving.project_public_id
    for change in changes:
        if "weekend" in change.values:
            weekend = [WEEKDAY_OF[code] for code in change.values["weekend"]]
            await projects.set_weekend(ctx, session, project_public_id=project, weekend=weekend)


async def save_days(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    ctx, session, project = saving.ctx, saving.session, saving.project_public_id
    for change in changes:
        name, day = change.values["name"], date.fromisoformat(change.values["date"])
        kind = DayKind(change.values["kind"].upper())
        order = NewCalendarDay(kind=kind, name_th=name, name_en=change.values.get("nameEn") or name)
        with saving.field_errors_at(change.at):
            await projects.add_day(ctx, session, project_public_id=project, day=day, order=order)


async def save_registers(saving: ApplyContext, changes: Sequence[Difference]) -> None:
    session, at = saving.session, saving.project_public_id
    for change in changes:
        values = dict(change.values)
        kind = values.pop("kind")  # what the file leaves out of a register stays as it is
        current = await projects.read_drawing_settings(saving.ctx, session, project_public_id=at, register=kind)
        new = RegisterSettings.model_validate(current.model_dump(by_alias=True) | values)
        with saving.field_errors_at(change.at):
            await projects.save_drawing_settings(saving.ctx, session, project_public_id=at, register=kind, wanted=new)


async def close(saving: ApplyContext, change: Difference) -> bool:
    """Return whether the item could be closed because nothing needed it."""
    match change.path:
        case ("members", code):
            return await _close_member(saving, code)
        case ("contracts", code):
            return await _close_contract(saving, saving.contracts[code])
        case ("contracts", contract, "parties", code):
            return await _close_party(saving, contract, code)
        case ("contracts", _, section, _):
            return await _close_code(saving, section, change)
        case ("numberFormats", _):
            return await _close_format(saving, change)
        case (section, code) if section in FILE_LISTS:
            return await _close_listed(saving, change.path)
    await _close_by_service(saving, change)
    return True


async def _close_by_service(saving: ApplyContext, change: Difference) -> None:
    ctx, session, values, project = saving.ctx, saving.session, change.values, saving.project_public_id
    match change.path:
        case ("assignments", _):
            await workflow_assignment.unassign(ctx, session, place=assignment_target(saving, values))
        case ("calendar", "days", _):
            day = date.fromisoformat(values["date"])
            await projects.remove_day(ctx, session, project_public_id=project, day=day)
        case ("drawingRegisters", kind):
            await projects.reset_drawing_settings(ctx, session, project_public_id=project, register=kind)
        case ("reviewTeams", code):
            await projects.remove_team(ctx, session, project_public_id=project, code=code)
        case ("reviewTeams", code, "members", person):
            user = (await account_ids(saving))[person]
            await projects.remove_member(ctx, session, project_public_id=project, code=code, user_public_id=user)
        case ("people", username, "roles", _):
            await identity.revoke_role(ctx, session, username, role_grant(values))


async def _close_member(saving: ApplyContext, code: str) -> bool:
    organization = saving.organizations[code]
    keys = {"project_id": saving.project_row.id, "organization_id": organization.id}
    if await repository.is_party(saving.session, **keys) or await repository.has_numbers(saving.session, **keys):
        return False
    await repository.delete_where(saving.session, ProjectOrganization, **keys)
    return True


async def _close_party(saving: ApplyContext, contract: str, code: str) -> bool:
    organization = {"organization_id": saving.organizations[code].id}
    if await repository.has_numbers(saving.session, project_id=saving.project_row.id, **organization):
        return False
    keys = {"contract_id": saving.contracts[contract].id, **organization}
    await repository.delete_where(saving.session, ContractOrganization, **keys)
    return True


async def _close_code(saving: ApplyContext, section: str, change: Difference) -> bool:
    return not await _is_named(saving, section, change.values["code"]) and await _close_listed(saving, change.path)


async def _close_listed(saving: ApplyContext, path: Codes) -> bool:
    kind = FILE_LISTS[path[-2]]
    rows = await master_rows.rows(saving.session, kind, owner=_owner_key(saving, path))
    row = next(row for row in rows if _path_code(row) == path[-1])
    if await repository.is_referenced(saving.session, kind.table, key=row.key):
        return False
    await master_rows.update(saving.session, kind, [(row.key, {"is_active": False})])
    return True


async def _is_named(saving: ApplyContext, section: str, code: str) -> bool:
    """Search number formats and team seats, which name codes without a contract."""
    place = ("subTypes", "rfaTypes", "disciplines").index(section)
    project = {"project_id": saving.project_row.id}
    narrowed = [repository.narrowing(row[0])[place] for row in await repository.formats(saving.session, **project)]
    seats = await repository.seats(saving.session, **project) if section == "disciplines" else ()
    return code in narrowed or code in {row.ReviewTeamMember.discipline_code for row in seats}


async def _close_contract(saving: ApplyContext, row: Contract) -> bool:
    if await repository.is_referenced(saving.session, Contract.__tablename__, key=row.id):
        return False
    row.is_active = False
    await saving.session.flush()
    return True


async def _close_format(saving: ApplyContext, change: Difference) -> bool:
    row = await find_format(saving, change.values)
    assert row is not None
    try:
        await numbering.delete_format(saving.ctx, saving.session, public_id=row.public_id, reason=REASON)
    except FormatInUse:
        return False
    return True
