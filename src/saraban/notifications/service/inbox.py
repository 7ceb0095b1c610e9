"""A person's own notifications, in the language of the reader."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound
from saraban.kit.pagination import Page, page_of
from saraban.notifications import repository
from saraban.notifications.domain.notices import render_notice
from saraban.notifications.models import Notification
from saraban.notifications.schemas import NotificationAnswer


async def listing(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    language: str,
    unread: bool | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[NotificationAnswer]:
    """Return the caller's own notifications, newest first."""
    rows = await repository.page(session, user_id=ctx.caller.user_id, unread=unread, cursor=cursor, limit=limit)
    told = [_in_language(row, language) for row in rows]
    return page_of(told, limit=limit, key=lambda one: (one.created_at, one.public_id))


async def unread_count(ctx: RequestContext, session: AsyncSession) -> int:
    return await repository.count_unread(session, user_id=ctx.caller.user_id)


async def read(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> None:
    """
    Mark one notification read; doing it again changes nothing.

    :raises NotFound: when the caller has no such notification
    """
    row = await repository.one(session, user_id=ctx.caller.user_id, public_id=public_id)
    if row is None:
        raise NotFound(f"There is no notification {public_id}.")
    row.is_read = True
    await session.flush()


async def settle(ctx: RequestContext, session: AsyncSession, *, entity_id: str) -> None:
    """Take back what asked the caller to act on a document, once it is done."""
    await repository.mark_own_settled(session, entity_id, user_id=ctx.caller.user_id)


async def read_all(ctx: RequestContext, session: AsyncSession) -> None:
    """Mark everything read that the caller was told of until `now`."""
    await repository.read_all(session, user_id=ctx.caller.user_id, until=ctx.now)


def _in_language(row: Notification, language: str) -> NotificationAnswer:
    title, message = render_notice(row.template, row.template_values, language)
    return NotificationAnswer(
        public_id=row.public_id,
        title=title,
        message=message,
        is_read=row.is_read,
        entity_type=row.entity_type,
        entity_public_id=row.entity_id,
        created_at=row.created_at,
    )
