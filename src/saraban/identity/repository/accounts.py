"""Reads and writes accounts, their failures and their assignments."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TypedDict

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.catalogue import SYSTEM_USERNAME
from saraban.identity.models import Organization, Role, User, UserAssignment, UserPreference
from saraban.kit.db import AnyRow, SessionOrConnection


async def by_username(session: AsyncSession, *, username: str) -> User | None:
    return await session.scalar(sa.select(User).where(User.username == username, User.deleted_at.is_(None)))


async def is_taken(session: AsyncSession, *, username: str, email: str) -> bool:
    """Closed and deleted accounts count too: a name in the audit trail must mean one person for ever."""
    taken = sa.exists().where(sa.or_(User.username == username, User.email == email))
    return bool(await session.scalar(sa.select(taken)))


async def has_accounts(connected: SessionOrConnection) -> bool:
    """Whether there is an account beside `system`; closed ones count."""
    return bool(await connected.scalar(sa.select(sa.exists().where(User.username != SYSTEM_USERNAME))))


async def for_update(session: AsyncSession, *, user_id: int) -> User | None:
    """The row, locked and as it is now, so that failures are counted one after another."""
    statement = sa.select(User).where(User.user_id == user_id).with_for_update()
    return await session.scalar(statement.execution_options(populate_existing=True))


async def lock_rights(session: AsyncSession, *, alone: bool) -> None:
    """Hold the row that stands for what everybody may do, together with others or alone."""
    first = sa.select(Role.role_id).order_by(Role.role_id).limit(1)
    await session.execute(first.with_for_update(read=not alone))


async def list_accounts(session: AsyncSession) -> Sequence[AnyRow]:
    """One row for each account: the user, its organization's code, its role names."""
    roles = sa.func.aggregate_strings(Role.role_name, ", ").label("roles")
    statement = (
        sa.select(User, Organization.organization_code, roles)
        .outerjoin(Organization, Organization.id == User.primary_organization_id)
        .outerjoin(UserAssignment, UserAssignment.user_id == User.user_id)
        .outerjoin(Role, Role.role_id == UserAssignment.role_id)
        .where(User.deleted_at.is_(None))
        .group_by(User.user_id, Organization.organization_code)
        .order_by(User.username)
    )
    return (await session.execute(statement)).all()


async def role_named(session: AsyncSession, name: str) -> Role | None:
    return await session.scalar(sa.select(Role).where(Role.role_name == name, Role.deleted_at.is_(None)))


class AssignmentColumns(TypedDict):
    """A role in a place, as the columns of an assignment."""

    role_id: int
    organization_id: int | None
    project_id: int | None
    contract_id: int | None


async def assignment(session: AsyncSession, user_id: int, columns: AssignmentColumns) -> UserAssignment | None:
    statement = sa.select(UserAssignment).where(
        UserAssignment.user_id == user_id,
        UserAssignment.role_id == columns["role_id"],
        UserAssignment.organization_id.is_not_distinct_from(columns["organization_id"]),
        UserAssignment.project_id.is_not_distinct_from(columns["project_id"]),
        UserAssignment.contract_id.is_not_distinct_from(columns["contract_id"]),
    )
    return await session.scalar(statement)


async def chosen_language(session: AsyncSession, *, user_id: int) -> str | None:
    row = await session.get(UserPreference, user_id)
    return None if row is None else row.language


async def choose_language(session: AsyncSession, *, user_id: int, language: str, now: datetime) -> None:
    row = await session.get(UserPreference, user_id)
    if row is None:
        session.add(UserPreference(user_id=user_id, language=language, updated_at=now))
    else:
        row.language, row.updated_at = language, now
    await session.flush()


async def with_preferences(session: AsyncSession, user_ids: Collection[int]) -> Sequence[AnyRow]:
    """One (user, preference or null) for each user that exists, closed ones too."""
    statement = (
        sa.select(User, UserPreference)
        .outerjoin(UserPreference, UserPreference.user_id == User.user_id)
        .where(User.user_id.in_(user_ids))
    )
    return (await session.execute(statement)).all()


async def lock_preference(session: AsyncSession, *, user_id: int) -> UserPreference | None:
    """Hold the account's row first, so that two first choices do not meet."""
    await session.execute(sa.select(User.user_id).where(User.user_id == user_id).with_for_update())
    return await session.get(UserPreference, user_id)
