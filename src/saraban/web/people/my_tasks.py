"""Pages of the reader's tasks and delegations."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import Scope
from saraban.identity.service import OrganizationMember
from saraban.kit.clock import local_date
from saraban.kit.errors import Text
from saraban.kit.http import Db, PageCursor, ReadSession
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.setup import service as setup
from saraban.setup.domain.checklist import Missing
from saraban.web.shell import labels
from saraban.web.shell.administration import checklist_page
from saraban.web.shell.document_kinds import BY_NAME
from saraban.web.shell.forms import CurrentForm, Shown, texts
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.workflow import service as workflow
from saraban.workflow.language.registers import REGISTERS
from saraban.workflow.runtime.dependencies import RegisteredSubjects
from saraban.workflow.runtime.domain.delegation import DelegationStatus
from saraban.workflow.runtime.schemas import DelegationIn, DelegationOut
from saraban.workflow.runtime.service import delegations

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS = 25
DELEGATION_ROWS: Final = 50
DELEGATIONS: Final = "/delegations"
# Workflows are named by their documents.
_WORKFLOW_NAMES: Final = {
    **{register.code: BY_NAME[kind].plural for kind, register in REGISTERS.items()},
    "SHOP_DRAWING_FLOW_V1": Text("แบบขยาย", "Shop drawings"),
}
_TYPE_BY_CODE: Final = {code: of for register in REGISTERS.values() for of, code in register.codes}
PERIOD_STATES: Final[dict[str, tuple[Text, str]]] = {
    DelegationStatus.UPCOMING: (Text("ยังไม่เริ่ม", "Upcoming"), "blue"),
    DelegationStatus.ACTIVE: (Text("มีผลอยู่", "Active"), "green"),
    DelegationStatus.ENDED: (Text("สิ้นสุดแล้ว", "Ended"), "grey"),
    DelegationStatus.REVOKED: (Text("ยกเลิกแล้ว", "Revoked"), "grey"),
}


TO_DO: Final[Mapping[Missing, Text]] = {
    Missing.ORGANIZATIONS: Text("องค์กรที่เข้าร่วมและบทบาท อย่างน้อยสององค์กร", "Organizations and their roles: two at least"),
    Missing.CONTRACTS: Text("สัญญาและคู่สัญญา", "A contract with its parties"),
    Missing.DISCIPLINES: Text("สาขางาน", "Disciplines"),
    Missing.TYPES: Text("ประเภท RFA", "RFA types"),
    Missing.FORMATS: Text("รูปแบบเลขที่", "Number formats"),
    Missing.PEOPLE: Text(
        "ผู้ใช้งาน: ผู้จัดทำเอกสาร และผู้พิจารณาของทุกองค์กรที่กระบวนงาน RFA รอ",
        "People: somebody who creates, and a reviewer of each organization that RFAs wait for",
    ),
    Missing.WORKFLOWS: Text("กระบวนงานของเอกสาร", "Workflows that documents start on"),
}


@dataclass(frozen=True, slots=True)
class ProjectToDo:
    """The set-up tasks of a project: text, address, and whether it is done."""

    project: ProjectRef
    lines: Sequence[tuple[Text, str, bool]]


class MyTasksPage(
    PageModel, template="people/my_tasks.html", fragments=("people/parts/task_rows.html", "people/parts/task_list.html")
):
    items: Sequence[workflow.Task]
    next_cursor: str | None
    today: date
    to_do: ProjectToDo | None
    may_begin: bool


@router.get("/inbox")
async def inbox(
    page: CurrentPage, session: ReadSession, subjects: RegisteredSubjects, cursor: PageCursor = None
) -> Response:
    ctx = page.context
    tasks = await workflow.list_tasks(ctx, session, subjects=subjects, cursor=cursor, limit=ROWS, now=ctx.now)
    today = local_date(ctx.now, ctx.zone)
    return page.show_list(
        MyTasksPage(
            items=tasks.items,
            next_cursor=tasks.next_cursor,
            today=today,
            to_do=None if page.is_fragment else await _to_do(page, session),
            may_begin=not page.is_fragment and not page.projects and page.caller.may(setup.CREATE, Scope()),
        ),
        cursor,
    )


async def _to_do(page: PageRequest, session: AsyncSession) -> ProjectToDo | None:
    """Return the open tasks of the chosen project, or of the first that the reader manages."""
    managed = await page.projects_with(session, setup.MANAGE)
    project = next((item for item in managed if page.project in {None, item.public_id}), None)
    if project is None:
        return None
    checklist = await setup.read_checklist(page.context, session, public_id=project.public_id)
    if checklist.complete:
        return None
    places = {item.kind: checklist_page(item.kind, project.public_id, checklist.contract) for item in checklist.items}
    lines = [(TO_DO[item.kind], places[item.kind], item.done) for item in checklist.items]
    return ProjectToDo(project, lines)


class PeopleOptions(PageModel, template="people/parts/people_options.html"):
    people: Sequence[OrganizationMember]
    chosen: str


class DelegationsPage(PageModel, template="people/delegations.html"):
    given: Sequence[DelegationOut]
    received: Sequence[DelegationOut]
    next_cursor: str | None
    older: bool
    people: Sequence[OrganizationMember]
    codes: Sequence[str]
    places: Sequence[ProjectRef]
    name_of: Callable[[str], Text]
    states: Mapping[str, tuple[Text, str]]
    picked: Collection[str]


@router.get("/delegations/colleagues")
async def colleagues(
    page: CurrentPage, session: ReadSession, q: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    members = await delegations.colleagues(page.context, session, text=q)
    return page.show(PeopleOptions(people=members, chosen=""))


@router.post("/delegations")
async def delegate(form: CurrentForm) -> Response:
    async with form.show_on_refusal(delegations_page):
        codes = texts(form.values, "workflowCodes")
        typed = form.filled("delegatePublicId", "startsOn", "endsOn", "projectPublicId", "reason")
        order = form.order(DelegationIn, typed | ({"workflowCodes": codes} if codes else {}))
        await form.transact(delegations.delegate, wanted=order)
    return RedirectResponse(f"{DELEGATIONS}?done=lent", 303)


@router.post("/delegations/{public_id}/revoke")
async def revoke(public_id: UUID, page: CurrentPage, db: Db) -> Response:
    await db.transact(delegations.revoke, page.context, public_id=public_id, if_match=None)
    return RedirectResponse(f"{DELEGATIONS}?done=revoked", status_code=303)


def name_of(code: str) -> Text:
    if code in _TYPE_BY_CODE:
        return labels.type_name(_TYPE_BY_CODE[code])
    return _WORKFLOW_NAMES.get(code, Text(code, code))


@router.get("/delegations")
async def delegations_page(
    page: CurrentPage, session: ReadSession, state: Shown, cursor: PageCursor = None
) -> Response:
    delegations_found = await delegations.listing(page.context, session, cursor=cursor, limit=DELEGATION_ROWS)
    own_id = page.caller.public_id
    return page.show(
        DelegationsPage(
            given=[delegation for delegation in delegations_found.items if delegation.delegator.public_id == own_id],
            received=[delegation for delegation in delegations_found.items if delegation.delegator.public_id != own_id],
            next_cursor=delegations_found.next_cursor,
            older=cursor is not None,
            people=await delegations.colleagues(page.context, session),
            codes=await delegations.known_workflows(session),
            places=await projects.projects_of(page.context, session),
            name_of=name_of,
            states=PERIOD_STATES,
            picked=set(texts(state.form, "workflowCodes")),
            state=state,
        )
    )
