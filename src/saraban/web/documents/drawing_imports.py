"""Import of drawings from a sheet."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import CREATE, DrawingKind
from saraban.documents.drawing.schemas import DrawingImportCommit, DrawingImportQuery
from saraban.documents.drawing.service import DRAWING_IMPORTERS
from saraban.identity.domain.context import Scope
from saraban.imports.models import AnyImportRow
from saraban.kit.errors import Text
from saraban.projects.schemas import ContractSummary, PartySummary
from saraban.projects.service import ProjectRef
from saraban.setup.domain.master_kinds import DRAWING_CATEGORIES
from saraban.web.documents.drawing_forms import own_organizations, register_named
from saraban.web.shell.form_state import FormValues
from saraban.web.shell.imports import ImportPage, ImportPages, ImportPlace, ImportsPage, import_router
from saraban.web.shell.page import PageRequest, id_of

_MISSING: Final = (
    ("volumes", Text("เล่ม", "Volumes")),
    ("categories", Text("หมวด", "Categories")),
    ("subCategories", Text("หมวดย่อย", "Sub categories")),
)
_PAIRS: Final = Text("คู่ของหมวดกับหมวดย่อย", "Category with sub category")


class DrawingImportsPage(ImportsPage, template="documents/drawing_imports.html"):
    register: DrawingKind
    contracts: Sequence[ContractSummary]
    own: Sequence[PartySummary]
    contract: str
    originator: str


class DrawingImportPage(
    ImportPage, template="documents/drawing_import.html", fragments=("documents/parts/drawing_import_state.html",)
):
    register: DrawingKind
    missing_codes: Sequence[tuple[Text, Sequence[str]]]
    may_make_codes: bool


class DrawingImportPages(ImportPages):
    permission, query = CREATE, DrawingImportQuery

    def __init__(self, kind: DrawingKind) -> None:
        self.importer, self._kind = DRAWING_IMPORTERS[kind.path], kind
        self.address = self.importer.path

    async def list_page(
        self, page: PageRequest, session: AsyncSession, query: ImportPlace
    ) -> tuple[ProjectRef, Callable[..., ImportsPage]]:
        place = (await page.choose_project(session, id_of(query.project))).place
        detail, organizations = await own_organizations(page, session, place.public_id)
        return place, partial(
            DrawingImportsPage,
            register=self._kind,
            contracts=detail.contracts,
            own=organizations or detail.organizations,
            contract=query.contract,
            originator=query.originator if query.chosen or not organizations else organizations[0].organization_code,
        )

    def import_page(self, page: PageRequest, import_row: AnyImportRow) -> Callable[..., ImportPage]:
        missing = (import_row.row.report or {}).get("missing", {})
        codes = [(label, missing.get(name, [])) for name, label in _MISSING]
        pairs = [f"{category} – {sub}" for category, sub in missing.get("pairs", [])]
        return partial(
            DrawingImportPage,
            register=self._kind,
            missing_codes=[*codes, (_PAIRS, pairs)],
            may_make_codes=page.caller.may(DRAWING_CATEGORIES[0].create, Scope(project=import_row.row.project_id)),
        )

    def choice(self, values: FormValues, import_row: AnyImportRow) -> DrawingImportCommit:  # noqa: ARG002
        return DrawingImportCommit(create_missing=values.get("createMissing") == "1")


async def drawing_pages(name: str) -> ImportPages:
    return DrawingImportPages(register_named(name))


router = import_router("/drawings/{name}/imports", drawing_pages)
