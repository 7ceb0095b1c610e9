"""
Review teams: who in a project answers for a team, or for a discipline, when a workflow asks for a parallel review.

Whoever changes a team tells it as `review_team.changed`; workflows then ask the people who are its members now.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit.domain.changes import set_fields
from saraban.events import service as events
from saraban.identity import service as identity
from saraban.identity.domain.context import RequestContext
from saraban.identity.service import OrganizationMember
from saraban.identity.service.callers import display_name
from saraban.kit.db import AnyRow
from saraban.kit.errors import NotFound, invalid
from saraban.projects import repository
from saraban.projects.models import Project, ReviewTeam, ReviewTeamMember
from saraban.projects.schemas import ReviewTeamIn, ReviewTeamOut, TeamMemberIn, TeamMemberOut
from saraban.projects.service.projects import lock_managed_project, record_change, visible_project

TEAM_CHANGED = "review_team.changed"
MOST_TEAMS, MOST_MEMBERS, MOST_CHOICES = 100, 100, 100


@dataclass(frozen=True, slots=True)
class TeamMembership:
    project_id: int
    user_id: int
    team: str
    discipline: str | None


async def memberships(
    session: AsyncSession, *, project_ids: Collection[int], user_ids: Collection[int] | None = None
) -> tuple[TeamMembership, ...]:
    """
    Return who sits in the active teams of projects.

    :param user_ids: only these people; None for all
    """
    rows = await repository.seats(session, project_ids, user_ids)
    return tuple(TeamMembership(row.project_id, row.user_id, row.team_code, row.discipline_code) for row in rows)


async def review_teams(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> list[ReviewTeamOut]:
    """:raises NotFound: when there is no such project that the caller may see"""
    project = await visible_project(ctx, session, project_public_id)
    teams = await repository.teams(session, project_id=project.id)
    rows = await repository.team_members(session, team_ids=[team.id for team in teams])
    return [_shown(team, [row for row in rows if row.ReviewTeamMember.team_id == team.id]) for team in teams]


async def participants(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, search: str = ""
) -> tuple[OrganizationMember, ...]:
    """
    Return whom a team of the project can have, by a part of the name; the first hundred.

    :raises NotFound: when there is no such project that the caller may see
    """
    project = await visible_project(ctx, session, project_public_id)
    taking_part = await repository.organization_ids(session, [project.id])
    people = await identity.users_of(session, taking_part, project_id=project.id)
    wanted = search.strip().casefold()
    found = [one for one in people if wanted in f"{one.display_name} {one.username}".casefold()]
    return tuple(sorted(found, key=lambda one: one.display_name)[:MOST_CHOICES])


async def save_team(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    code: str,
    order: ReviewTeamIn,
    new: bool | None = None,
) -> ReviewTeamOut:
    """
    :param new: whether it is to be made, or to be there already; None for either
    :raises Invalid: when it is to be made and there is one of this code
    :raises NotFound: when it is to be changed and there is none
    :raises Forbidden: when the caller does not manage the project
    """
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await repository.team(session, project_id=project.id, code=code)
    if team is None and new is False:
        raise NotFound(f"The project has no review team {code}.")
    if team is not None and new:
        raise invalid("/code", "taken", "มีทีมรหัสนี้แล้ว", "A team with this code already exists.")
    if team is None:
        if len(await repository.teams(session, project_id=project.id)) >= MOST_TEAMS:
            raise invalid("", "too_many", "มีทีมได้ไม่เกิน {most} ทีม", "At most {most} teams are allowed.", most=MOST_TEAMS)
        team = ReviewTeam(project_id=project.id, team_code=code, created_at=ctx.now)
        session.add(team)
    details = {"team": code, "changes": set_fields(team, order.model_dump())}
    team.updated_at = ctx.now
    await _told(ctx, session, "review_team.saved", project, details)
    return _shown(team, await repository.team_members(session, team_ids=[team.id]))


async def remove_team(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, code: str) -> None:
    """
    Remove a team with its members; what they have answered stays theirs.

    :raises NotFound: when there is no such team
    """
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _team(session, project, code)
    await repository.remove_team_members(session, team_id=team.id)
    await session.delete(team)
    await _told(ctx, session, "review_team.removed", project, {"team": code})


async def save_member(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    code: str,
    user_public_id: UUID,
    order: TeamMemberIn,
) -> ReviewTeamOut:
    """
    Return somebody a place in a team, or change it.

    :raises NotFound: when there is no such team, or no such person who takes part in the project
    :raises Invalid: when no contract of the project has the discipline
    """
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _team(session, project, code)
    user_id = await _participant(session, project, user_public_id)
    discipline = order.discipline_code
    if discipline and not await repository.has_discipline(session, project_id=project.id, code=discipline):
        th, en = "โครงการไม่มีสาขางานนี้", "The project has no such discipline."
        raise invalid("/disciplineCode", "unknown", th, en)
    row = await session.get(ReviewTeamMember, (team.id, user_id))
    if row is None:
        if len(await repository.team_members(session, team_ids=[team.id])) >= MOST_MEMBERS:
            th, en = "ทีมหนึ่งมีได้ไม่เกิน {most} คน", "At most {most} members are allowed in a team."
            raise invalid("", "too_many", th, en, most=MOST_MEMBERS)
        row = ReviewTeamMember(team_id=team.id, user_id=user_id, created_at=ctx.now)
        session.add(row)
    values = {"discipline_code": discipline, "member_role": order.role}
    details = {
        "team": code,
        "user": str(user_public_id),
        "changes": set_fields(row, values, named={"member_role": "role"}),
    }
    await _told(ctx, session, "review_team.member_saved", project, details)
    return _shown(team, await repository.team_members(session, team_ids=[team.id]))


async def remove_member(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, code: str, user_public_id: UUID
) -> None:
    """:raises NotFound: when there is no such team, or the person is not in it"""
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _team(session, project, code)
    rows = await repository.team_members(session, team_ids=[team.id])
    row = next((each.ReviewTeamMember for each in rows if each.public_id == user_public_id), None)
    if row is None:
        raise NotFound(f"{user_public_id} is not in the team {code}.")
    await session.delete(row)
    details = {"team": code, "user": str(user_public_id)}
    await _told(ctx, session, "review_team.member_removed", project, details)


async def _lock_for_change(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Project:
    """The project whose teams are changed: never while somebody writes down whom they are."""
    project = await lock_managed_project(ctx, session, public_id)
    await identity.lock_rights(session)
    return project


async def _team(session: AsyncSession, project: Project, code: str) -> ReviewTeam:
    team = await repository.team(session, project_id=project.id, code=code)
    if team is None:
        raise NotFound(f"The project has no review team {code}.")
    return team


async def _participant(session: AsyncSession, project: Project, public_id: UUID) -> int:
    person = (await identity.load_callers(session, [public_id])).get(public_id)
    taking_part = await repository.organization_ids(session, [project.id])
    if person is None or not (
        person.organization_ids & taking_part or any(grant.project == project.id for grant in person.grants)
    ):
        raise NotFound(f"Nobody with the id {public_id} takes part in the project.")
    return person.user_id


def _shown(team: ReviewTeam, rows: Collection[AnyRow]) -> ReviewTeamOut:
    members = [
        TeamMemberOut(
            user_public_id=row.public_id,
            display_name=display_name(row),
            discipline_code=row.ReviewTeamMember.discipline_code,
            role=row.ReviewTeamMember.member_role,
        )
        for row in rows
    ]
    return ReviewTeamOut(
        code=team.team_code, name_th=team.name_th, name_en=team.name_en, is_active=team.is_active, members=members
    )


async def _told(
    ctx: RequestContext, session: AsyncSession, action: str, project: Project, details: Mapping[str, object]
) -> None:
    await events.record(
        session,
        events.NewEvent(
            TEAM_CHANGED,
            "project",
            str(project.public_id),
            {"projectPublicId": str(project.public_id), "team": details["team"]},
            ctx.now,
        ),
    )
    await record_change(ctx, session, action, project, details)
