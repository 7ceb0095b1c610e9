"""Pages of notifications, their settings, and webhooks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Form, Query
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import Context
from saraban.kit.db import Database
from saraban.kit.errors import Text
from saraban.kit.http import Db, PageCursor, ReadSession
from saraban.notifications import service as notifications
from saraban.notifications.dependencies import mail_is_on
from saraban.notifications.domain.delivery_preferences import KINDS, NAMES, NoticeKind
from saraban.notifications.schemas import NotificationAnswer, PreferencesAnswer, PreferencesOrder
from saraban.projects import service as projects
from saraban.web.shell.document_kinds import BY_NAME
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, number_or_text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.webhooks import service as webhooks
from saraban.webhooks.schemas import WebhookChangeIn
from saraban.webhooks.service import Webhook

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
IN_BELL = 6
EDIT_PROJECT = "project.edit"
MOST_WEBHOOKS = 100  # more than a person or a project may have


class NotificationsPage(
    PageModel, template="people/notifications.html", fragments=("people/parts/notification_rows.html",)
):
    items: Sequence[NotificationAnswer]
    next_cursor: str | None
    only_unread: bool


class BellFragment(PageModel, template="people/parts/bell.html"):
    items: Sequence[NotificationAnswer]
    count: int
    next_cursor: None = None
    only_unread: bool = False


class PreferencesPage(PageModel, template="people/preferences.html"):
    chosen: PreferencesAnswer
    names: Mapping[NoticeKind, Text]


@router.get("/notifications")
async def listing(
    page: CurrentPage, session: ReadSession, cursor: PageCursor = None, unread: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    notices = await notifications.listing(
        page.context,
        session,
        language=page.language,
        unread=True if unread == "1" else None,
        cursor=cursor,
        limit=ROWS,
    )
    return page.show_list(
        NotificationsPage(items=notices.items, next_cursor=notices.next_cursor, only_unread=unread == "1"),
        cursor,
    )


@router.get("/notifications/bell")
async def bell(page: CurrentPage, session: ReadSession) -> Response:
    notices = await notifications.listing(page.context, session, language=page.language, limit=IN_BELL)
    count = await notifications.unread_count(page.context, session)
    return page.show(BellFragment(items=notices.items, count=count))


@router.post("/notifications/read-all")
async def read_all(ctx: Context, db: Db) -> Response:
    await db.transact(notifications.read_all, ctx)
    return RedirectResponse("/notifications", status_code=303)


@router.post("/notifications/{public_id}/open")
async def open_one(
    public_id: UUID, ctx: Context, db: Db, to: Annotated[str, Form(max_length=200)] = "/notifications"
) -> Response:
    await db.transact(notifications.read, ctx, public_id=public_id)
    kind, _, _ = to.removeprefix("/").partition("/")
    registers = {"webhooks", *(web.path for web in BY_NAME.values())}
    return RedirectResponse(to if to.startswith("/") and kind in registers else "/notifications", status_code=303)


@router.post("/notifications/preferences")
async def choose(form: CurrentForm) -> Response:
    async with form.show_on_refusal(preferences):
        await form.transact(notifications.save_preferences, order=form.order(PreferencesOrder, _payload(form)))
    return RedirectResponse("/notifications/preferences?done=1", 303)


def _payload(form: SentForm) -> dict[str, object]:
    hours = {
        name: number_or_text(typed) if (typed := form.text(name)) else None
        for name in ("digestHour", "quietFrom", "quietUntil")
    }
    channels = [
        {
            "kind": kind,
            "inApp": f"in-{kind}" in form.values,
            "email": f"mail-{kind}" in form.values,
            "webhook": f"hook-{kind}" in form.values,
        }
        for kind in KINDS
    ]
    return hours | {"email": "email" in form.values, "digest": "digest" in form.values, "channels": channels}


@router.get("/notifications/preferences")
async def preferences(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    chosen = await notifications.read_preferences(page.context, session, mail_is_on=mail_is_on(page.request))
    return page.show(PreferencesPage(chosen=chosen, names=NAMES, state=state))


@dataclass(frozen=True, slots=True)
class WebhookGroup:
    """Webhooks of a project, or the reader's own when `code` is None."""

    code: str | None
    rows: list[Webhook]


class WebhooksPage(PageModel, template="people/webhooks.html"):
    groups: Sequence[WebhookGroup]


@router.get("/webhooks")
async def webhooks_page(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    own_webhooks = await webhooks.listing_own(page.context, session, cursor=None, limit=MOST_WEBHOOKS)
    groups = [WebhookGroup(None, own_webhooks.items)]
    for project in await projects.projects_of(page.context, session):
        if project.public_id == page.project and page.may(EDIT_PROJECT, project):
            project_webhooks = await webhooks.listing(
                page.context, session, project_public_id=project.public_id, cursor=None, limit=MOST_WEBHOOKS
            )
            groups.append(WebhookGroup(project.code, project_webhooks.items))
    return page.show(WebhooksPage(groups=groups, state=state))


@router.post("/webhooks/{public_id}/on")
async def on(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Switch a webhook on, also after Saraban switched it off for failures."""
    return await _set_active(page, db, public_id, is_active=True)


@router.post("/webhooks/{public_id}/off")
async def off(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Events in the meantime are never delivered."""
    return await _set_active(page, db, public_id, is_active=False)


async def _set_active(page: PageRequest, db: Database, public_id: UUID, *, is_active: bool) -> Response:
    change = WebhookChangeIn(is_active=is_active)
    await db.transact(webhooks.change, page.context, public_id=public_id, change=change, if_match=None)
    return RedirectResponse(f"/webhooks?done={'on' if is_active else 'off'}", status_code=303)
