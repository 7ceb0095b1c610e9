"""Legacy numbers from a sheet: sent in, looked at while it is checked, told to go on, looked at while it is imported."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar
from uuid import UUID

from fastapi import APIRouter, Query
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import FileStorage, OneFile
from saraban.imports.service import ImportFile
from saraban.kit.errors import DomainError, Text
from saraban.kit.http import Db, Idempotent, PageCursor, ReadSession
from saraban.numbering import service as numbering
from saraban.numbering.imports.domain import COLUMNS
from saraban.projects.service import ProjectRef
from saraban.web.numbers.register import OVERRIDE
from saraban.web.shell.forms import (
    NEW_FORM,
    CurrentForm,
    FormState,
    FormValues,
    SentForm,
    form_errors,
    has_own_page,
    submit,
    texts,
)
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/numbers/imports")

ROWS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportsPage(PageModel):
    template: ClassVar[str] = "numbers/imports.html"
    fragments: ClassVar[tuple[str, ...]] = ("shell/import_rows.html",)

    rows: Sequence[numbering.NumberImportRow]
    address: str = "/numbers/imports"
    next_cursor: str | None
    place: ProjectRef
    places: Sequence[ProjectRef]
    columns: Sequence[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportPage(PageModel):
    template: ClassVar[str] = "numbers/import.html"
    fragments: ClassVar[tuple[str, ...]] = ("numbers/parts/import_state.html",)

    row: Any
    place: UUID
    username: str
    report: Mapping[str, Any]
    headings: Mapping[str, Text]


@router.get("")
async def listing(
    page: CurrentPage, session: ReadSession, project: Annotated[UUID | None, Query()] = None, cursor: PageCursor = None
) -> Response:
    """What was imported before, the way to the template, and the form that takes a file."""
    return await _list(page, session, project, cursor)


@router.post("")
async def upload(
    page: CurrentPage, sent: OneFile, db: Db, storage: FileStorage, once: Idempotent, project: Annotated[UUID, Query()]
) -> Response:
    try:
        sheet = ImportFile.of(sent.name, sent.chunks())
        receipt = await numbering.upload_import(page.context, db, storage, once, project_public_id=project, sheet=sheet)
    except DomainError as error:
        if has_own_page(error):
            raise
        async with db.reading() as session:
            return await _list(page, session, project, error=error)
    return RedirectResponse(f"/numbers/imports/{receipt.public_id}", status_code=303)


@router.get("/{public_id}")
async def show(public_id: UUID, page: CurrentPage, session: ReadSession) -> Response:
    return await _show(public_id, page, session)


@router.post("/{public_id}/commit")
async def commit(public_id: UUID, form: CurrentForm) -> Response:
    return await submit(form, partial(_commit, public_id), partial(_show, public_id))


async def _commit(public_id: UUID, form: SentForm, session: AsyncSession) -> str:
    found = await numbering.read_import(form.context, session, public_id=public_id)
    await numbering.start_import(form.context, session, public_id=public_id, moves=_ticked(form.values, found))
    return f"/numbers/imports/{public_id}"


def _ticked(form: FormValues, found: numbering.NumberImportRow) -> list[numbering.CounterMove]:
    """Each box holds the series and the number that was shown beside it; the first one stands for all of them."""
    if form.get("all") == "1":
        offered = (found.row.report or {}).get("series", [])
        return [numbering.CounterMove(one["series"], one["highest"]) for one in offered if one["jump"]]
    boxes = [box.partition("|") for box in texts(form, "move")]
    return [numbering.CounterMove(series, int(to) if to.isdecimal() else 0) for to, _, series in boxes]


async def _list(
    page: PageRequest,
    session: AsyncSession,
    project: UUID | None,
    cursor: str | None = None,
    error: DomainError | None = None,
) -> Response:
    page.caller.require_somewhere(OVERRIDE)
    chosen = await page.choose_project(session, project, OVERRIDE)
    found = await numbering.list_imports(
        page.context, session, project_public_id=chosen.place.public_id, cursor=cursor, limit=ROWS
    )
    return page.show_list(
        ImportsPage(
            rows=found.items,
            next_cursor=found.next_cursor,
            place=chosen.place,
            places=chosen.places,
            columns=COLUMNS,
            faults=form_errors(error, page.language),
        ),
        cursor,
    )


async def _show(public_id: UUID, page: PageRequest, session: AsyncSession, state: FormState = NEW_FORM) -> Response:
    found = await numbering.read_import(page.context, session, public_id=public_id)
    return page.show(
        ImportPage(
            row=found.row,
            place=found.project,
            username=found.username,
            report=found.row.report or {},
            headings={column.key: column.heading for column in COLUMNS},
            faults=form_errors(state.error, page.language),
        ),
        "numbers/parts/import_state.html" if page.is_fragment else None,
    )
