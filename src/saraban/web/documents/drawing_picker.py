"""
Drawings for the lists of numbers in forms: found by number or title, or all that stand in a category.

What is picked is a number in the list of its register, beside what was pasted there, and the form is read as before.
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
    What a picker asks for, of the project of the form it stands in.

    :param kinds: paths of the registers that the form takes
    :param kind: the register whose category is added; the first one when it is none of them
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
        found = [KINDS[one] for one in self.kinds if one in KINDS]
        if not found:
            raise NotFound("There is no such register of drawings.")
        return found

    @property
    def register(self) -> DrawingKind:
        return next((one for one in self.registers if one.path == self.kind), self.registers[0])


Asked = Annotated[PickerQuery, Query()]


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


def _project(page: PageRequest, asked: PickerQuery) -> UUID:
    """
    Return the project of the form.

    :raises NotFound: when there is none
    """
    found = id_of(asked.new or asked.draft) or page.project
    if found is None:
        raise NotFound("There is no such project.")
    return found


@router.get("")
async def find(page: CurrentPage, session: ReadSession, asked: Asked) -> Response:
    """Drawings of any of the registers, in the order of numbers: the same one in two of them stands twice, each with its register."""
    page.caller.require_somewhere(VIEW)
    text = "" if control_character(asked.find) is not None else asked.find.strip()
    found: list[DrawingSummary] = []
    more = False
    for kind in asked.registers if text else ():
        query = _query(_project(page, asked), q=text, limit=MOST_FOUND)
        listed = await drawings.list_drawings(page.context, session, kind, query)
        found += listed.items
        more = more or listed.next_cursor is not None
    found.sort(key=lambda one: one.drawing_number)
    model = FoundDrawingsFragment(
        found=found[:MOST_FOUND], text=text, more=more or len(found) > MOST_FOUND, registers=KINDS, lists=FIELDS
    )
    return page.show(model)


def _query(project: UUID, **given: Any) -> DrawingQuery:
    return DrawingQuery.model_validate({"projectPublicId": project, **given})


@router.get("/categories")
async def categories(page: CurrentPage, session: ReadSession, asked: Asked) -> Response:
    page.caller.require_somewhere(VIEW)
    kind, project = asked.register, _project(page, asked)
    lists = await drawings.classifications(page.context, session, kind, project_public_id=project)
    model = CategoriesFragment(
        register=kind,
        offered=asked.registers,
        categories=lists["category"],
        disciplines=await projects.disciplines(page.context, session, project_public_id=project),
    )
    return page.show(model)


@router.get("/category")
async def category(page: CurrentPage, session: ReadSession, asked: Asked) -> Response:
    page.caller.require_somewhere(VIEW)
    kind = asked.register
    given = {name: value for name in ("category", "discipline") if (value := getattr(asked, name))}
    numbers, more = list[str](), False
    if given:
        query = _query(_project(page, asked), **given)
        numbers, more = await drawings.list_numbers(page.context, session, kind, query, most=MOST_ADDED)
    return page.show(AddedDrawingsFragment(numbers=numbers, more=more, chosen=bool(given), into=FIELDS[kind]))
