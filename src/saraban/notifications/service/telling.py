"""Writes down whom an event concerns: a notification in the application, a line of e-mail, or both."""

from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event, Handlers
from saraban.identity import service as identity
from saraban.kit.ids import new_id
from saraban.notifications import repository
from saraban.notifications.domain.kinds import kind_of
from saraban.notifications.domain.rules import ACTS, Notice, notices
from saraban.notifications.domain.texts import rendered
from saraban.notifications.domain.wishes import channels_of
from saraban.notifications.models import Notification
from saraban.notifications.repository import mails
from saraban.notifications.service import mailing
from saraban.notifications.service.mailing import Post
from saraban.notifications.service.preferences import wishes_of

EVENTS = ("document.created", "document.revised", "document.cancelled", "document.reminded", "workflow.transitioned")


def subscribe(handlers: Handlers, *, post: Post | None = None) -> None:
    """This will let notifications hear of what happens; called once, in `bootstrap`."""
    for name in EVENTS:
        handlers.add(name, partial(react, post=post))
    handlers.add(mailing.GIVEN_UP, mailing.revive)


async def react(session: AsyncSession, event: Event, *, post: Post | None = None) -> None:
    """
    This will tell each person whom an event concerns, once; a repeated delivery tells nobody again.

    :param post: how e-mail is sent; without it everything stays in the application
    """
    told = set(await repository.told_of(session, event_uuid=event.public_id))
    told |= await mails.told_of(session, event_uuid=event.public_id)
    for notice in notices(event.name, event.payload):
        readers = await _readers(session, notice) - told
        told |= readers
        await _tell(session, event, notice, readers, post)
    await session.flush()


async def _tell(
    session: AsyncSession, event: Event, notice: Notice, readers: frozenset[int], post: Post | None
) -> None:
    chosen = await identity.deliveries(session, user_ids=readers)
    for user_id in sorted(readers):
        wishes = wishes_of(chosen[user_id])
        in_app, by_mail = channels_of(wishes, kind_of(notice.template), mail_is_on=post is not None)
        if in_app:
            session.add(_row(event, notice, user_id))
        if by_mail and post is not None:
            mailing.queue(session, post=post, event=event, notice=notice, user_id=user_id, wishes=wishes)


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
