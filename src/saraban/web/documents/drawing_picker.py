"""
Find drawings by number, title or category, for the lists of numbers in forms.

A choice adds the number to the register's list in the form.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from saraban.documents.core.schemas import CodeAnswer
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import KINDS, DrawingKind
from saraban.documents.drawing.schemas import DrawingQuery, DrawingSummary
from saraban.kit.errors import NotFound
from saraban.kit.http import ReadSession
from saraban.kit.text import control_character
from saraban.projects import service as projects
from saraban.projects.schemas import CodeSummary
from saraban.web.documents.rfa_items import FIELDS
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/find/drawings")

MOST_FOUND: Final = 20
MOST_ADDED: Final = 500
VIEW: Final = "document.view"


class PickerQuery(BaseModel):
    """
    The picker's query.
    :param kinds: registers that the form accepts
    :param kind: register of the added category; by default the first
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    new: str = Field("", alias="projectPublicId", max_length=40)
    draft: str = Field("", alias="project", max_length=40)
    kinds: list[str] = Field([], max_length=3)
    find: str = Field("", max_length=200)
    kind: str = Field("", max_length=20)
    category: str = Field("", max_length=50)
    discipline: str = Field("", max_length=50)

    @property
    def registers(self) -> list[DrawingKind]:
        """:raises NotFound: when it names none"""
        registers = [KINDS[name] for name in self.kinds if name in KINDS]
        if not registers:
            raise NotFound("There is no such register of drawings.")
        return registers

    @property
    def register(self) -> DrawingKind:
        return next((kind for kind in self.registers if kind.path == self.kind), self.registers[0])


PickerParameters = Annotated[PickerQuery, Query()]


class FoundDrawingsFragment(PageModel, template="documents/parts/drawings_found.html"):
    found: Sequence[DrawingSummary]
    text: str
    more: bool
    registers: Mapping[str, DrawingKind]
    lists: Mapping[DrawingKind, str]


class CategoriesFragment(PageModel, template="documents/parts/drawing_categories.html"):
    register: DrawingKind
    offered: Sequence[DrawingKind]
    categories: Sequence[CodeAnswer]
    disciplines: Sequence[CodeSummary]


class AddedDrawingsFragment(PageModel, template="documents/parts/drawings_added.html"):
    numbers: Sequence[str]
    more: bool
    chosen: bool
    into: str


def _project(page: PageRequest, query: PickerQuery) -> UUID:
    """:raises NotFound:"""
    project = id_of(query.new or query.draft) or page.project
    if project is None:
        raise NotFound("There is no such project.")
    return project


@router.get("")
async def find(page: CurrentPage, session: ReadSession, picker: PickerParameters) -> Response:
    """Find drawings in all registers of the form, in the order of numbers."""
    page.caller.require_somewhere(VIEW)
    text = "" if control_character(picker.find) is not None else picker.find.strip()
    summaries: list[DrawingSummary] = []
    more = False
    for kind in picker.registers if text else ():
        query = _query(_project(page, picker), q=text, limit=MOST_FOUND)
        listed = await drawings.list_drawings(page.context, session, kind, query)
        summaries += listed.items
        more = more or listed.next_cursor is not None
    summaries.sort(key=lambda summary: summary.drawing_number)
    model = FoundDrawingsFragment(
        found=summaries[:MOST_FOUND], text=text, more=more or len(summaries) > MOST_FOUND, registers=KINDS, lists=FIELDS
    )
    return page.show(model)


def _query(project: UUID, **filters: Any) -> DrawingQuery:
    return DrawingQuery.model_validate({"projectPublicId": project, **filters})


@router.get("/categories")
async def categories(page: CurrentPage, session: ReadSession, query: PickerParameters) -> Response:
    page.caller.require_somewhere(VIEW)
    kind, project = query.register, _project(page, query)
    lists = await drawings.classifications(page.context, session, kind, project_public_id=project)
    model = CategoriesFragment(
        register=kind,
        offered=query.registers,
        categories=lists["category"],
        disciplines=await projects.disciplines(page.context, session, project_public_id=project),
    )
    return page.show(model)


@router.get("/category")
async def category(page: CurrentPage, session: ReadSession, picker: PickerParameters) -> Response:
    page.caller.require_somewhere(VIEW)
    kind = picker.register
    filters = {name: value for name in ("category", "discipline") if (value := getattr(picker, name))}
    numbers, more = list[str](), False
    if filters:
        query = _query(_project(page, picker), **filters)
        numbers, more = await drawings.list_numbers(page.context, session, kind, query, most=MOST_ADDED)
    return page.show(AddedDrawingsFragment(numbers=numbers, more=more, chosen=bool(filters), into=FIELDS[kind]))
