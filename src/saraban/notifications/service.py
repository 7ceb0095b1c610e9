"""In-app notifications: written when events arrive, read in the language of the reader."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event, Handlers
from saraban.identity import service as identity
from saraban.identity.domain.caller import Caller
from saraban.kit.errors import NotFound
from saraban.kit.ids import new_id
from saraban.kit.pagination import Page, cut
from saraban.notifications import repository
from saraban.notifications.domain.rules import ACTS, Notice, notices
from saraban.notifications.domain.texts import rendered
from saraban.notifications.models import Notification

EVENTS = ("document.created", "document.revised", "document.cancelled", "workflow.transitioned")


@dataclass(frozen=True, slots=True)
class NotificationView:
    """
    One notification in one language.

    :param entity_type: kind of the document (`rfa`, `letter`, …), for the reader's link
    :param entity_id: public id of the document
    """

    public_id: UUID
    title: str
    message: str
    is_read: bool
    entity_type: str | None
    entity_id: str | None
    created_at: datetime


def subscribe(handlers: Handlers) -> None:
    """This will let notifications hear of what happens; called once, in `bootstrap`."""
    for name in EVENTS:
        handlers.add(name, react)


async def react(session: AsyncSession, event: Event) -> None:
    """This will tell each person whom an event concerns, once; a repeated delivery tells nobody again."""
    told = set(await repository.told_of(session, event_uuid=event.public_id))
    for notice in notices(event.name, event.payload):
        for user_id in sorted(await _readers(session, notice) - told):
            told.add(user_id)
            session.add(_row(event, notice, user_id))
    await session.flush()


async def listing(
    session: AsyncSession,
    *,
    caller: Caller,
    language: str,
    unread: bool | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[NotificationView]:
    """This will give the caller's own notifications, newest first."""
    rows = await repository.page(session, user_id=caller.user_id, unread=unread, cursor=cursor, limit=limit)
    views = [_view(row, language) for row in rows]
    return cut(views, limit=limit, key=lambda view: (view.created_at, view.public_id))


async def unread_count(session: AsyncSession, *, caller: Caller) -> int:
    return await repository.count_unread(session, user_id=caller.user_id)


async def read(session: AsyncSession, *, caller: Caller, public_id: UUID) -> None:
    """
    This will mark one notification read; doing it again changes nothing.

    :raises NotFound: when the caller has no such notification
    """
    row = await repository.one(session, user_id=caller.user_id, public_id=public_id)
    if row is None:
        raise NotFound(f"There is no notification {public_id}.")
    row.is_read = True
    await session.flush()


async def read_all(session: AsyncSession, *, caller: Caller, now: datetime) -> None:
    """This will mark everything read that the caller was told of until `now`."""
    await repository.read_all(session, user_id=caller.user_id, until=now)


async def _readers(session: AsyncSession, notice: Notice) -> frozenset[int]:
    """This will give the keys of a notice's people, without the one who did what it tells."""
    audience = notice.audience
    keys = await repository.organization_keys(session, public_ids=audience.organizations)
    people = await repository.user_keys(session, public_ids=audience.users)
    if audience.parties and notice.entity_id:
        parties = await repository.parties(session, document=UUID(notice.entity_id))
        keys |= parties.originator if "originator" in audience.parties else frozenset()
        keys |= parties.recipients if "recipients" in audience.parties else frozenset()
        if "author" in audience.parties:
            people |= await repository.public_ids_of(session, user_ids=parties.author)
    members = await identity.users_of(session, keys, ACTS)
    people |= {member.public_id: member.user_id for member in members}
    return frozenset(user_id for public_id, user_id in people.items() if public_id != notice.actor)


def _row(event: Event, notice: Notice, user_id: int) -> Notification:
    title, message = rendered(notice.template, notice.values, language="th")
    return Notification(
        public_id=new_id(),
        user_id=user_id,
        title=title,
        message=message,
        notification_type="SYSTEM",
        is_read=False,
        entity_type=notice.entity_type or None,
        entity_id=notice.entity_id or None,
        template=notice.template,
        template_values=dict(notice.values),
        event_uuid=event.public_id,
        created_at=event.created_at,
    )


def _view(row: Notification, language: str) -> NotificationView:
    title, message = rendered(row.template, row.template_values, language=language)
    return NotificationView(
        public_id=row.public_id,
        title=title,
        message=message,
        is_read=row.is_read,
        entity_type=row.entity_type,
        entity_id=row.entity_id,
        created_at=row.created_at,
    )
