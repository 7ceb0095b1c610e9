"""What waits for the reader, across all kinds of documents."""

from fastapi import APIRouter
from starlette.responses import Response

from saraban.kit.clock import local_date
from saraban.kit.http import Now, PageCursor, ReadSession
from saraban.web.shell.document_kinds import BY_NAME
from saraban.web.shell.page import CurrentPage
from saraban.web.shell.session_renewal import PageRoute
from saraban.workflow import service as workflow
from saraban.workflow.runtime.dependencies import RegisteredSubjects

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25


@router.get("/inbox")
async def inbox(
    page: CurrentPage,
    session: ReadSession,
    subjects: RegisteredSubjects,
    clock: Now,
    cursor: PageCursor = None,
) -> Response:
    """The whole page, or for htmx the list alone or its next rows (`cursor`)."""
    now = clock.now()
    found = await workflow.list_tasks(
        session, caller=page.caller, subjects=subjects, cursor=cursor, limit=ROWS, now=now
    )
    template = "people/my_tasks.html"
    if page.is_fragment:
        template = "people/parts/task_rows.html" if cursor else "people/parts/task_list.html"
    return page.show(
        template,
        items=found.items,
        next_cursor=found.next_cursor,
        today=local_date(now, clock.zone),
        by_name=BY_NAME,
    )
