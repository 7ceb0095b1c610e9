"""Webhooks in the browser: one's own and those of the projects that one may edit, how they fare, switched on and off."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.permission import Scope
from saraban.kit.http import Db, ReadSession
from saraban.projects import service as projects
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session_renewal import PageRoute
from saraban.webhooks import service as webhooks
from saraban.webhooks.service import Webhook

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/webhooks")

MANAGE = "project.edit"
_ROWS = 100  # more than a person or a project may have


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


@router.get("")
async def listing(page: CurrentPage, session: ReadSession, done: Annotated[str, Query(max_length=5)] = "") -> Response:
    own = await webhooks.listing_own(page.context, session, cursor=None, limit=_ROWS)
    groups = [WebhookGroup(None, own.items)]
    for project in await projects.projects_of(page.context, session):
        if page.caller.may(MANAGE, Scope(project=project.id)):
            found = await webhooks.listing(
                page.context, session, project_public_id=project.public_id, cursor=None, limit=_ROWS
            )
            groups.append(WebhookGroup(project.code, found.items))
    return page.show(WebhooksPage(groups=groups, done=done))


@router.post("/{public_id}/on")
async def on(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """Also what Saraban itself has switched off because nothing got through."""
    return await _switched(page, db, public_id, is_active=True)


@router.post("/{public_id}/off")
async def off(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    """What happens meanwhile is not told later."""
    return await _switched(page, db, public_id, is_active=False)


async def _switched(page: PageRequest, db: Any, public_id: UUID, *, is_active: bool) -> Response:
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
