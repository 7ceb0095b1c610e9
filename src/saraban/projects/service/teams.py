"""Review teams; each change records `review_team.changed`."""

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
    rows = await repository.seats(session, project_ids, user_ids)
    return tuple(TeamMembership(row.project_id, row.user_id, row.team_code, row.discipline_code) for row in rows)


async def review_teams(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID) -> list[ReviewTeamOut]:
    """:raises NotFound:"""
    project = await visible_project(ctx, session, project_public_id)
    teams = await repository.teams(session, project_id=project.id)
    rows = await repository.team_members(session, team_ids=[team.id for team in teams])
    return [_team_out(team, [row for row in rows if row.ReviewTeamMember.team_id == team.id]) for team in teams]


async def participants(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, search: str = ""
) -> tuple[OrganizationMember, ...]:
    """
    Return the first people by name who may be members of a team.

    :raises NotFound:
    """
    project = await visible_project(ctx, session, project_public_id)
    organizations = await repository.organization_ids(session, [project.id])
    people = await identity.users_of(session, organizations, project_id=project.id)
    wanted = search.strip().casefold()
    matches = [person for person in people if wanted in f"{person.display_name} {person.username}".casefold()]
    return tuple(sorted(matches, key=lambda person: person.display_name)[:MOST_CHOICES])


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
    :param new: True to require that the team is new, False that it exists
    :raises Invalid, NotFound, Forbidden:
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
    await _record_team_change(ctx, session, "review_team.saved", project, details)
    return _team_out(team, await repository.team_members(session, team_ids=[team.id]))


async def remove_team(ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, code: str) -> None:
    """
    Remove a team; responses of its members stay.

    :raises NotFound:
    """
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _require_team(session, project, code)
    await repository.remove_team_members(session, team_id=team.id)
    await session.delete(team)
    await _record_team_change(ctx, session, "review_team.removed", project, {"team": code})


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
    Add a member to a team, or update their discipline and role.

    :raises NotFound, Invalid:
    """
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _require_team(session, project, code)
    user_id = await _require_participant(session, project, user_public_id)
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
    await _record_team_change(ctx, session, "review_team.member_saved", project, details)
    return _team_out(team, await repository.team_members(session, team_ids=[team.id]))


async def remove_member(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, code: str, user_public_id: UUID
) -> None:
    """:raises NotFound:"""
    project = await _lock_for_change(ctx, session, project_public_id)
    team = await _require_team(session, project, code)
    rows = await repository.team_members(session, team_ids=[team.id])
    row = next((each.ReviewTeamMember for each in rows if each.public_id == user_public_id), None)
    if row is None:
        raise NotFound(f"{user_public_id} is not in the team {code}.")
    await session.delete(row)
    details = {"team": code, "user": str(user_public_id)}
    await _record_team_change(ctx, session, "review_team.member_removed", project, details)


async def _lock_for_change(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> Project:
    """Lock the project and the rights, because others store a team's members."""
    project = await lock_managed_project(ctx, session, public_id)
    await identity.lock_rights(session)
    return project


async def _require_team(session: AsyncSession, project: Project, code: str) -> ReviewTeam:
    team = await repository.team(session, project_id=project.id, code=code)
    if team is None:
        raise NotFound(f"The project has no review team {code}.")
    return team


async def _require_participant(session: AsyncSession, project: Project, public_id: UUID) -> int:
    person = (await identity.load_callers(session, [public_id])).get(public_id)
    organizations = await repository.organization_ids(session, [project.id])
    if person is None or not (
        person.organization_ids & organizations or any(grant.project == project.id for grant in person.grants)
    ):
        raise NotFound(f"Nobody with the id {public_id} takes part in the project.")
    return person.user_id


def _team_out(team: ReviewTeam, rows: Collection[AnyRow]) -> ReviewTeamOut:
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


async def _record_team_change(
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
