"""Writes down whom events concern: a notification in the application, a line of e-mail, or both."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.events.service import Event, Handlers
from saraban.identity import service as identity
from saraban.kit.ids import new_id
from saraban.notifications import repository
from saraban.notifications.domain.kinds import kind_of
from saraban.notifications.domain.rules import Notice, notices
from saraban.notifications.domain.texts import rendered
from saraban.notifications.domain.wishes import channels_of
from saraban.notifications.repository import mails
from saraban.notifications.service import mailing
from saraban.notifications.service.addressing import directory
from saraban.notifications.service.mailing import Post
from saraban.notifications.service.preferences import wishes_of

EVENTS = ("document.created", "document.revised", "document.cancelled", "document.reminded", "workflow.transitioned")


def subscribe(handlers: Handlers, *, post: Post | None = None) -> None:
    """This will let notifications hear of what happens; called once, in `bootstrap`."""
    for name in EVENTS:
        handlers.add_all(name, partial(react_all, post=post))
    handlers.add(mailing.GIVEN_UP, mailing.revive)


async def react(session: AsyncSession, event: Event, *, post: Post | None = None) -> None:
    """This will tell each person whom an event concerns, once; a repeated delivery tells nobody again."""
    await react_all(session, [event], post=post)


async def react_all(session: AsyncSession, events: Sequence[Event], *, post: Post | None = None) -> None:
    """
    This will do the same for many events with as few statements as for one.

    :param post: how e-mail is sent; without it everything stays in the application
    """
    said = [(event, notice) for event in events for notice in notices(event.name, event.payload)]
    if not said:
        return
    known = await directory(session, [notice for _, notice in said])
    told = await repository.told_of(session, event_uuids=[event.public_id for event in events])
    told |= await mails.told_of(session, event_uuids=[event.public_id for event in events])
    telling: list[tuple[Event, Notice, list[int]]] = []
    for event, notice in said:
        readers = [user for user in known.readers(notice) if (event.public_id, user) not in told]
        told.update((event.public_id, user) for user in readers)
        telling.append((event, notice, readers))
    await _tell(session, telling, post)


async def _tell(session: AsyncSession, telling: Sequence[tuple[Event, Notice, list[int]]], post: Post | None) -> None:
    chosen = await identity.deliveries(session, user_ids={user for _, _, readers in telling for user in readers})
    wishes = {user: wishes_of(delivery) for user, delivery in chosen.items()}
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for event, notice, readers in telling:
        kind, words = kind_of(notice.template), _words(event, notice)
        for user in readers:
            in_app, by_mail = channels_of(wishes[user], kind, mail_is_on=post is not None)
            if in_app:
                rows.append({"public_id": new_id(), "user_id": user, **words})
            if by_mail and post is not None:
                lines.append(mailing.line_of(post=post, event=event, notice=notice, user_id=user, wishes=wishes[user]))
    await repository.add(session, rows=rows)
    await mails.add(session, rows=lines)


def _words(event: Event, notice: Notice) -> dict[str, Any]:
    """What all readers of a notice are told alike."""
    title, message = rendered(notice.template, notice.values, language="th")
    return {
        "title": title,
        "message": message,
        "notification_type": "SYSTEM",
        "is_read": False,
        "entity_type": notice.entity_type or None,
        "entity_id": notice.entity_id or None,
        "template": notice.template,
        "template_values": dict(notice.values),
        "event_uuid": event.public_id,
        "created_at": event.created_at,
    }
