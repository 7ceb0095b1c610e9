"""Which workflow documents start on, for one project or for the whole installation: what counts, and the form to choose."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.identity.domain.context import RequestContext
from saraban.kit.errors import NotFound, Text
from saraban.kit.http import ReadSession
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import BY_NAME
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.forms import CurrentForm, SentForm, Shown, project_in, text
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute
from saraban.workflow.administration.schemas import AssignedKindOut, WorkflowAssignmentIn, WorkflowAssignmentOut
from saraban.workflow.administration.service import workflow_assignment
from saraban.workflow.administration.service.workflow_assignment import AssignableWorkflow, AssignmentTarget
from saraban.workflow.language.registers import REGISTERS

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/workflows/choices")

HOME: Final = "/workflows/choices"
VIEW: Final = "workflow.view_definitions"
FIRST: Final = "correspondence"
_EVERYWHERE: Final = "all"  # in addresses and forms: the whole installation, which has no public id
_BY_DEFAULT = Text("เมื่อไม่ได้กำหนดกระบวนงานอื่น", "where no other is assigned")
_OF_ALL = Text("ทุกโครงการ", "all projects")
_NONE: Final[Mapping[str, Text]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """
    Documents with the workflow that they start on in a place.

    :param choice: what says so; None for the workflow that ships for the kind
    :param own: it was chosen for this very place, and can be taken back there
    """

    kind: str
    type_code: str | None
    code: str
    choice: WorkflowAssignmentOut | None
    own: bool


class AssignmentPage(PageModel, template="workflows/workflow_assignment.html"):
    place: ProjectRef | None
    places: Sequence[ProjectRef]
    everywhere: str
    lines: Sequence[AssignmentRow]
    known: Mapping[str, int]
    kind: str
    kinds_of: Sequence[tuple[str, Text]]
    types: Sequence[tuple[str, Text]]
    offers: Sequence[AssignableWorkflow]
    words_of: Callable[[str, str | None], Text]
    may_choose: bool


@router.post("")
async def choose(form: CurrentForm) -> Response:
    async with form.shown_again(show):
        named = form.filled("kind", "typeCode", "workflowCode")
        order = form.order(WorkflowAssignmentIn, {**named, "projectPublicId": _project_of(form.values)})
        place = AssignmentTarget(order.kind, order.type_code, order.project_public_id)
        await form.transact(workflow_assignment.assign, place=place, workflow_code=order.workflow_code)
    return _back(form, "chosen")


@router.post("/remove")
async def take_back(form: CurrentForm) -> Response:
    async with form.shown_again(show):
        place = AssignmentTarget(form.text("kind") or "", form.text("typeCode"), _project_of(form.values))
        await form.transact(workflow_assignment.unassign, place=place)
    return _back(form, "taken")


def documents_label(kind: str, type_code: str | None, *, rfa_types: Mapping[str, Text]) -> Text:
    """Name documents: all of a kind, or those of one type; RFA types are each project's own."""
    plural = BY_NAME[kind].plural
    if type_code is None:
        return plural
    by_rfa_type = REGISTERS[kind].by_rfa_type
    name = rfa_types.get(type_code, Text(type_code, type_code)) if by_rfa_type else labels.type_name(type_code)
    return Text(f"{plural.th}: {name.th}", f"{plural.en}: {name.en}")


def assignment_label(one: AssignedKindOut, *, rfa_types: Mapping[str, Text]) -> Text:
    what = documents_label(one.kind, one.type_code, rfa_types=rfa_types)
    if one.project_code is not None:
        return Text(f"{what.th} โครงการ {one.project_code}", f"{what.en} of project {one.project_code}")
    where = _BY_DEFAULT if one.by_default else _OF_ALL
    return Text(f"{what.th} ({where.th})", f"{what.en} ({where.en})")


async def rfa_types(ctx: RequestContext, session: AsyncSession, places: Iterable[ProjectRef]) -> dict[str, Text]:
    """Return what the RFA types of projects are called; of a code that several have, as the first calls it."""
    found: dict[str, Text] = {}
    for place in places:
        for one in await projects.rfa_types(ctx, session, project_public_id=place.public_id):
            found.setdefault(one.code, Text(one.name_th or one.code, one.name_en or one.code))
    return found


async def rfa_types_named(
    ctx: RequestContext,
    session: AsyncSession,
    named: Iterable[AssignmentRow | AssignedKindOut],
    known: Mapping[str, Text] = _NONE,
) -> Mapping[str, Text]:
    """Return what RFA types are called that lines name; the other projects are asked only for unknown ones."""
    codes = {one.type_code for one in named if one.type_code is not None and REGISTERS[one.kind].by_rfa_type}
    if codes <= known.keys():
        return known
    return await rfa_types(ctx, session, await projects.projects_of(ctx, session)) | dict(known)


def assignment_rows(found: Sequence[WorkflowAssignmentOut], project: UUID | None) -> Iterator[AssignmentRow]:
    """Return what counts in a place: each kind, and each type of it for which anything was chosen."""
    known: dict[tuple[UUID | None, str, str | None], WorkflowAssignmentOut] = {
        (one.project.public_id if one.project else None, one.kind, one.type_code): one for one in found
    }
    for kind, register in REGISTERS.items():
        types = {code for place, of, code in known if of == kind and code and place in {project, None}} | {
            *dict(register.codes)
        }
        for type_code in (None, *sorted(types)):
            order = ((project, type_code), (project, None), (None, type_code), (None, None))
            choice = next((known[place, kind, code] for place, code in order if (place, kind, code) in known), None)
            own = choice is not None and known.get((project, kind, type_code)) is choice
            yield AssignmentRow(
                kind, type_code, choice.workflow_code if choice else register.of_type(type_code).code, choice, own
            )


def _project_of(form: FormValues) -> UUID | None:
    """
    The project that a form is about, which no person types; None for the whole installation, which is named as well.

    :raises NotFound: when it names neither
    """
    return None if text(form, "project") == _EVERYWHERE else project_in(form)


def _back(form: SentForm, done: str) -> Response:
    where = _project_of(form.values) or _EVERYWHERE
    return RedirectResponse(f"{HOME}?project={where}&kind={form.text('kind') or FIRST}&done={done}", 303)


@router.get("")
async def show(
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    project: Annotated[str, Query(max_length=40)] = "",
    kind: Annotated[str, Query(max_length=20)] = FIRST,
) -> Response:
    if state.error:
        project, kind = str(_project_of(state.form) or _EVERYWHERE), text(state.form, "kind") or FIRST
    page.caller.require_somewhere(VIEW)
    kind = kind if kind in REGISTERS else FIRST
    places = list(page.projects or await projects.projects_of(page.context, session))
    here = _here(page, places, project)
    offers = await workflow_assignment.assignable_workflows(session)
    assigned = await workflow_assignment.listing(page.context, session)
    found = list(assignment_rows(assigned, here.public_id if here else None))
    own = await rfa_types(page.context, session, [here] if here else places)
    named = await rfa_types_named(page.context, session, found, own)
    return page.show(
        AssignmentPage(
            place=here,
            places=places,
            everywhere=_EVERYWHERE,
            lines=found,
            known={one.code: one.version for one in offers},
            kind=kind,
            kinds_of=[(name, BY_NAME[name].plural) for name in REGISTERS],
            types=_types(kind, own),
            offers=[one for one in offers if kind in one.kinds],
            words_of=partial(documents_label, rfa_types=named),
            state=state,
            may_choose=workflow_assignment.may_assign(page.context, here),
        )
    )


def _here(page: PageRequest, places: Sequence[ProjectRef], asked: str) -> ProjectRef | None:
    """
    The project that is shown, None for the whole installation; who asks for none has the one chosen in the top bar.

    :raises NotFound: when there is no such project, or the reader does not see it
    """
    if asked == _EVERYWHERE:
        return None
    wanted = id_of(asked) if asked else page.project
    found = next((one for one in places if one.public_id == wanted), None)
    if found is None and asked:
        raise NotFound("There is no such project.")
    return found or next(iter(places), None)


def _types(kind: str, rfa_types: Mapping[str, Text]) -> list[tuple[str, Text]]:
    register = REGISTERS[kind]
    if not register.by_rfa_type:
        return [(code, labels.type_name(code)) for code in register.types]
    return sorted(rfa_types.items(), key=lambda one: one[0])
