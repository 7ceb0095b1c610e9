"""Page of the workflows that documents start on, per project or for the installation."""

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
_INSTALLATION: Final = "all"  # in addresses and forms: the whole installation, which has no public id
_BY_DEFAULT = Text("เมื่อไม่ได้กำหนดกระบวนงานอื่น", "where no other is assigned")
_OF_ALL = Text("ทุกโครงการ", "all projects")
_NONE: Final[Mapping[str, Text]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class AssignmentRow:
    """
    :param choice: the assignment that applies; None for the shipped workflow
    :param own: the choice was made for this place, and can be removed here
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
    async with form.show_on_refusal(show):
        values = form.filled("kind", "typeCode", "workflowCode")
        order = form.order(WorkflowAssignmentIn, {**values, "projectPublicId": _project_of(form.values)})
        place = AssignmentTarget(order.kind, order.type_code, order.project_public_id)
        await form.transact(workflow_assignment.assign, place=place, workflow_code=order.workflow_code)
    return _back(form, "chosen")


@router.post("/remove")
async def take_back(form: CurrentForm) -> Response:
    async with form.show_on_refusal(show):
        place = AssignmentTarget(form.text("kind") or "", form.text("typeCode"), _project_of(form.values))
        await form.transact(workflow_assignment.unassign, place=place)
    return _back(form, "taken")


def documents_label(kind: str, type_code: str | None, *, rfa_types: Mapping[str, Text]) -> Text:
    """Name all documents of a kind or of one type; RFA types are the projects' own."""
    plural = BY_NAME[kind].plural
    if type_code is None:
        return plural
    by_rfa_type = REGISTERS[kind].by_rfa_type
    name = rfa_types.get(type_code, Text(type_code, type_code)) if by_rfa_type else labels.type_name(type_code)
    return Text(f"{plural.th}: {name.th}", f"{plural.en}: {name.en}")


def assignment_label(assigned: AssignedKindOut, *, rfa_types: Mapping[str, Text]) -> Text:
    documents = documents_label(assigned.kind, assigned.type_code, rfa_types=rfa_types)
    if assigned.project_code is not None:
        return Text(
            f"{documents.th} โครงการ {assigned.project_code}", f"{documents.en} of project {assigned.project_code}"
        )
    scope = _BY_DEFAULT if assigned.by_default else _OF_ALL
    return Text(f"{documents.th} ({scope.th})", f"{documents.en} ({scope.en})")


async def rfa_types(ctx: RequestContext, session: AsyncSession, places: Iterable[ProjectRef]) -> dict[str, Text]:
    """Return the names of RFA types; for a code of several projects, the first name."""
    names: dict[str, Text] = {}
    for place in places:
        for item in await projects.rfa_types(ctx, session, project_public_id=place.public_id):
            names.setdefault(item.code, Text(item.name_th or item.code, item.name_en or item.code))
    return names


async def rfa_types_named(
    ctx: RequestContext,
    session: AsyncSession,
    lines: Iterable[AssignmentRow | AssignedKindOut],
    names: Mapping[str, Text] = _NONE,
) -> Mapping[str, Text]:
    """Return the names of the RFA types in the lines; unknown codes load all projects."""
    codes = {item.type_code for item in lines if item.type_code is not None and REGISTERS[item.kind].by_rfa_type}
    if codes <= names.keys():
        return names
    return await rfa_types(ctx, session, await projects.projects_of(ctx, session)) | dict(names)


def assignment_rows(assignments: Sequence[WorkflowAssignmentOut], project: UUID | None) -> Iterator[AssignmentRow]:
    """Return the workflow of each kind, and of each type with an assignment."""
    by_place: dict[tuple[UUID | None, str, str | None], WorkflowAssignmentOut] = {
        (
            assignment.project.public_id if assignment.project else None,
            assignment.kind,
            assignment.type_code,
        ): assignment
        for assignment in assignments
    }
    for kind, register in REGISTERS.items():
        types = {code for place, of, code in by_place if of == kind and code and place in {project, None}} | {
            *dict(register.codes)
        }
        for type_code in (None, *sorted(types)):
            order = ((project, type_code), (project, None), (None, type_code), (None, None))
            choice = next(
                (by_place[place, kind, code] for place, code in order if (place, kind, code) in by_place), None
            )
            own = choice is not None and by_place.get((project, kind, type_code)) is choice
            yield AssignmentRow(
                kind, type_code, choice.workflow_code if choice else register.of_type(type_code).code, choice, own
            )


def _project_of(form: FormValues) -> UUID | None:
    """
    Return the form's project, or None for the whole installation.
    :raises NotFound: when the form names neither
    """
    return None if text(form, "project") == _INSTALLATION else project_in(form)


def _back(form: SentForm, done: str) -> Response:
    target = _project_of(form.values) or _INSTALLATION
    return RedirectResponse(f"{HOME}?project={target}&kind={form.text('kind') or FIRST}&done={done}", 303)


@router.get("")
async def show(
    page: CurrentPage,
    session: ReadSession,
    state: Shown,
    project: Annotated[str, Query(max_length=40)] = "",
    kind: Annotated[str, Query(max_length=20)] = FIRST,
) -> Response:
    if state.error:
        project, kind = str(_project_of(state.form) or _INSTALLATION), text(state.form, "kind") or FIRST
    page.caller.require_somewhere(VIEW)
    kind = kind if kind in REGISTERS else FIRST
    places = list(page.projects or await projects.projects_of(page.context, session))
    place = _selected_place(page, places, project)
    offers = await workflow_assignment.assignable_workflows(session)
    assigned = await workflow_assignment.listing(page.context, session)
    rows = list(assignment_rows(assigned, place.public_id if place else None))
    type_names = await rfa_types(page.context, session, [place] if place else places)
    all_type_names = await rfa_types_named(page.context, session, rows, type_names)
    return page.show(
        AssignmentPage(
            place=place,
            places=places,
            everywhere=_INSTALLATION,
            lines=rows,
            known={offer.code: offer.version for offer in offers},
            kind=kind,
            kinds_of=[(name, BY_NAME[name].plural) for name in REGISTERS],
            types=_types(kind, type_names),
            offers=[offer for offer in offers if kind in offer.kinds],
            words_of=partial(documents_label, rfa_types=all_type_names),
            state=state,
            may_choose=workflow_assignment.may_assign(page.context, place),
        )
    )


def _selected_place(page: PageRequest, places: Sequence[ProjectRef], typed: str) -> ProjectRef | None:
    """
    Return the project to show; None for the installation. The default is the top bar's.
    :raises NotFound: when the reader does not see the project
    """
    if typed == _INSTALLATION:
        return None
    public_id = id_of(typed) if typed else page.project
    place = next((ref for ref in places if ref.public_id == public_id), None)
    if place is None and typed:
        raise NotFound("There is no such project.")
    return place or next(iter(places), None)


def _types(kind: str, rfa_types: Mapping[str, Text]) -> list[tuple[str, Text]]:
    register = REGISTERS[kind]
    if not register.by_rfa_type:
        return [(code, labels.type_name(code)) for code in register.types]
    return sorted(rfa_types.items(), key=lambda item: item[0])
