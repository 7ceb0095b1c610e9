"""Statements about webhooks and their outcomes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.circulation.models import Circulation
from saraban.documents.core.models import Document
from saraban.identity.models import Permission, RolePermission, User, UserAssignment, in_force
from saraban.kit.pagination import newest_first
from saraban.projects.models import Project
from saraban.webhooks.domain import PREFIX
from saraban.webhooks.models import Webhook, WebhookOutcome

STEP = 1000


def of_project(project_id: int) -> sa.ColumnElement[bool]:
    return Webhook.project_id == project_id


def of_person(user_id: int) -> sa.ColumnElement[bool]:
    return sa.and_(Webhook.user_id == user_id, Webhook.project_id.is_(None))


async def count(session: AsyncSession, *, of: sa.ColumnElement[bool]) -> int:
    return await session.scalar(sa.select(sa.func.count()).select_from(Webhook).where(of)) or 0


async def page(
    session: AsyncSession, *, of: sa.ColumnElement[bool], cursor: str | None, limit: int
) -> Sequence[Webhook]:
    statement = newest_first(
        sa.select(Webhook).where(of),
        at=Webhook.created_at,
        public_id=Webhook.public_id,
        cursor=cursor,
        limit=limit,
    )
    return (await session.scalars(statement)).all()


async def one(session: AsyncSession, public_id: UUID, *, locked: bool = False) -> Webhook | None:
    statement = sa.select(Webhook).where(Webhook.public_id == public_id)
    return await session.scalar(statement.with_for_update() if locked else statement)


async def find_for_delivery(session: AsyncSession, public_id: UUID) -> tuple[Webhook, UUID] | None:
    statement = (
        sa.select(Webhook, User.public_id)
        .join(User, User.user_id == Webhook.user_id)
        .where(Webhook.public_id == public_id, Webhook.is_active, User.is_active, User.deleted_at.is_(None))
    )
    row = (await session.execute(statement)).first()
    return None if row is None else (row[0], row[1])


async def owners(session: AsyncSession, row: Webhook, *, permission: str) -> list[UUID]:
    """Return the owner; for a project's webhook also its users with the permission."""
    by_role = (
        sa.select(UserAssignment.user_id)
        .join(RolePermission, RolePermission.role_id == UserAssignment.role_id)
        .join(Permission, Permission.permission_id == RolePermission.permission_id)
        .where(UserAssignment.project_id == row.project_id, Permission.permission_name == permission, in_force())
    )
    is_owner = User.user_id == row.user_id
    is_recipient = is_owner if row.project_id is None else sa.or_(is_owner, User.user_id.in_(by_role))
    public_ids = await session.scalars(sa.select(User.public_id).where(is_recipient).order_by(User.user_id))
    return list(public_ids)


async def any_active(session: AsyncSession) -> bool:
    return await session.scalar(sa.select(Webhook.id).where(Webhook.is_active).limit(1)) is not None


async def project_keys(
    session: AsyncSession, *, projects: Collection[UUID], documents: Collection[UUID]
) -> dict[UUID, int]:
    """Return the project keys by public id of the project or document."""
    statement = sa.union(
        sa.select(Project.public_id, Project.id).where(Project.public_id.in_(projects)),
        sa.select(Document.public_id, Document.project_id).where(Document.public_id.in_(documents)),
        sa.select(Circulation.public_id, Circulation.project_id).where(Circulation.public_id.in_(documents)),
    )
    return {row[0]: row[1] for row in await session.execute(statement)}


async def active_by_project(session: AsyncSession, *, project_ids: Collection[int]) -> dict[int, list[Webhook]]:
    statement = sa.select(Webhook).where(Webhook.is_active, Webhook.project_id.in_(project_ids)).order_by(Webhook.id)
    webhooks: dict[int, list[Webhook]] = {}
    for row in await session.scalars(statement):
        if row.project_id is not None:
            webhooks.setdefault(row.project_id, []).append(row)
    return webhooks


async def active_by_owner(session: AsyncSession, *, users: Collection[UUID]) -> dict[UUID, list[Webhook]]:
    statement = (
        sa.select(Webhook, User.public_id)
        .join(User, User.user_id == Webhook.user_id)
        .where(Webhook.is_active, Webhook.project_id.is_(None), User.public_id.in_(users))
        .where(User.is_active, User.deleted_at.is_(None))
        .order_by(Webhook.id)
    )
    webhooks: dict[UUID, list[Webhook]] = {}
    for row, user in await session.execute(statement):
        webhooks.setdefault(user, []).append(row)
    return webhooks


async def lock_plain_secrets(session: AsyncSession) -> Sequence[Webhook]:
    plain = Webhook.secret.startswith(PREFIX, autoescape=True)
    return (await session.scalars(sa.select(Webhook).where(plain).with_for_update())).all()


async def remove(session: AsyncSession, row: Webhook) -> None:
    await session.execute(sa.delete(WebhookOutcome).where(WebhookOutcome.webhook_id == row.id))
    await session.delete(row)
    await session.flush()


async def outcomes(
    session: AsyncSession, *, webhook_id: int, cursor: str | None, limit: int
) -> Sequence[WebhookOutcome]:
    statement = newest_first(
        sa.select(WebhookOutcome).where(WebhookOutcome.webhook_id == webhook_id),
        at=WebhookOutcome.created_at,
        public_id=WebhookOutcome.public_id,
        cursor=cursor,
        limit=limit,
    )
    return (await session.scalars(statement)).all()


async def delete_outcomes(session: AsyncSession, *, before: datetime) -> int:
    statement = sa.select(WebhookOutcome.id).where(WebhookOutcome.created_at < before).limit(STEP)
    keys = (await session.scalars(statement)).all()
    if keys:
        await session.execute(sa.delete(WebhookOutcome).where(WebhookOutcome.id.in_(keys)))
    return len(keys)
