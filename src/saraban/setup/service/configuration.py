"""Saves what has rules of its own through the service that keeps them: accounts, roles, teams, formats, workflows, days."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from saraban.identity import service as identity
from saraban.identity.models import User
from saraban.numbering import service as numbering
from saraban.numbering.series.models import NumberFormat
from saraban.projects import service as projects
from saraban.projects.schemas import NewCalendarDay, ReviewTeamIn, TeamMemberIn
from saraban.setup import repository
from saraban.setup.domain.comparison import ChangeType, Difference, Values
from saraban.setup.service.apply_context import REASON, ApplyContext, fill
from saraban.setup.service.current_project import WEEKDAY_OF
from saraban.workflow.administration.service import workflow_assignment


async def save_people(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        values = one.values
        with saving.placed(one.at, {"organizationCode": "organization"}):
            if one.what is ChangeType.CHANGE:
                await _account(saving, one)
                continue
            names = values["firstName"], values["lastName"]
            account = identity.NewAccount(values["username"], values["email"], *names, values.get("organization"))
            invitation = await identity.invite_user(saving.ctx, saving.session, account)
            saving.invitations.append(invitation)


async def _account(saving: ApplyContext, one: Difference) -> None:
    """What may differ of an account: the address, the names and the organization."""
    row = await saving.session.scalar(sa.select(User).where(User.username == one.path[1]))
    assert row is not None
    fill(row, one.values, {"email": "email", "firstName": "first_name", "lastName": "last_name"})
    if "organization" in one.values:
        row.primary_organization_id = saving.organizations[one.values["organization"]].id
    row.updated_at = saving.ctx.now


def role_grant(values: Values) -> identity.RoleGrant:
    place = values.get("place")
    return identity.RoleGrant(values["role"], **({f"{values['level'].lower()}_code": place} if place else {}))


async def save_roles(saving: ApplyContext, those: Sequence[Difference]) -> None:
    names = {"role": "role", "organizationCode": "place", "projectCode": "place", "contractCode": "place"}
    for one in those:
        with saving.placed(one.at, names):
            await identity.grant_role(saving.ctx, saving.session, one.path[1], role_grant(one.values))


async def save_teams(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        with saving.placed(one.at, {"nameTh": "name"}):
            english = one.values.get("nameEn") or await _english(saving, one) or one.values["name"]
            order = ReviewTeamIn(name_th=one.values["name"], name_en=english)
            await projects.save_team(
                saving.ctx, saving.session, project_public_id=saving.project_public_id, code=one.path[1], order=order
            )


async def _english(saving: ApplyContext, one: Difference) -> str | None:
    """The English name that a team has, where the file says none."""
    rows = await repository.teams(saving.session, project_id=saving.project_row.id)
    return next((row.name_en for row in rows if row.team_code == one.path[1]), None)


async def seated(saving: ApplyContext) -> Mapping[str, UUID]:
    """The public ids of accounts, by user name."""
    if not saving.people:
        accounts = await repository.accounts(saving.session)
        saving.people = {name: row.User.public_id for name, row in accounts.items()}
    return saving.people


async def save_seats(saving: ApplyContext, those: Sequence[Difference]) -> None:
    people = await seated(saving)
    for one in those:
        order = TeamMemberIn(discipline_code=one.values.get("discipline"), role=one.values.get("role") or "REVIEWER")
        with saving.placed(one.at, {"disciplineCode": "discipline"}):
            await projects.save_member(
                saving.ctx,
                saving.session,
                project_public_id=saving.project_public_id,
                code=one.path[1],
                user_public_id=people[one.path[3]],
                order=order,
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
        before = one.before or {}
        resets = one.values.get("resetYearly")
        if resets is None and one.what is ChangeType.CHANGE and "template" not in before:
            resets = await _resets(saving, one)
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


async def _resets(saving: ApplyContext, one: Difference) -> bool | None:
    row = await format_there(saving, one.values)
    return row.reset_sequence_yearly if row else None


async def format_there(saving: ApplyContext, values: Values) -> NumberFormat | None:
    """Find the format that is for the same documents."""
    rows = await repository.formats(saving.session, project_id=saving.project_row.id)
    wanted = values.get("type"), _narrowing(values)
    return next((row[0] for row in rows if (row.type_code, repository.narrowing(row[0])) == wanted), None)


def choice_place(saving: ApplyContext, values: Values) -> workflow_assignment.AssignmentTarget:
    """Name the documents that a workflow is assigned to."""
    return workflow_assignment.AssignmentTarget(
        values["kind"].lower(), values.get("type"), saving.project_row.public_id
    )


async def save_assignments(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        with saving.placed(one.at, {"workflowCode": "workflow", "typeCode": "type"}):
            await workflow_assignment.assign(
                saving.ctx,
                saving.session,
                place=choice_place(saving, one.values),
                workflow_code=one.values["workflow"],
            )


async def save_calendar(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        weekend: Any = [WEEKDAY_OF[code] for code in one.values.get("weekend", ())]
        if "weekend" in one.values:
            await projects.set_weekend(
                saving.ctx, saving.session, project_public_id=saving.project_public_id, weekend=weekend
            )


async def save_days(saving: ApplyContext, those: Sequence[Difference]) -> None:
    for one in those:
        values = one.values
        kind: Any = values["kind"].upper()
        order = NewCalendarDay(kind=kind, name_th=values["name"], name_en=values.get("nameEn") or values["name"])
        with saving.placed(one.at):
            await projects.add_day(
                saving.ctx,
                saving.session,
                project_public_id=saving.project_public_id,
                day=date.fromisoformat(values["date"]),
                order=order,
            )
