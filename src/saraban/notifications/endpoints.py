"""The caller's own notifications and choices, and when a project is reminded of due dates."""

from typing import Annotated

from fastapi import APIRouter, Query

from saraban.identity.dependencies import Context
from saraban.kit.http import (
    Db,
    Language,
    PageCursor,
    PageLimit,
    PathId,
    ReadSession,
)
from saraban.notifications import service as notifications
from saraban.notifications.dependencies import MailIsOn
from saraban.notifications.schemas import NotificationPage, PreferencesAnswer, PreferencesOrder, ReminderSettings

own = APIRouter(prefix="/notifications", tags=["Notifications"])
of_project = APIRouter(prefix="/projects", tags=["Projects"])


@own.get("", summary="What the caller was told, newest first")
async def listing(
    ctx: Context,
    session: ReadSession,
    language: Language,
    unread: Annotated[bool | None, Query(description="Only unread ones, or only read ones.")] = None,
    cursor: PageCursor = None,
    limit: PageLimit = 50,
) -> NotificationPage:
    """Texts come in Thai or English, by `Accept-Language`."""
    page = await notifications.listing(ctx, session, language=language, unread=unread, cursor=cursor, limit=limit)
    return NotificationPage(
        items=page.items,
        next_cursor=page.next_cursor,
        unread_count=await notifications.unread_count(ctx, session),
    )


@own.post("/read-all", status_code=204, summary="Mark everything read")
async def read_all(ctx: Context, db: Db) -> None:
    """What arrives after the request stays unread."""
    await db.transact(notifications.read_all, ctx)


@own.post("/{publicId}/read", status_code=204, summary="Mark one notification read")
async def read(public_id: PathId, ctx: Context, db: Db) -> None:
    """Marking it again changes nothing."""
    await db.transact(notifications.read, ctx, public_id=public_id)


@own.get("/preferences", summary="How the caller wants to be told")
async def preferences(ctx: Context, session: ReadSession, mail_is_on: MailIsOn) -> PreferencesAnswer:
    """Channels by kind of notice, the daily digest, quiet hours."""
    return await notifications.read_preferences(ctx, session, mail_is_on=mail_is_on)


@own.put("/preferences", status_code=204, summary="Choose how to be told")
async def choose(body: PreferencesOrder, ctx: Context, db: Db) -> None:
    """What is told from now on follows it. What one has to act on keeps one channel at least."""
    await db.transact(notifications.save_preferences, ctx, order=body)


@of_project.get("/{publicId}/reminders", summary="When a project is reminded of due dates")
async def reminders(ctx: Context, session: ReadSession, public_id: PathId) -> ReminderSettings:
    """What nobody chose is 3 and 1 working days before, 1 and 3 after, then every 5."""
    return await notifications.read_reminders(ctx, session, project_public_id=public_id)


@of_project.put("/{publicId}/reminders", status_code=204, summary="Say when a project is reminded")
async def set_reminders(body: ReminderSettings, ctx: Context, db: Db, public_id: PathId) -> None:
    """What went out already does not go out again."""
    await db.transact(notifications.set_reminders, ctx, project_public_id=public_id, order=body)


router = APIRouter()
router.include_router(own)
router.include_router(of_project)
