"""Closes what a project file leaves out, where nothing refers to it."""

from datetime import date
from typing import Any

from sqlalchemy import delete

from saraban.identity import service as identity
from saraban.numbering import service as numbering
from saraban.numbering.formats.service.formats import FormatInUse
from saraban.projects import service as projects
from saraban.projects.models import ContractOrganization, ProjectOrganization
from saraban.setup import repository
from saraban.setup.domain.comparison import Difference
from saraban.setup.service.apply_context import REASON, ApplyContext
from saraban.setup.service.configuration import choice_place, format_there, role_grant, seated
from saraban.workflow.administration.service import workflow_assignment


async def close(saving: ApplyContext, one: Difference) -> bool:
    """Close one thing, and say whether nothing needed it."""
    match one.path:
        case ("members", code):
            return await _member(saving, code)
        case ("contracts", code):
            return await _row(saving, saving.contracts[code])
        case ("contracts", contract, "parties", code):
            return await _party(saving, contract, code)
        case ("contracts", contract, section, _):
            return await _coded(saving, contract, section, one)
        case ("numberFormats", _):
            return await _format(saving, one)
    await _by_service(saving, one)
    return True


async def _by_service(saving: ApplyContext, one: Difference) -> None:
    """What has a service that closes it; none of these is referred to by anything."""
    ctx, session, values = saving.ctx, saving.session, one.values
    match one.path:
        case ("assignments", _):
            place = choice_place(saving, values)
            await workflow_assignment.unassign(ctx, session, place=place)
        case ("calendar", "days", _):
            day = date.fromisoformat(values["date"])
            await projects.remove_day(ctx, session, project_public_id=saving.project_public_id, day=day)
        case ("reviewTeams", code):
            await projects.remove_team(ctx, session, project_public_id=saving.project_public_id, code=code)
        case ("reviewTeams", code, "members", person):
            people = await seated(saving)
            await projects.remove_member(
                ctx,
                session,
                project_public_id=saving.project_public_id,
                code=code,
                user_public_id=people[person],
            )
        case ("people", username, "roles", _):
            await identity.revoke_role(ctx, session, username, role_grant(values))


async def _member(saving: ApplyContext, code: str) -> bool:
    organization = saving.organizations[code]
    asked = {"project_id": saving.project_row.id, "organization_id": organization.id}
    if await repository.is_party(saving.session, **asked) or await repository.has_numbers(saving.session, **asked):
        return False
    await saving.session.execute(
        delete(ProjectOrganization).where(
            ProjectOrganization.project_id == asked["project_id"],
            ProjectOrganization.organization_id == asked["organization_id"],
        )
    )
    return True


async def _party(saving: ApplyContext, contract: str, code: str) -> bool:
    key, organization = saving.contracts[contract].id, saving.organizations[code]
    asked = {"project_id": saving.project_row.id, "organization_id": organization.id}
    if await repository.has_numbers(saving.session, **asked):
        return False
    await saving.session.execute(
        delete(ContractOrganization).where(
            ContractOrganization.contract_id == key, ContractOrganization.organization_id == organization.id
        )
    )
    return True


async def _coded(saving: ApplyContext, contract: str, section: str, one: Difference) -> bool:
    key, code = saving.contracts[contract].id, one.values["code"]
    asked = {"project_id": saving.project_row.id}
    found: Any = None
    if await _is_named(saving, section, code):
        return False
    if section == "disciplines":
        rows: Any = await repository.disciplines(saving.session, **asked)
        found = next(row for row in rows if (row.contract_id, row.discipline_code) == (key, code))
    elif section == "rfaTypes":
        rows = await repository.rfa_types(saving.session, **asked)
        found = next(row for row in rows if (row.contract_id, row.type_code) == (key, code))
    else:
        rows = await repository.sub_types(saving.session, **asked)
        known = {(row[0].contract_id, row.type_code, row[0].sub_type_code): row[0] for row in rows}
        found = known[key, one.values["type"], code]
    return await _row(saving, found)


async def _is_named(saving: ApplyContext, section: str, code: str) -> bool:
    """Whether a number format or a place in a team names a code: these know no contract."""
    place = ("subTypes", "rfaTypes", "disciplines").index(section)
    asked = {"project_id": saving.project_row.id}
    narrowed = [repository.narrowing(row[0])[place] for row in await repository.formats(saving.session, **asked)]
    seats = await repository.seats(saving.session, **asked) if section == "disciplines" else ()
    return code in narrowed or code in {row.ReviewTeamMember.discipline_code for row in seats}


async def _row(saving: ApplyContext, row: Any) -> bool:
    if await repository.referred(saving.session, type(row), key=row.id):
        return False
    if hasattr(row, "is_active"):
        row.is_active = False
    else:
        await saving.session.delete(row)
    await saving.session.flush()
    return True


async def _format(saving: ApplyContext, one: Difference) -> bool:
    row = await format_there(saving, one.values)
    assert row is not None
    try:
        await numbering.delete_format(
            saving.ctx,
            saving.session,
            public_id=row.public_id,
            reason=REASON,
        )
    except FormatInUse:
        return False
    return True
