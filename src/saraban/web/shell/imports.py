"""The pages of every import: upload, check, start and progress."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import FileStorage, OneFile
from saraban.identity.domain.context import RequestContext
from saraban.imports.models import AnyImportRow, FileImport
from saraban.imports.schemas import ImportQuery
from saraban.imports.service import uploads
from saraban.imports.service.run import AnyImporter
from saraban.imports.service.uploads import ImportFile
from saraban.kit.errors import Text
from saraban.kit.http import Db, Idempotent, PageCursor, ReadSession
from saraban.kit.problem import checked_values
from saraban.kit.sheet_columns import SheetColumn
from saraban.projects.service import ProjectRef
from saraban.web.shell.form_state import EMPTY_FORM, NEW_FORM, FormState, FormValues
from saraban.web.shell.forms import CurrentForm, SentForm
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

ROWS: Final = 50


class ImportPlace(BaseModel):
    """:param chosen: contract and originator were chosen; before, they are the caller's own"""

    model_config = ConfigDict(extra="ignore", frozen=True)

    project: str = Field("", max_length=40)
    contract: str = Field("", max_length=50)
    originator: str = Field("", max_length=50)
    chosen: str = Field("", max_length=1)

    @property
    def given(self) -> dict[str, str]:
        query = {"projectPublicId": self.project, "contract": self.contract, "originator": self.originator}
        return {name: value for name, value in query.items() if value}


PlaceQuery = Annotated[ImportPlace, Query()]


class ImportsPage(PageModel, fragments=("shell/import_rows.html",)):
    rows: Sequence[AnyImportRow]
    address: str
    next_cursor: str | None
    place: ProjectRef
    columns: Sequence[SheetColumn]


class ImportPage(PageModel):
    row: FileImport
    username: str
    report: Mapping[str, object]
    headings: Mapping[str, Text]


class ImportPages(ABC):
    importer: AnyImporter
    address: str
    permission: str
    query: type[ImportQuery] = ImportQuery

    @abstractmethod
    async def list_page(
        self, page: PageRequest, session: AsyncSession, query: ImportPlace
    ) -> tuple[ProjectRef, Callable[..., ImportsPage]]: ...

    @abstractmethod
    def import_page(self, page: PageRequest, import_row: AnyImportRow) -> Callable[..., ImportPage]: ...

    @abstractmethod
    def choice(self, values: FormValues, import_row: AnyImportRow) -> object: ...

    async def show_list(
        self, page: PageRequest, session: AsyncSession, state: FormState, query: ImportPlace, cursor: str | None = None
    ) -> Response:
        page.caller.require_somewhere(self.permission)
        place, model = await self.list_page(page, session, query)
        project, limit = place.public_id, ROWS
        imports = await uploads.list_imports(page.context, session, self.importer, project, cursor=cursor, limit=limit)
        list_model = model(
            state=state,
            rows=imports.items,
            next_cursor=imports.next_cursor,
            place=place,
            address=self.address,
            columns=self.importer.columns,
        )
        return page.show_list(list_model, cursor)

    async def show(self, page: PageRequest, session: AsyncSession, state: FormState, public_id: UUID) -> Response:
        file_import = await uploads.read_import(page.context, session, self.importer, public_id)
        page.set_project(file_import.project)
        import_model = self.import_page(page, file_import)(
            state=state,
            row=file_import.row,
            username=file_import.username,
            report=file_import.row.report or {},
            headings={column.key: column.heading for column in self.importer.columns},
        )
        return page.show(import_model, *(import_model.fragments if page.is_fragment else ()))

    async def commit(self, ctx: RequestContext, session: AsyncSession, public_id: UUID, values: FormValues) -> None:
        file_import = await uploads.read_import(ctx, session, self.importer, public_id)
        await uploads.start_import(ctx, session, self.importer, public_id, self.choice(values, file_import))


def import_router(prefix: str, find: Callable[..., Awaitable[ImportPages]]) -> APIRouter:
    router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix=prefix)

    @router.get("")
    async def show_list(
        pages: Annotated[ImportPages, Depends(find)],
        page: CurrentPage,
        session: ReadSession,
        query: PlaceQuery,
        cursor: PageCursor = None,
    ) -> Response:
        return await pages.show_list(page, session, NEW_FORM, query, cursor)

    @router.post("")
    async def upload(
        pages: Annotated[ImportPages, Depends(find)],
        page: CurrentPage,
        sent: OneFile,
        db: Db,
        storage: FileStorage,
        once: Idempotent,
        query: PlaceQuery,
    ) -> Response:
        async with SentForm(page, db, EMPTY_FORM).show_on_refusal(pages.show_list, query):
            sheet = ImportFile.of(sent.name, sent.chunks())
            upload_query = checked_values(pages.query, {**query.given, "sheet": sent.sheet})
            receipt = await uploads.upload_import(
                page.context, db, storage, once, pages.importer, query=upload_query, sheet=sheet
            )
        return RedirectResponse(f"{pages.address}/{receipt.public_id}", status_code=303)

    @router.get("/{public_id}")
    async def show(
        pages: Annotated[ImportPages, Depends(find)], public_id: UUID, page: CurrentPage, session: ReadSession
    ) -> Response:
        return await pages.show(page, session, NEW_FORM, public_id)

    @router.post("/{public_id}/commit")
    async def commit(pages: Annotated[ImportPages, Depends(find)], public_id: UUID, form: CurrentForm) -> Response:
        async with form.show_on_refusal(pages.show, public_id):
            await form.transact(pages.commit, public_id, form.values)
        return RedirectResponse(f"{pages.address}/{public_id}", 303)

    return router
