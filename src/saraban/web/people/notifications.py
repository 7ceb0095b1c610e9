"""What people and systems are notified of: the bell, the list behind it, the settings; webhooks and how they fare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar
from uuid import UUID

from fastapi import APIRouter, Form, Query
from sqlalchemy.ext.asyncio import AsyncSession
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
from saraban.web.shell.document_kinds import BY_NAME, WebKind
from saraban.web.shell.forms import CurrentForm, FormState, SentForm, form_errors, number_or_text, submit
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationsPage(PageModel):
    template: ClassVar[str] = "people/notifications.html"
    fragments: ClassVar[tuple[str, ...]] = ("people/parts/notification_rows.html",)

    items: Sequence[NotificationAnswer]
    next_cursor: str | None
    by_name: Mapping[str, WebKind]
    only_unread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BellFragment(PageModel):
    template: ClassVar[str] = "people/parts/bell.html"

    items: Sequence[NotificationAnswer]
    count: int
    by_name: Mapping[str, WebKind]
    next_cursor: None = None
    only_unread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencesPage(PageModel):
    template: ClassVar[str] = "people/preferences.html"

    chosen: PreferencesAnswer
    names: Mapping[NoticeKind, Text]
    done: bool


@router.get("/notifications")
async def listing(
    page: CurrentPage, session: ReadSession, cursor: PageCursor = None, unread: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """Everything the reader was told, or only what is unread."""
    found = await notifications.listing(
        page.context,
        session,
        language=page.language,
        unread=True if unread == "1" else None,
        cursor=cursor,
        limit=ROWS,
    )
    return page.show_list(
        NotificationsPage(items=found.items, next_cursor=found.next_cursor, by_name=BY_NAME, only_unread=unread == "1"),
        cursor,
    )


@router.get("/notifications/bell")
async def bell(page: CurrentPage, session: ReadSession) -> Response:
    """The newest few, for the drop-down."""
    found = await notifications.listing(page.context, session, language=page.language, limit=IN_BELL)
    count = await notifications.unread_count(page.context, session)
    return page.show(BellFragment(items=found.items, count=count, by_name=BY_NAME))


@router.post("/notifications/read-all")
async def read_all(ctx: Context, db: Db) -> Response:
    await db.transact(lambda session: notifications.read_all(ctx, session))
    return RedirectResponse("/notifications", status_code=303)


@router.post("/notifications/{public_id}/open")
async def open_one(
    public_id: UUID, ctx: Context, db: Db, to: Annotated[str, Form(max_length=200)] = "/notifications"
) -> Response:
    """Mark it read and go to what it is about."""
    await db.transact(lambda session: notifications.read(ctx, session, public_id=public_id))
    kind, _, _ = to.removeprefix("/").partition("/")
    known = {"webhooks", *(web.path for web in BY_NAME.values())}
    return RedirectResponse(to if to.startswith("/") and kind in known else "/notifications", status_code=303)


@router.get("/notifications/preferences")
async def preferences(
    page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """What the reader is told, by which channels, and when e-mail comes."""
    return await _show(page, session, FormState(done=done))


@router.post("/notifications/preferences")
async def choose(form: CurrentForm) -> Response:
    return await submit(form, _choose, _show)


async def _choose(form: SentForm, session: AsyncSession) -> str:
    await notifications.save_preferences(form.context, session, order=form.order(PreferencesOrder, _payload(form)))
    return "/notifications/preferences?done=1"


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


async def _show(page: PageRequest, session: AsyncSession, state: FormState) -> Response:
    chosen = await notifications.read_preferences(page.context, session, mail_is_on=mail_is_on(page.request))
    faults = form_errors(state.error, page.language)
    return page.show(PreferencesPage(chosen=chosen, names=NAMES, done=state.done == "1", faults=faults))


@dataclass(frozen=True, slots=True)
class WebhookGroup:
    """Webhooks of one project, or the reader's own when `code` is None."""

    code: str | None
    rows: list[Webhook]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhooksPage(PageModel):
    template: ClassVar[str] = "people/webhooks.html"

    groups: Sequence[WebhookGroup]
    done: str


@router.get("/webhooks")
async def webhooks_page(
    page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    own = await webhooks.listing_own(page.context, session, cursor=None, limit=MOST_WEBHOOKS)
    groups = [WebhookGroup(None, own.items)]
    for project in await projects.projects_of(page.context, session):
        if project.public_id == page.project and page.may(EDIT_PROJECT, project):
            found = await webhooks.listing(
                page.context, session, project_public_id=project.public_id, cursor=None, limit=MOST_WEBHOOKS
            )
            groups.append(WebhookGroup(project.code, found.items))
    return page.show(WebhooksPage(groups=groups, done=done))


@router.post("/webhooks/{public_id}/on")
async def on(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Also what Saraban itself has switched off because nothing got through."""
    return await _switched(page, db, public_id, is_active=True)


@router.post("/webhooks/{public_id}/off")
async def off(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """What happens meanwhile is not told later."""
    return await _switched(page, db, public_id, is_active=False)


async def _switched(page: PageRequest, db: Database, public_id: UUID, *, is_active: bool) -> Response:
    change = WebhookChangeIn(is_active=is_active)
    await db.transact(partial(webhooks.change, page.context, public_id=public_id, change=change, if_match=None))
    return RedirectResponse(f"/webhooks?done={'on' if is_active else 'off'}", status_code=303)
