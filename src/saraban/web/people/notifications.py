"""What people and systems are notified of: the bell, the list behind it, the settings; webhooks and how they fare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar
from uuid import UUID

from fastapi import APIRouter, Form, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.dependencies import Context
from saraban.identity.domain.context import Scope
from saraban.kit.db import Database
from saraban.kit.errors import Invalid, Text
from saraban.kit.http import Db, PageCursor, ReadSession
from saraban.notifications import service as notifications
from saraban.notifications.domain.kinds import KINDS, NAMES, NoticeKind
from saraban.notifications.schemas import PreferencesAnswer, PreferencesOrder
from saraban.notifications.service.inbox import NotificationView
from saraban.projects import service as projects
from saraban.web.shell.document_kinds import BY_NAME, WebKind
from saraban.web.shell.forms import FormValues, form_errors, read_form, text, validated
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.webhooks import service as webhooks
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

    items: Sequence[NotificationView]
    next_cursor: str | None
    by_name: Mapping[str, WebKind]
    only_unread: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BellFragment(PageModel):
    template: ClassVar[str] = "people/parts/bell.html"

    items: Sequence[NotificationView]
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
    template = "people/parts/notification_rows.html" if page.is_fragment and cursor else "people/notifications.html"
    return page.show(
        NotificationsPage(items=found.items, next_cursor=found.next_cursor, by_name=BY_NAME, only_unread=unread == "1"),
        template,
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
    """Marks it read and goes to what it is about."""
    await db.transact(lambda session: notifications.read(ctx, session, public_id=public_id))
    kind, _, _ = to.removeprefix("/").partition("/")
    known = {"webhooks", *(web.path for web in BY_NAME.values())}
    return RedirectResponse(to if to.startswith("/") and kind in known else "/notifications", status_code=303)


@router.get("/notifications/preferences")
async def preferences(
    page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=5)] = ""
) -> Response:
    """What the reader is told, by which channels, and when e-mail comes."""
    return await _show(page, session, done=done == "1")


@router.post("/notifications/preferences")
async def choose(page: CurrentPage, db: Db, request: Request) -> Response:
    form = await read_form(request)

    async def work(session: AsyncSession) -> None:
        order: PreferencesOrder = validated(request, PreferencesOrder, _payload(form))
        await notifications.save_preferences(page.context, session, order=order)

    try:
        await db.transact(work)
    except Invalid as error:
        async with db.reading() as session:
            return await _show(page, session, error=error)
    return RedirectResponse("/notifications/preferences?done=1", status_code=303)


def _payload(form: FormValues) -> dict[str, object]:
    hours = {name: _hour(text(form, name)) for name in ("digestHour", "quietFrom", "quietUntil")}
    channels = [
        {
            "kind": kind,
            "inApp": f"in-{kind}" in form,
            "email": f"mail-{kind}" in form,
            "webhook": f"hook-{kind}" in form,
        }
        for kind in KINDS
    ]
    return hours | {"email": "email" in form, "digest": "digest" in form, "channels": channels}


def _hour(typed: str | None) -> int | str | None:
    return int(typed) if typed is not None and typed.isdecimal() and typed.isascii() else typed


async def _show(
    page: PageRequest, session: AsyncSession, *, done: bool = False, error: Invalid | None = None
) -> Response:
    mail_is_on = page.request.app.state.mail_settings is not None
    chosen = await notifications.read_preferences(page.context, session, mail_is_on=mail_is_on)
    return page.show(PreferencesPage(chosen=chosen, names=NAMES, done=done, faults=form_errors(error, page.language)))


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
        if page.caller.may(EDIT_PROJECT, Scope(project=project.id)):
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
    async def work(session: AsyncSession) -> None:
        await webhooks.change(
            page.context,
            session,
            public_id=public_id,
            change=webhooks.WebhookChange(is_active=is_active),
            if_match=None,
        )

    await db.transact(work)
    return RedirectResponse(f"/webhooks?done={'on' if is_active else 'off'}", status_code=303)
