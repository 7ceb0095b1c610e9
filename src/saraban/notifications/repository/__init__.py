"""The statements about notifications, and about whom to address."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.core.models import Document, DocumentRecipient, DocumentRevision
from saraban.identity.models import Organization, User
from saraban.kit.pagination import newest_first
from saraban.notifications.models import Notification


@dataclass(frozen=True, slots=True)
class DocumentParties:
    """Integer keys of a document's originator, its recipients and its author, and its present revision."""

    originator: frozenset[int] = frozenset()
    recipients: frozenset[int] = frozenset()
    author: frozenset[int] = frozenset()
    revision: UUID | None = None


async def parties(session: AsyncSession, documents: Collection[UUID]) -> dict[UUID, DocumentParties]:
    """Return who has to do with each of the documents; recipients only once it has been issued to them."""
    if not documents:
        return {}
    head, recipient = Document, DocumentRecipient
    present = DocumentRevision
    heads = sa.select(
        head.id, head.public_id, head.originator_id, head.created_by, present.public_id.label("revision")
    ).outerjoin(present, sa.and_(present.correspondence_id == head.id, present.is_current))
    found = (await session.execute(heads.where(head.public_id.in_(documents)))).all()
    issued = sa.exists().where(
        DocumentRevision.correspondence_id == recipient.correspondence_id,
        DocumentRevision.issued_date.is_not(None),
    )
    recipients = sa.select(recipient.correspondence_id, recipient.recipient_organization_id).where(
        recipient.correspondence_id.in_([row.id for row in found]), issued
    )
    places: dict[int, set[int]] = {row.id: set() for row in found}
    for row in await session.execute(recipients) if found else ():
        places[row[0]].add(row[1])
    return {
        row.public_id: DocumentParties(
            frozenset({row.originator_id}), frozenset(places[row.id]), frozenset({row.created_by}), row.revision
        )
        for row in found
    }


def _reads() -> sa.ColumnElement[bool]:
    """People with an open account; a service account would only collect what nobody reads."""
    return sa.and_(User.is_active, User.is_service.is_(False), User.deleted_at.is_(None))


async def public_ids_of(session: AsyncSession, *, user_ids: Collection[int]) -> dict[UUID, int]:
    """Return those of the users who can read what they are told."""
    if not user_ids:
        return {}
    found = sa.select(User.public_id, User.user_id).where(User.user_id.in_(user_ids), _reads())
    return {row.public_id: row.user_id for row in await session.execute(found)}


async def organization_keys(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, int]:
    if not public_ids:
        return {}
    found = sa.select(Organization.public_id, Organization.id).where(Organization.public_id.in_(public_ids))
    return {row.public_id: row.id for row in await session.execute(found)}


async def user_keys(session: AsyncSession, *, public_ids: Collection[UUID]) -> dict[UUID, int]:
    """Return the keys of those users who can read what they are told."""
    if not public_ids:
        return {}
    found = sa.select(User.public_id, User.user_id).where(User.public_id.in_(public_ids), _reads())
    return {row.public_id: row.user_id for row in await session.execute(found)}


async def already_notified(session: AsyncSession, *, event_uuids: Collection[UUID]) -> set[tuple[UUID, int]]:
    """Return the events with the users who were told of them before."""
    found = sa.select(Notification.event_uuid, Notification.user_id).where(Notification.event_uuid.in_(event_uuids))
    return {(row.event_uuid, row.user_id) for row in await session.execute(found)}


async def add(session: AsyncSession, rows: Sequence[Mapping[str, object]]) -> None:
    if rows:
        await session.execute(sa.insert(Notification), rows)


# What says that somebody is to act, until it is done.
ASKING = ("waiting", "due_soon", "due_today", "overdue", "returned", "returned_with_comment")


async def mark_settled(session: AsyncSession, *, before: Mapping[tuple[str, str], datetime]) -> None:
    """
    Take back what asked people to act on something before a moment, for many things with one statement.

    :param before: the moment by kind and public id
    """
    if before:
        of_each = (
            sa.and_(
                Notification.entity_type == entity_type,
                Notification.entity_id == entity_id,
                Notification.created_at < moment,
            )
            for (entity_type, entity_id), moment in before.items()
        )
        await _settle(session, sa.or_(*of_each))


async def mark_own_settled(session: AsyncSession, entity_id: str, *, user_id: int) -> None:
    """Take back what asked one person to act on something."""
    await _settle(session, sa.and_(Notification.entity_id == entity_id, Notification.user_id == user_id))


async def _settle(session: AsyncSession, which: sa.ColumnElement[bool]) -> None:
    statement = sa.update(Notification).where(which, Notification.template.in_(ASKING))
    await session.execute(
        statement.values(template="settled", is_read=True), execution_options={"synchronize_session": False}
    )


async def page(
    session: AsyncSession, *, user_id: int, unread: bool | None, cursor: str | None, limit: int
) -> Sequence[Notification]:
    statement = sa.select(Notification).where(Notification.user_id == user_id)
    if unread is not None:
        statement = statement.where(Notification.is_read.is_(not unread))
    statement = newest_first(
        statement, at=Notification.created_at, public_id=Notification.public_id, cursor=cursor, limit=limit
    )
    return (await session.scalars(statement)).all()


async def count_unread(session: AsyncSession, *, user_id: int) -> int:
    found = (
        sa.select(sa.func.count())
        .select_from(Notification)
        .where(Notification.user_id == user_id, Notification.is_read.is_(False))
    )
    return await session.scalar(found) or 0


async def one(session: AsyncSession, *, user_id: int, public_id: UUID) -> Notification | None:
    found = sa.select(Notification).where(Notification.public_id == public_id, Notification.user_id == user_id)
    return await session.scalar(found)


async def read_all(session: AsyncSession, *, user_id: int, until: datetime) -> None:
    """Up to a moment: what arrives while somebody clicks stays unread."""
    await session.execute(
        sa.update(Notification)
        .where(Notification.user_id == user_id, Notification.is_read.is_(False), Notification.created_at <= until)
        .values(is_read=True)
        .execution_options(synchronize_session=False)
    )
