"""Notifications of the caller, and reminder settings of projects."""

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
    """Texts are in Thai or English, by `Accept-Language`."""
    page = await notifications.listing(ctx, session, language=language, unread=unread, cursor=cursor, limit=limit)
    return NotificationPage(
        items=page.items,
        next_cursor=page.next_cursor,
        unread_count=await notifications.unread_count(ctx, session),
    )


@own.post("/read-all", status_code=204, summary="Mark everything read")
async def read_all(ctx: Context, db: Db) -> None:
    """Notifications that arrive after the request stay unread."""
    await db.transact(notifications.read_all, ctx)


@own.post("/{publicId}/read", status_code=204, summary="Mark one notification read")
async def read(public_id: PathId, ctx: Context, db: Db) -> None:
    """A repeated request changes nothing."""
    await db.transact(notifications.read, ctx, public_id=public_id)


@own.get("/preferences", summary="How the caller wants to be told")
async def preferences(ctx: Context, session: ReadSession, mail_is_on: MailIsOn) -> PreferencesAnswer:
    """Returns the channels of each kind of notice, the daily digest and the quiet hours."""
    return await notifications.read_preferences(ctx, session, mail_is_on=mail_is_on)


@own.put("/preferences", status_code=204, summary="Choose how to be told")
async def choose(body: PreferencesOrder, ctx: Context, db: Db) -> None:
    """Applies to new notices. Kinds that ask for an action must keep at least one channel."""
    await db.transact(notifications.save_preferences, ctx, order=body)


@of_project.get("/{publicId}/reminders", summary="When a project is reminded of due dates")
async def reminders(ctx: Context, session: ReadSession, public_id: PathId) -> ReminderSettings:
    """The default is 3 and 1 working days before the due date, 1 and 3 after it, then every 5."""
    return await notifications.read_reminders(ctx, session, project_public_id=public_id)


@of_project.put("/{publicId}/reminders", status_code=204, summary="Say when a project is reminded")
async def set_reminders(body: ReminderSettings, ctx: Context, db: Db, public_id: PathId) -> None:
    """Reminders that were sent are not sent again."""
    await db.transact(notifications.set_reminders, ctx, project_public_id=public_id, order=body)


router = APIRouter()
router.include_router(own)
router.include_router(of_project)
