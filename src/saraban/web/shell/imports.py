"""The pages of every import: upload a file, watch its check, start the import, watch its progress."""

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


Asked = Annotated[ImportPlace, Query()]


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


class ImportPages:
    """
    What the pages of one importer have of their own.

    :cvar permission: who may open the list
    :cvar query: of an upload
    """

    importer: AnyImporter
    address: str
    permission: str
    query: type[ImportQuery] = ImportQuery

    async def list_page(
        self, page: PageRequest, session: AsyncSession, asked: ImportPlace
    ) -> tuple[ProjectRef, Callable[..., ImportsPage]]:
        """Return the project, and the page with its own fields."""
        raise NotImplementedError

    def import_page(self, page: PageRequest, found: AnyImportRow) -> Callable[..., ImportPage]:
        """Return the page with its own fields."""
        raise NotImplementedError

    def choice(self, values: FormValues, found: AnyImportRow) -> object:
        """Return the choices of a form as the body of the API."""
        raise NotImplementedError

    async def show_list(
        self, page: PageRequest, session: AsyncSession, state: FormState, asked: ImportPlace, cursor: str | None = None
    ) -> Response:
        page.caller.require_somewhere(self.permission)
        place, model = await self.list_page(page, session, asked)
        project, limit = place.public_id, ROWS
        found = await uploads.list_imports(page.context, session, self.importer, project, cursor=cursor, limit=limit)
        shown = model(
            state=state,
            rows=found.items,
            next_cursor=found.next_cursor,
            place=place,
            address=self.address,
            columns=self.importer.columns,
        )
        return page.show_list(shown, cursor)

    async def show(self, page: PageRequest, session: AsyncSession, state: FormState, public_id: UUID) -> Response:
        found = await uploads.read_import(page.context, session, self.importer, public_id)
        page.within(found.project)
        shown = self.import_page(page, found)(
            state=state,
            row=found.row,
            username=found.username,
            report=found.row.report or {},
            headings={column.key: column.heading for column in self.importer.columns},
        )
        return page.show(shown, *(shown.fragments if page.is_fragment else ()))

    async def commit(self, ctx: RequestContext, session: AsyncSession, public_id: UUID, values: FormValues) -> None:
        found = await uploads.read_import(ctx, session, self.importer, public_id)
        await uploads.start_import(ctx, session, self.importer, public_id, self.choice(values, found))


def import_router(prefix: str, find: Callable[..., Awaitable[ImportPages]]) -> APIRouter:
    """:param find: a dependency that returns the pages of an importer"""
    router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix=prefix)

    @router.get("")
    async def show_list(
        pages: Annotated[ImportPages, Depends(find)],
        page: CurrentPage,
        session: ReadSession,
        asked: Asked,
        cursor: PageCursor = None,
    ) -> Response:
        return await pages.show_list(page, session, NEW_FORM, asked, cursor)

    @router.post("")
    async def upload(
        pages: Annotated[ImportPages, Depends(find)],
        page: CurrentPage,
        sent: OneFile,
        db: Db,
        storage: FileStorage,
        once: Idempotent,
        asked: Asked,
    ) -> Response:
        async with SentForm(page, db, EMPTY_FORM).shown_again(pages.show_list, asked):
            sheet = ImportFile.of(sent.name, sent.chunks())
            query = checked_values(pages.query, {**asked.given, "sheet": sent.sheet})
            receipt = await uploads.upload_import(
                page.context, db, storage, once, pages.importer, query=query, sheet=sheet
            )
        return RedirectResponse(f"{pages.address}/{receipt.public_id}", status_code=303)

    @router.get("/{public_id}")
    async def show(
        pages: Annotated[ImportPages, Depends(find)], public_id: UUID, page: CurrentPage, session: ReadSession
    ) -> Response:
        return await pages.show(page, session, NEW_FORM, public_id)

    @router.post("/{public_id}/commit")
    async def commit(pages: Annotated[ImportPages, Depends(find)], public_id: UUID, form: CurrentForm) -> Response:
        async with form.shown_again(pages.show, public_id):
            await form.transact(pages.commit, public_id, form.values)
        return RedirectResponse(f"{pages.address}/{public_id}", 303)

    return router
