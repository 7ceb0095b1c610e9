"""The list of projects, and the form of a new one with previews of its templates."""

from collections.abc import Sequence
from typing import Final

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import EVERYTHING, RequestContext, Scope
from saraban.kit.http import Idempotent, ReadSession
from saraban.kit.idempotency import Idempotency
from saraban.kit.ids import new_id
from saraban.kit.operation import Operation, Receipt
from saraban.kit.problem import checked_values
from saraban.projects.service import ProjectRef
from saraban.setup import service as setup
from saraban.setup.schemas.new_project import NewProjectIn
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import CurrentForm, Shown, text
from saraban.web.shell.page import CurrentPage, PageModel, remember_project
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/projects")

NO_PROJECT: Final = "none"
EMPTY: Final = "empty"
COPY: Final = "copy"
TASKS: Final = "/inbox"


class ProjectsPage(PageModel, template="projects/projects.html"):
    open: Sequence[ProjectRef]
    closed: Sequence[ProjectRef]
    managed: frozenset[int]
    may_add: bool
    may_apply: bool


class NewProjectPage(PageModel, template="projects/new_project.html"):
    previews: Sequence[setup.ProjectPreview]
    sources: Sequence[ProjectRef]
    may_copy_people: bool
    key: str


@router.get("")
async def listing(page: CurrentPage, session: ReadSession) -> Response:
    refs = await page.projects_with(session, None)
    return page.show(
        ProjectsPage(
            open=refs,
            closed=await setup.closed_projects(page.context, session),
            managed=frozenset(ref.id for ref in refs if page.may(setup.MANAGE, ref)),
            may_add=page.caller.may(setup.CREATE, Scope()),
            may_apply=page.caller.may(EVERYTHING, Scope()),
        )
    )


@router.post("/new")
async def create(form: CurrentForm, once: Idempotent) -> Response:
    async with form.show_on_refusal(new):
        receipt = await form.once(_create_once, once, order_of(form.values))
    response = RedirectResponse(TASKS, status_code=303)
    remember_project(response, str(receipt.resource_id))
    return response


async def _create_once(ctx: RequestContext, once: Idempotency, order: NewProjectIn) -> Receipt:
    return await once.run(Operation.of(ctx, "PAGE /projects/new", order), setup.new_project, ctx, order)


@router.get("/new")
async def new(page: CurrentPage, session: ReadSession, state: Shown) -> Response:
    page.caller.require(setup.CREATE, Scope())
    return page.show(
        NewProjectPage(
            state=state,
            previews=setup.previews(),
            sources=await page.projects_with(session, setup.MANAGE),
            may_copy_people=page.caller.may(EVERYTHING, Scope()),
            key=text(state.form, "key") or str(new_id()),
        )
    )


def order_of(form: FormValues) -> NewProjectIn:
    """:raises Invalid:"""
    start = text(form, "start") or EMPTY
    typed = {name: text(form, name) for name in ("projectCode", "projectName", "projectNameEn", "role")}
    order: dict[str, object] = {name: value for name, value in typed.items() if value}
    if start == COPY:
        order |= {"copyOf": text(form, "copyOf") or "", "withPeople": text(form, "withPeople") == "1"}
    elif start != EMPTY:
        order["template"] = start
    return checked_values(NewProjectIn, order)
