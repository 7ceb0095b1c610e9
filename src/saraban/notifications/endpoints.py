"""The caller's own notifications."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from saraban.identity.dependencies import CurrentCaller
from saraban.kit.http import Db, Language, Now, PageCursor, PageLimit, PathId, ReadSession, at_once
from saraban.notifications import service as notifications
from saraban.notifications.schemas import NotificationAnswer, NotificationPage, PreferencesAnswer, PreferencesOrder

router = APIRouter(prefix="/notifications", tags=["notifications"])


def _mail_is_on(request: Request) -> bool:
    return request.app.state.post is not None


MailIsOn = Annotated[bool, Depends(at_once(_mail_is_on))]


@router.get("", summary="What the caller was told, newest first")
async def listing(
    caller: CurrentCaller,
    session: ReadSession,
    language: Language,
    unread: Annotated[bool | None, Query(description="Only unread ones, or only read ones.")] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> NotificationPage:
    """Texts come in Thai or English, by `Accept-Language`."""
    page = await notifications.listing(
        session, caller=caller, language=language, unread=unread, cursor=cursor, limit=limit
    )
    return NotificationPage(
        items=[_answer(view) for view in page.items],
        next_cursor=page.next_cursor,
        unread_count=await notifications.unread_count(session, caller=caller),
    )


@router.post("/read-all", status_code=204, summary="Mark everything read")
async def read_all(caller: CurrentCaller, db: Db, clock: Now) -> None:
    """What arrives after the request stays unread."""
    now = clock.now()
    await db.transact(lambda session: notifications.read_all(session, caller=caller, now=now))


@router.post("/{publicId}/read", status_code=204, summary="Mark one notification read")
async def read(public_id: PathId, caller: CurrentCaller, db: Db) -> None:
    """Marking it again changes nothing."""
    await db.transact(lambda session: notifications.read(session, caller=caller, public_id=public_id))


@router.get("/preferences", summary="How the caller wants to be told")
async def preferences(caller: CurrentCaller, session: ReadSession, mail_is_on: MailIsOn) -> PreferencesAnswer:
    """Channels by kind of notice, the daily digest, quiet hours."""
    return await notifications.read_preferences(session, caller=caller, mail_is_on=mail_is_on)


@router.put("/preferences", status_code=204, summary="Choose how to be told")
async def choose(body: PreferencesOrder, caller: CurrentCaller, db: Db, clock: Now) -> None:
    """What is told from now on follows it. What one has to act on keeps one channel at least."""
    now = clock.now()
    await db.transact(lambda session: notifications.save_preferences(session, caller=caller, order=body, now=now))


def _answer(view: notifications.NotificationView) -> NotificationAnswer:
    return NotificationAnswer(
        public_id=view.public_id,
        title=view.title,
        message=view.message,
        is_read=view.is_read,
        entity_type=view.entity_type,
        entity_public_id=view.entity_id,
        created_at=view.created_at,
    )
