"""Drawings from a sheet: sent in, looked at while it is checked, told to go on, looked at while it is imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import FileStorage, OneFile
from saraban.documents.drawing import service as drawings
from saraban.documents.drawing.domain import CREATE, DrawingKind
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.models import DrawingImport
from saraban.documents.drawing.schemas import DrawingImportQuery
from saraban.identity.domain.context import Scope
from saraban.imports.service import ImportFile
from saraban.kit.errors import DomainError, Text
from saraban.kit.http import Db, Idempotent, PageCursor, ReadSession
from saraban.projects.schemas import ContractSummary, PartySummary
from saraban.setup.domain.master_kinds import DRAWING_CATEGORIES
from saraban.web.documents.drawing_forms import own_organizations, register_named
from saraban.web.shell.forms import (
    NEW_FORM,
    CurrentForm,
    FormState,
    SentForm,
    form_errors,
    has_own_page,
    submit,
    validated,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, id_of
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/drawings/{name}/imports")

ROWS: Final = 50
_MISSING: Final = (
    ("volumes", Text("เล่ม", "Volumes")),
    ("categories", Text("หมวด", "Categories")),
    ("subCategories", Text("หมวดย่อย", "Sub categories")),
)
_PAIRS: Final = Text("คู่ของหมวดกับหมวดย่อย", "Category with sub category")


class ImportPlace(BaseModel):
    """
    What the address bar says.

    :param chosen: contract and originator have been chosen; before that they are the caller's own
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    project: str = Field("", max_length=40)
    contract: str = Field("", max_length=50)
    originator: str = Field("", max_length=50)
    chosen: str = Field("", max_length=1)

    @property
    def given(self) -> dict[str, str]:
        said = {"projectPublicId": self.project, "contract": self.contract, "originator": self.originator}
        return {name: value for name, value in said.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingImportsPage(PageModel):
    template: ClassVar[str] = "documents/drawing_imports.html"
    fragments: ClassVar[tuple[str, ...]] = ("shell/import_rows.html",)

    register: DrawingKind
    rows: Sequence[drawings.DrawingImportRow]
    address: str
    next_cursor: str | None
    place: Any
    contracts: Sequence[ContractSummary]
    own: Sequence[PartySummary]
    contract: str
    originator: str
    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawingImportPage(PageModel):
    template: ClassVar[str] = "documents/drawing_import.html"
    fragments: ClassVar[tuple[str, ...]] = ("documents/parts/drawing_import_state.html",)

    register: DrawingKind
    row: DrawingImport
    username: str
    report: Mapping[str, Any]
    headings: Mapping[str, Text]
    missing_codes: Sequence[tuple[Text, Sequence[str]]]
    may_make_codes: bool


@router.get("")
async def listing(
    name: str,
    page: CurrentPage,
    session: ReadSession,
    asked: Annotated[ImportPlace, Query()],
    cursor: PageCursor = None,
) -> Response:
    """What was imported before, the way to the template, and the form that takes a file."""
    return await _list(register_named(name), page, session, asked, cursor)


@router.post("")
async def upload(
    name: str,
    page: CurrentPage,
    sent: OneFile,
    db: Db,
    storage: FileStorage,
    once: Idempotent,
    asked: Annotated[ImportPlace, Query()],
) -> Response:
    kind = register_named(name)
    try:
        sheet = ImportFile.of(sent.name, sent.chunks())
        query = validated(page.request, DrawingImportQuery, asked.given)
        receipt = await drawings.upload_import(page.context, db, storage, once, kind, asked=query, sheet=sheet)
    except DomainError as error:
        if has_own_page(error):
            raise
        async with db.reading() as session:
            return await _list(kind, page, session, asked, error=error)
    return RedirectResponse(f"/drawings/{name}/imports/{receipt.public_id}", status_code=303)


@router.get("/{public_id}")
async def show(name: str, public_id: UUID, page: CurrentPage, session: ReadSession) -> Response:
    return await _show(register_named(name), public_id, page, session)


@router.post("/{public_id}/commit")
async def commit(name: str, public_id: UUID, form: CurrentForm) -> Response:
    kind = register_named(name)
    return await submit(form, partial(_commit, kind, public_id), partial(_show, kind, public_id))


async def _commit(kind: DrawingKind, public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    create = form.text("createMissing") == "1"
    await drawings.start_import(form.context, session, kind, public_id, create_missing=create)
    return f"/drawings/{kind.path}/imports/{public_id}"


async def _list(
    kind: DrawingKind,
    page: PageRequest,
    session: AsyncSession,
    asked: ImportPlace,
    cursor: str | None = None,
    error: DomainError | None = None,
) -> Response:
    page.caller.require_somewhere(CREATE)
    place = (await page.choose_project(session, id_of(asked.project))).place
    detail, own = await own_organizations(page, session, place.public_id)
    found = await drawings.list_imports(
        page.context, session, kind, project_public_id=place.public_id, cursor=cursor, limit=ROWS
    )
    originator = asked.originator if asked.chosen or not own else own[0].organization_code
    model = DrawingImportsPage(
        register=kind,
        rows=found.items,
        address=f"/drawings/{kind.path}/imports",
        next_cursor=found.next_cursor,
        place=place,
        contracts=detail.contracts,
        own=own or detail.organizations,
        contract=asked.contract,
        originator=originator,
        columns=columns_of(kind),
        faults=form_errors(error, page.language),
    )
    return page.show_list(model, cursor)


async def _show(
    kind: DrawingKind, public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState = NEW_FORM
) -> Response:
    found = await drawings.read_import(page.context, session, kind, public_id)
    page.within(found.project)
    report = found.row.report or {}
    missing = report.get("missing", {})
    codes = [(label, missing.get(name, [])) for name, label in _MISSING]
    pairs = [f"{category} – {sub}" for category, sub in missing.get("pairs", [])]
    return page.show(
        DrawingImportPage(
            register=kind,
            row=found.row,
            username=found.username,
            report=report,
            headings={column.key: column.heading for column in columns_of(kind)},
            missing_codes=[*codes, (_PAIRS, pairs)],
            may_make_codes=page.caller.may(DRAWING_CATEGORIES[0].create, Scope(project=found.row.project_id)),
            faults=form_errors(state.error, page.language),
        ),
        "documents/parts/drawing_import_state.html" if page.is_fragment else None,
    )
