"""What waits for the reader, across all kinds of documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from fastapi import APIRouter
from starlette.responses import Response

from saraban.kit.clock import local_date
from saraban.kit.http import PageCursor, ReadSession
from saraban.web.shell.document_kinds import BY_NAME, WebKind
from saraban.web.shell.page import CurrentPage, PageModel
from saraban.web.shell.session_renewal import PageRoute
from saraban.workflow import service as workflow
from saraban.workflow.runtime.dependencies import RegisteredSubjects

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class MyTasksPage(PageModel):
    template: ClassVar[str] = "people/my_tasks.html"
    fragments: ClassVar[tuple[str, ...]] = ("people/parts/task_rows.html", "people/parts/task_list.html")

    items: Sequence[workflow.Task]
    next_cursor: str | None
    today: date
    by_name: Mapping[str, WebKind]


@router.get("/inbox")
async def inbox(
    page: CurrentPage,
    session: ReadSession,
    subjects: RegisteredSubjects,
    cursor: PageCursor = None,
) -> Response:
    """The whole page, or for htmx the list alone or its next rows (`cursor`)."""
    ctx = page.context
    found = await workflow.list_tasks(ctx, session, subjects=subjects, cursor=cursor, limit=ROWS, now=ctx.now)
    template = "people/my_tasks.html"
    if page.is_fragment:
        template = "people/parts/task_rows.html" if cursor else "people/parts/task_list.html"
    return page.show(
        MyTasksPage(
            items=found.items, next_cursor=found.next_cursor, today=local_date(ctx.now, ctx.zone), by_name=BY_NAME
        ),
        template,
    )
