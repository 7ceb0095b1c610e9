"""
Check spreadsheet rows, correct their cells, and save all or none.

Nothing is stored in between: the form contains the rows.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, get_args
from urllib.parse import urlencode

from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import OneFile
from saraban.identity.domain.context import RequestContext
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, invalid, required
from saraban.kit.http import Db, ReadSession, written_file
from saraban.kit.sheet_columns import SheetColumn, SheetRow
from saraban.kit.spreadsheets import read_pasted, read_table
from saraban.setup.domain import master_workbook
from saraban.setup.domain.master_rows import MOST, EndingSeries, MasterImport, PrintedCodeChanges, Verdict
from saraban.setup.service import master_data, master_import, member_rows
from saraban.web.setup.grid import FAMILIES, GridHead, grid_head
from saraban.web.setup.places import CurrentGrid, GridPlace
from saraban.web.shell.form_state import FormState
from saraban.web.shell.forms import CurrentForm, SentForm, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.shell.sheets import pack_rows, read_sent_file, unpack_rows

router = APIRouter(include_in_schema=False, route_class=PageRoute)

SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class ShownRow:
    """
    A row with its effect.
    :param change: empty for a row with faults
    :param faults: by column
    """

    line: int
    change: str
    cells: Mapping[str, object]
    faults: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reason: str | None = None


class RowCheckPage(PageModel, template="setup/row_check.html"):
    head: GridHead
    rows: Sequence[ShownRow]
    packed: str
    total: int
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    series: Sequence[EndingSeries] = ()


async def check(place: CurrentGrid, form: CurrentForm) -> Response:
    """Show the effect of pasted rows; with `apply` save them."""
    head = await _head(place, form.page, form.db)
    rows: list[SheetRow] = []
    try:
        rows = _sent_rows(head, form)
        if not form.text("apply"):
            return await _show(form.page, head, rows, await _dry_run(place, form.page, form.db, rows))
        done = await form.transact(_import, place, rows, confirm=form.text("confirm") is not None)
    except DomainError as error:
        return await _show_refusal(form.page, head, rows, error)
    parameters = urlencode({"done": "imported", "code": str(done.count("add") + done.count("change"))})
    return RedirectResponse(f"{place.url}?{parameters}", 303)


async def upload(place: CurrentGrid, page: CurrentPage, sent: OneFile, db: Db) -> Response:
    page.caller.require(place.kind.create, place.scope)
    head = await _head(place, page, db)
    rows: list[SheetRow] = []
    try:
        rows = await read_sent_file(page, sent, partial(_read_file, _columns(head), sent.sheet))
        return await _show(page, head, rows, await _dry_run(place, page, db, rows))
    except DomainError as error:
        return await _show_refusal(page, head, rows, error)


async def export(place: CurrentGrid, page: CurrentPage, session: ReadSession, closed: bool = False) -> Response:
    list_rows = member_rows.list_rows if place.has_members else master_data.list_rows
    rows_page = await list_rows(
        page.context, session, place.kind, owner=place.owner, include_closed=closed, limit=master_data.EVERY
    )
    name, kind, rows = f"{place.kind.path.replace('/', '-')}.xlsx", place.kind, rows_page.items
    return await written_file(name, lambda path: asyncio.to_thread(master_import.write_workbook, kind, rows, path))


for _base in FAMILIES:
    router.add_api_route(f"{_base}/export", export, methods=["GET"])
    router.add_api_route(f"{_base}/check", check, methods=["POST"])
    router.add_api_route(f"{_base}/upload", upload, methods=["POST"])


async def _head(place: GridPlace, page: PageRequest, db: Database) -> GridHead:
    async with db.reading() as session:
        return await grid_head(place, page, session)


def _columns(head: GridHead) -> list[SheetColumn]:
    """Return the list's columns, with the choices of the page."""
    columns = zip(head.columns, master_workbook.sheet_columns(head.kind), strict=True)
    return [dataclasses.replace(sheet, choices=column.choices) for column, sheet in columns]


def _read_file(columns: Sequence[SheetColumn], sheet: str | None, path: Path) -> list[SheetRow]:
    return list(read_table(path, columns, most_rows=MOST, sheet=sheet))


def _sent_rows(head: GridHead, form: SentForm) -> list[SheetRow]:
    """
    Return the pasted rows, or the packed rows with corrections.
    :raises Invalid: without rows, or for rows not packed here
    """
    if packed := form.text("rows"):
        rows = unpack_rows(packed, _columns(head), form.values)
    else:  # not stripped: its first cell may be empty
        rows = list(read_pasted(str(form.values.get("pasted", "")), _columns(head)))
    if not rows:
        raise required("/pasted")
    if len(rows) > MOST:
        raise invalid("/pasted", "too_many", "ไม่เกิน {most} แถว", "At most {most} rows are imported.", most=MOST)
    return rows


async def _import(
    ctx: RequestContext,
    session: AsyncSession,
    place: GridPlace,
    rows: Sequence[SheetRow],
    *,
    confirm: bool,
    dry_run: bool = False,
) -> MasterImport:
    import_rows = member_rows.import_rows if place.has_members else master_import.import_rows
    return await import_rows(
        ctx,
        session,
        place.kind,
        owner=place.owner,
        rows=rows,
        confirm_series=confirm,
        dry_run=dry_run,
    )


async def _dry_run(place: GridPlace, page: PageRequest, db: Database, rows: Sequence[SheetRow]) -> MasterImport:
    async with db.reading() as session:
        return await _import(page.context, session, place, rows, confirm=False, dry_run=True)


async def _show(page: PageRequest, head: GridHead, rows: Sequence[SheetRow], import_result: MasterImport) -> Response:
    cells = {row.number: row.cells for row in rows}
    rows_shown = [
        ShownRow(result.line, result.change, result.values or cells[result.line], reason=result.explain(page.language))
        for result in import_result.rows
    ]
    # Changed rows first.
    rows_shown = sorted(rows_shown, key=lambda row: (row.change == "same", row.line))[:SHOWN]
    counts = {change: import_result.count(change) for change in get_args(Verdict)}
    return page.show(RowCheckPage(head=head, rows=rows_shown, packed=pack_rows(rows), total=len(rows), counts=counts))


async def _show_refusal(page: PageRequest, head: GridHead, rows: Sequence[SheetRow], error: DomainError) -> Response:
    """:raises DomainError: when the refusal has its own page"""
    if has_own_page(error):
        raise error
    faults: dict[str, dict[str, str]] = {}
    for fault in error.fields:
        line, _, name = fault.pointer.removeprefix("/").partition("/")
        faults.setdefault(line, {}).setdefault(name, fault.text.say(page.language, fault.values))
    wrong = [row for row in rows if str(row.number) in faults]
    return page.show(
        RowCheckPage(
            head=head,
            rows=[ShownRow(row.number, "", row.cells, faults[str(row.number)]) for row in wrong[:SHOWN]],
            packed=pack_rows(rows),
            total=len(rows),
            series=error.series if isinstance(error, PrintedCodeChanges) else (),
            state=FormState(error=error),
        )
    )
