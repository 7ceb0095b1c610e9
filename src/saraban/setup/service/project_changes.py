"""
Saves what a project file adds and changes, and closes what it leaves out where nothing refers to it.

What has rules of its own goes through the service that keeps them, whose refusals get the line and key of the file.
"""

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
from saraban.setup.domain.project_yaml import ReadFile, YamlPath, located
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
    """What the parts of a file are saved with; the rows are those of the project, by their codes."""

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
    def placed(self, at: YamlPath, names: Mapping[str, str] | None = None) -> Iterator[None]:
        """
        Have a refusal name line and key of the file.

        :param names: keys of the file by the fields of the service
        """
        try:
            yield
        except DomainError as error:
            own = FieldProblem("", error.code.lower(), error.words, error.values)
            error.fields = tuple(self._located(one, at, names or {}) for one in error.fields or (own,))
            raise

    def _located(self, problem: FieldProblem, at: YamlPath, names: Mapping[str, str]) -> FieldProblem:
        key = problem.pointer.strip("/").split("/")[0]
        place = (*at, names.get(key, key)) if key else at
        return located(self.read.lines, replace(problem, pointer=pointer_of(("body", *place))), place)


def open_row(saving: ApplyContext, row: Row, values: Values, columns: Mapping[str, str]) -> Row:
    """
    Add a row, or change it and open it again.

    :param columns: by the keys of the file
    """
    fill(row, values, columns)
    row.is_active, row.deleted_at, row.updated_at = True, None, saving.ctx.now
    saving.session.add(row)
    return row


def fill(row: object, values: Values, columns: Mapping[str, str]) -> None:
    for key, column in columns.items():
        if key in values:
            setattr(row, column, values[key])


async def save_organizations(saving: ApplyContext, those: Sequence[Difference]) -> None:
    session = saving.session
    there = saving.organizations = {row.organization_code: row for row in await repository.organizations(session)}
    renamed = [there[one.path[1]].public_id for one in those if one.path[1] in there]
    await search_index.queue_renamed(session, organizations=renamed)
    roles = await repository.organization_roles(session)
    columns = {"name": "organization_name", "nameEn": "organization_name_en"}
    for one in those:
        code = one.path[1]
        member = saving.wanted.found.get(("members", code))
        role_id = roles.get(member.values["role"]) if member else None
        row = there.get(code) or Organization(organization_code=code, role_id=role_id, created_at=saving.ctx.now)
        there[code] = open_row(saving, row, one.values, columns)


async def save_types(saving: ApplyContext, those: Sequence[Difference]) -> None:
    rows = {row.type_code: row for row in await repository.types(saving.session)}
    for one in those:
        code, last = one.path[1], max((row.sort_order for row in rows.values()), default=0)
        row = rows.get(code)
        if row is None:
            row = CorrespondenceType(type_code=code, sort_order=last + 10, created_at=saving.ctx.now)
        rows[code] = open_row(saving, row, one.values, {"name": "type_name", "nameEn": "type_name_en"})
    await saving.session.flush()
    saving.types = {code: row.id for code, row in rows.items()}


async def save_project(saving: ApplyContext, those: Sequence[Difference]) -> None:
    columns = {"name": "project_name", "nameEn": "project_name_en", "fileKinds": "file_kinds"}
    for one in those:
        row = saving.project or Project(project_code=one.values["code"], created_at=saving.ctx.now)
        saving.project = open_row(saving, row, one.values, columns)


async def save_members(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        organization = saving.organizations[one.path[1]]
        await saving.session.merge(
            ProjectOrganization(
                project_id=saving.project_row.id,
                organization_id=organization.id,
                role_in_project=one.values["role"],
            )
        )


async def save_contracts(saving: ApplyContext, those: Sequence[Difference]) -> None:
    key = saving.project_row.id
    rows = await repository.contracts(saving.session, codes=(), project_id=key)
    saving.contracts = {row.contract_code: row for row in rows}
    columns = {"name": "contract_name", "nameEn": "contract_name_en", "startDate": "start_date", "endDate": "end_date"}
    for one in those:
        code, days = one.path[1], {key: one.values[key] for key in ("startDate", "endDate") if key in one.values}
        row = saving.contracts.get(code) or Contract(project_id=key, contract_code=code, created_at=saving.ctx.now)
        values = {**one.values, **{key: date.fromisoformat(day) for key, day in days.items()}}
        saving.contracts[code] = open_row(saving, row, values, columns)


async def save_parties(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        await saving.session.merge(
            ContractOrganization(
                contract_id=saving.contracts[one.path[1]].id,
                organization_id=saving.organizations[one.path[3]].id,
                role_in_contract=one.values["role"],
            )
        )


async def save_rows(saving: ApplyContext, those: Sequence[Difference]) -> None:
    """Add and change rows of the lists that stand in a file; a closed one is open again."""
    for path, found in groupby(those, key=lambda one: one.path[:-1]):
        kind = FILE_LISTS[path[-1]]
        place = MasterPlace(_owner(saving, path), Scope(), {}, {})
        keys = await master_data.reference_keys(saving.session, kind, place.key)
        there = {_name(row): row for row in await master_rows.rows(saving.session, kind, owner=place.key)}
        new = []
        for one in found:
            values = {"typeCode" if name == "type" else name: value for name, value in one.values.items()}
            row = there.get(one.path[-1])
            with saving.placed(one.at):
                whole = master_data.with_defaults(kind, values) if row is None else values
                columns = master_data.as_columns(kind, whole, keys)
            if row is None:
                new.append((one.at, whole, columns))
                continue
            columns |= {"is_active": True, **dict.fromkeys(master_rows.stamps(kind, "updated_at"), saving.ctx.now)}
            await master_rows.update(saving.session, kind, [(row.key, columns)])
            await master_data.save_pairs(saving.session, kind, place.key, {row.code: values})
        if new:
            with saving.placed(new[0][0]):
                await master_data.write_new(saving.ctx, saving.session, kind, place, [row[1:] for row in new])


def _owner(saving: ApplyContext, path: Codes) -> int:
    return saving.contracts[path[1]].id if path[0] == "contracts" else saving.project_row.id


def _name(row: MasterRow) -> str:
    """As a path of the file names it."""
    return f"{row.within} {row.code}" if row.within else row.code


async def save_order(saving: ApplyContext, found: Sequence[Difference]) -> None:
    """Put lists into the order of the file, where something is new in them or stands elsewhere."""
    lists = {one.path if "order" in one.values else one.path[:-1]: None for one in found}
    for path in lists:
        if path and path[-1] in FILE_LISTS:
            kind = FILE_LISTS[path[-1]]
            rows = await master_rows.rows(saving.session, kind, owner=_owner(saving, path))
            names = {_name(row): f"{row.code} {row.within}".strip() for row in rows}
            wanted = [names[one[-1]] for one in saving.wanted.found if one[:-1] == path]
            places = new_order(rows, wanted)
            moved = [(row.key, {"sort_order": places[row.key]}) for row in rows if row.sort_order != places[row.key]]
            await master_rows.update(saving.session, kind, moved)


async def save_people(saving: ApplyContext, those: Sequence[Difference]) -> None:
    names = {"organizationCode": "organization"}
    for one in those:
        if one.what is ChangeType.CHANGE:
            with saving.placed(one.at, names):
                await _account(saving, one)
    new = [one for one in those if one.what is not ChangeType.CHANGE]
    accounts = [
        identity.NewAccount(
            values["username"], values["email"], values["firstName"], values["lastName"], values.get("organization")
        )
        for values in (one.values for one in new)
    ]
    saving.invitations += await identity.invite_users(
        saving.ctx, saving.session, accounts, at=lambda index: saving.placed(new[index].at, names)
    )


async def _account(saving: ApplyContext, one: Difference) -> None:
    """What may differ of an account: the address, the names and the organization."""
    row = await repository.account(saving.session, username=one.path[1])
    fill(row, one.values, {"email": "email", "firstName": "first_name", "lastName": "last_name"})
    if "organization" in one.values:
        row.primary_organization_id = saving.organizations[one.values["organization"]].id
    if not {"firstName", "lastName"}.isdisjoint(one.values):
        await search_index.queue_renamed(saving.session, people=[row.public_id])
    row.updated_at = saving.ctx.now


def role_grant(values: Values) -> identity.RoleGrant:
    place = values.get("place")
    return identity.RoleGrant(values["role"], **({f"{values['level'].lower()}_code": place} if place else {}))


async def save_roles(saving: ApplyContext, those: Sequence[Difference]) -> None:
    names = {"role": "role", "organizationCode": "place", "projectCode": "place", "contractCode": "place"}
    await identity.grant_roles(
        saving.ctx,
        saving.session,
        [(one.path[1], role_grant(one.values)) for one in those],
        at=lambda index: saving.placed(those[index].at, names),
    )


async def save_teams(saving: ApplyContext, those: Sequence[Difference]) -> None:
    project = saving.project_public_id
    for one in those:
        with saving.placed(one.at, {"nameTh": "name"}):
            english = one.values.get("nameEn") or await _english(saving, one) or one.values["name"]
            order = ReviewTeamIn(name_th=one.values["name"], name_en=english)
            await projects.save_team(
                saving.ctx, saving.session, project_public_id=project, code=one.path[1], order=order
            )


async def _english(saving: ApplyContext, one: Difference) -> str | None:
    rows = await repository.teams(saving.session, project_id=saving.project_row.id)
    return next((row.name_en for row in rows if row.team_code == one.path[1]), None)


async def seated(saving: ApplyContext) -> Mapping[str, UUID]:
    """The public ids of accounts, by user name."""
    if not saving.people:
        accounts = await repository.accounts(saving.session)
        saving.people = {name: row.User.public_id for name, row in accounts.items()}
    return saving.people


async def save_seats(saving: ApplyContext, those: Sequence[Difference]) -> None:
    people, project = await seated(saving), saving.project_public_id
    for one in those:
        code, user = one.path[1], people[one.path[3]]
        order = TeamMemberIn(discipline_code=one.values.get("discipline"), role=one.values.get("role") or "REVIEWER")
        with saving.placed(one.at, {"disciplineCode": "discipline"}):
            await projects.save_member(
                saving.ctx, saving.session, project_public_id=project, code=code, user_public_id=user, order=order
            )


async def save_formats(saving: ApplyContext, those: Sequence[Difference]) -> None:
    names = {
        "correspondenceTypeCode": "type",
        "subTypeCode": "subType",
        "rfaTypeCode": "rfaType",
        "disciplineCode": "discipline",
        "resetSequenceYearly": "resetYearly",
    }
    for one in those:
        resets = one.values.get("resetYearly")
        if resets is None and one.what is ChangeType.CHANGE and "template" not in (one.before or {}):
            row = await format_there(saving, one.values)
            resets = row.reset_sequence_yearly if row else None
        wanted = numbering.FormatDraft(
            template=one.values["template"],
            description=one.values.get("description"),
            resets=resets,
            overflow=numbering.OverflowRule(one.values.get("overflow") or "widen"),
            reason=REASON,
        )
        target = numbering.FormatTarget(saving.project_public_id, one.values.get("type"), _narrowing(one.values))
        with saving.placed(one.at, names):
            await numbering.save_format(saving.ctx, saving.session, target, wanted)


def _narrowing(values: Values) -> numbering.Narrowing:
    return numbering.Narrowing(*(values.get(key) or "" for key in ("subType", "rfaType", "discipline")))


async def format_there(saving: ApplyContext, values: Values) -> NumberFormat | None:
    rows = await repository.formats(saving.session, project_id=saving.project_row.id)
    wanted = values.get("type"), _narrowing(values)
    return next((row[0] for row in rows if (row.type_code, repository.narrowing(row[0])) == wanted), None)


def choice_place(saving: ApplyContext, values: Values) -> workflow_assignment.AssignmentTarget:
    return workflow_assignment.AssignmentTarget(values["kind"].lower(), values.get("type"), saving.project_public_id)


async def save_assignments(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        with saving.placed(one.at, {"workflowCode": "workflow", "typeCode": "type"}):
            place, code = choice_place(saving, one.values), one.values["workflow"]
            await workflow_assignment.assign(saving.ctx, saving.session, place=place, workflow_code=code)


async def save_calendar(saving: ApplyContext, those: Sequence[Difference]) -> None:
    ctx, session, project = saving.ctx, saving.session, saving.project_public_id
    for one in those:
        if "weekend" in one.values:
            weekend = [WEEKDAY_OF[code] for code in one.values["weekend"]]
            await projects.set_weekend(ctx, session, project_public_id=project, weekend=weekend)


async def save_days(saving: ApplyContext, those: Sequence[Difference]) -> None:
    ctx, session, project = saving.ctx, saving.session, saving.project_public_id
    for one in those:
        name, day = one.values["name"], date.fromisoformat(one.values["date"])
        kind = DayKind(one.values["kind"].upper())
        order = NewCalendarDay(kind=kind, name_th=name, name_en=one.values.get("nameEn") or name)
        with saving.placed(one.at):
            await projects.add_day(ctx, session, project_public_id=project, day=day, order=order)


async def save_registers(saving: ApplyContext, those: Sequence[Difference]) -> None:
    session, at = saving.session, saving.project_public_id
    for one in those:
        decided = dict(one.values)
        kind = decided.pop("kind")  # what the file leaves out of a register stays as it is
        there = await projects.read_drawing_settings(saving.ctx, session, project_public_id=at, register=kind)
        new = RegisterSettings.model_validate(there.model_dump(by_alias=True) | decided)
        with saving.placed(one.at):
            await projects.save_drawing_settings(saving.ctx, session, project_public_id=at, register=kind, wanted=new)


async def close(saving: ApplyContext, one: Difference) -> bool:
    """Close one thing, and say whether nothing needed it."""
    match one.path:
        case ("members", code):
            return await _member(saving, code)
        case ("contracts", code):
            return await _contract(saving, saving.contracts[code])
        case ("contracts", contract, "parties", code):
            return await _party(saving, contract, code)
        case ("contracts", _, section, _):
            return await _coded(saving, section, one)
        case ("numberFormats", _):
            return await _format(saving, one)
        case (section, code) if section in FILE_LISTS:
            return await _close_listed(saving, one.path)
    await _by_service(saving, one)
    return True


async def _by_service(saving: ApplyContext, one: Difference) -> None:
    """What has a service that closes it; none of these is referred to by anything."""
    ctx, session, values, project = saving.ctx, saving.session, one.values, saving.project_public_id
    match one.path:
        case ("assignments", _):
            await workflow_assignment.unassign(ctx, session, place=choice_place(saving, values))
        case ("calendar", "days", _):
            day = date.fromisoformat(values["date"])
            await projects.remove_day(ctx, session, project_public_id=project, day=day)
        case ("drawingRegisters", kind):
            await projects.reset_drawing_settings(ctx, session, project_public_id=project, register=kind)
        case ("reviewTeams", code):
            await projects.remove_team(ctx, session, project_public_id=project, code=code)
        case ("reviewTeams", code, "members", person):
            user = (await seated(saving))[person]
            await projects.remove_member(ctx, session, project_public_id=project, code=code, user_public_id=user)
        case ("people", username, "roles", _):
            await identity.revoke_role(ctx, session, username, role_grant(values))


async def _member(saving: ApplyContext, code: str) -> bool:
    organization = saving.organizations[code]
    asked = {"project_id": saving.project_row.id, "organization_id": organization.id}
    if await repository.is_party(saving.session, **asked) or await repository.has_numbers(saving.session, **asked):
        return False
    await repository.delete_where(saving.session, ProjectOrganization, **asked)
    return True


async def _party(saving: ApplyContext, contract: str, code: str) -> bool:
    organization = {"organization_id": saving.organizations[code].id}
    if await repository.has_numbers(saving.session, project_id=saving.project_row.id, **organization):
        return False
    here = {"contract_id": saving.contracts[contract].id, **organization}
    await repository.delete_where(saving.session, ContractOrganization, **here)
    return True


async def _coded(saving: ApplyContext, section: str, one: Difference) -> bool:
    return not await _is_named(saving, section, one.values["code"]) and await _close_listed(saving, one.path)


async def _close_listed(saving: ApplyContext, path: Codes) -> bool:
    kind = FILE_LISTS[path[-2]]
    rows = await master_rows.rows(saving.session, kind, owner=_owner(saving, path))
    row = next(row for row in rows if _name(row) == path[-1])
    if await repository.referred(saving.session, kind.table, key=row.key):
        return False
    await master_rows.update(saving.session, kind, [(row.key, {"is_active": False})])
    return True


async def _is_named(saving: ApplyContext, section: str, code: str) -> bool:
    """Whether a number format or a place in a team names a code: these know no contract."""
    place = ("subTypes", "rfaTypes", "disciplines").index(section)
    asked = {"project_id": saving.project_row.id}
    narrowed = [repository.narrowing(row[0])[place] for row in await repository.formats(saving.session, **asked)]
    seats = await repository.seats(saving.session, **asked) if section == "disciplines" else ()
    return code in narrowed or code in {row.ReviewTeamMember.discipline_code for row in seats}


async def _contract(saving: ApplyContext, row: Contract) -> bool:
    if await repository.referred(saving.session, Contract.__tablename__, key=row.id):
        return False
    row.is_active = False
    await saving.session.flush()
    return True


async def _format(saving: ApplyContext, one: Difference) -> bool:
    row = await format_there(saving, one.values)
    assert row is not None
    try:
        await numbering.delete_format(saving.ctx, saving.session, public_id=row.public_id, reason=REASON)
    except FormatInUse:
        return False
    return True
