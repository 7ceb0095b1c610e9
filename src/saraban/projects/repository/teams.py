"""The statements about review teams and their members."""

from collections.abc import Collection, Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.models import User
from saraban.kit.db import AnyRow
from saraban.projects.models import Contract, Discipline, ProjectOrganization, ReviewTeam, ReviewTeamMember


async def teams(session: AsyncSession, *, project_id: int) -> Sequence[ReviewTeam]:
    statement = sa.select(ReviewTeam).where(ReviewTeam.project_id == project_id).order_by(ReviewTeam.team_code)
    return (await session.scalars(statement)).all()


async def team(session: AsyncSession, *, project_id: int, code: str) -> ReviewTeam | None:
    return await session.scalar(
        sa.select(ReviewTeam).where(ReviewTeam.project_id == project_id, ReviewTeam.team_code == code)
    )


async def members(session: AsyncSession, *, team_ids: Collection[int]) -> Sequence[AnyRow]:
    """Rows of (member, public id, user name, first and last name), by user name."""
    statement = (
        sa.select(ReviewTeamMember, User.public_id, User.username, User.first_name, User.last_name)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .where(ReviewTeamMember.team_id.in_(team_ids), User.is_active, User.deleted_at.is_(None))
        .order_by(User.username)
    )
    return (await session.execute(statement)).all() if team_ids else []


async def member(session: AsyncSession, *, team_id: int, user_id: int) -> ReviewTeamMember | None:
    return await session.get(ReviewTeamMember, (team_id, user_id))


async def remove_members(session: AsyncSession, *, team_id: int) -> None:
    await session.execute(sa.delete(ReviewTeamMember).where(ReviewTeamMember.team_id == team_id))


async def seats(
    session: AsyncSession, project_ids: Collection[int], user_ids: Collection[int] | None
) -> Sequence[AnyRow]:
    """Rows of (project, user, code of the team, discipline), of teams that are active; all people, or some."""
    statement = (
        sa.select(
            ReviewTeam.project_id, ReviewTeamMember.user_id, ReviewTeam.team_code, ReviewTeamMember.discipline_code
        )
        .join(ReviewTeam, ReviewTeam.id == ReviewTeamMember.team_id)
        .join(User, User.user_id == ReviewTeamMember.user_id)
        .where(ReviewTeam.project_id.in_(project_ids), ReviewTeam.is_active, User.is_active, User.deleted_at.is_(None))
    )
    if user_ids is not None:
        statement = statement.where(ReviewTeamMember.user_id.in_(user_ids))
    return (await session.execute(statement)).all() if project_ids else []


async def organization_ids(session: AsyncSession, *, project_id: int) -> frozenset[int]:
    """The organizations that take part in a project."""
    statement = sa.select(ProjectOrganization.organization_id).where(ProjectOrganization.project_id == project_id)
    return frozenset((await session.scalars(statement)).all())


async def has_discipline(session: AsyncSession, *, project_id: int, code: str) -> bool:
    statement = (
        sa.select(Discipline.id)
        .join(Contract, Contract.id == Discipline.contract_id)
        .where(Contract.project_id == project_id, Discipline.discipline_code == code, Discipline.is_active)
        .limit(1)
    )
    return await session.scalar(statement) is not None
