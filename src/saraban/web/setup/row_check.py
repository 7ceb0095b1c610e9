"""
Rows from a spreadsheet, pasted or in a file: shown with what they would do, corrected at the cells that are wrong, then saved, all of
them or none. The rows travel in the form itself, packed: nothing is kept in between.
"""

import asyncio
import base64
import dataclasses
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Final, get_args
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import RedirectResponse, Response

from saraban.attachments.dependencies import OneFile, SentFile
from saraban.kit.child_processes import CHILDREN
from saraban.kit.db import Database
from saraban.kit.errors import DomainError, required
from saraban.kit.http import Db, ReadSession, workbook_response
from saraban.kit.text import fold
from saraban.setup.domain import master_workbook
from saraban.setup.domain.master_kinds import MasterKind
from saraban.setup.domain.master_rows import EndingSeries, MasterImport, PrintedCodeChanges, Verdict
from saraban.setup.service import master_data, master_import, member_rows
from saraban.web.setup.grid import FAMILIES, GridColumn, GridHead, as_kept, grid_head
from saraban.web.setup.places import CurrentGrid, GridPlace
from saraban.web.shell.forms import CurrentForm, SentForm, form_errors, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

SHOWN: Final = 200
MOST_UNPACKED: Final = 20 * 1024 * 1024
FIX: Final = "fix"
Table = list[list[str]]


@dataclass(frozen=True, slots=True)
class ShownRow:
    """
    A row with what would become of it.

    :param change: empty where something is wrong with it
    :param cells: what stands in each column of the grid
    :param faults: by column
    """

    line: int
    change: str
    cells: Mapping[str, str]
    faults: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheckPage(PageModel):
    template: ClassVar[str] = "setup/row_check.html"

    head: GridHead
    rows: Sequence[ShownRow]
    packed: str
    total: int
    counts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    series: Sequence[EndingSeries] = ()


async def check(place: CurrentGrid, form: CurrentForm) -> Response:
    """Show what pasted rows would do; with `apply` save them."""
    head = await _head(place, form.page, form.db)
    table: Table = []
    try:
        table = _sent_rows(head, form)
        if not form.text("apply"):
            return await _show(form.page, head, table, await _dry_run(place, form.page, form.db, table))
        done = await form.db.transact(
            partial(_import, place, form.page, table, confirm=form.text("confirm") is not None)
        )
    except DomainError as error:
        return await _refused(form.page, head, table, error)
    told = urlencode({"done": "imported", "code": str(done.count("add") + done.count("change"))})
    return RedirectResponse(f"{place.url}?{told}", 303)


async def upload(place: CurrentGrid, page: CurrentPage, sent: OneFile, db: Db) -> Response:
    """Show what the rows of a file would do."""
    page.caller.require(place.kind.create, place.scope)
    head = await _head(place, page, db)
    table: Table = []
    try:
        table = _in_columns(head, [[_text(cell) for cell in row] for row in await _read(page, place.kind, sent)])
        return await _show(page, head, table, await _dry_run(place, page, db, table))
    except DomainError as error:
        return await _refused(page, head, table, error)


async def export(place: CurrentGrid, page: CurrentPage, session: ReadSession, closed: bool = False) -> Response:
    """Every row, in a workbook that can be imported."""
    list_rows = member_rows.list_rows if place.has_members else master_data.list_rows
    found = await list_rows(
        page.context, session, place.kind, owner=place.owner, include_closed=closed, limit=member_rows.EVERY
    )
    folder = TemporaryDirectory()
    path = Path(folder.name) / f"{place.kind.path.replace('/', '-')}.xlsx"
    await asyncio.to_thread(master_import.write_workbook, place.kind, found.items, path)
    return workbook_response(path, "xlsx", folder)


for _base in FAMILIES:
    router.add_api_route(f"{_base}/export", export, methods=["GET"])
    router.add_api_route(f"{_base}/check", check, methods=["POST"])
    router.add_api_route(f"{_base}/upload", upload, methods=["POST"])


async def _head(place: GridPlace, page: PageRequest, db: Database) -> GridHead:
    async with db.reading() as session:
        return await grid_head(place, page, session)


async def _read(page: PageRequest, kind: MasterKind, sent: SentFile) -> list[list[object]]:
    """Give the cells of a file; it may be as large as any request."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("rows.csv" if sent.name.lower().endswith(".csv") else "rows.xlsx")
        content = b"".join([chunk async for chunk in sent.chunks()])
        await asyncio.to_thread(path.write_bytes, content)
        return await CHILDREN.run(page.caller.public_id, partial(master_import.read_workbook, kind, path))


def _text(cell: object) -> str:
    """A code of digits alone is a number to a spreadsheet, and a day has a time."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, date):
        return cell.isoformat()[:10]
    return "" if cell is None else str(cell)


def _sent_rows(head: GridHead, form: SentForm) -> Table:
    """
    Give the rows of the form: pasted, or packed with what was corrected since.

    :raises Invalid: for no row at all, and what was not packed here
    """
    pasted = form.text("pasted")
    if pasted is not None:
        table = master_workbook.pasted_rows(pasted)
        if not any(map(any, table)):
            raise required("/pasted")
        return _in_columns(head, table)
    names = [one.field.name for one in head.columns]
    table = _unpacked(form.text("rows") or "", len(names))
    for name, value in form.values.items():
        line, _, column = name.removeprefix(FIX).partition(".")
        if name.startswith(FIX) and line.isdecimal() and 0 < int(line) <= len(table) and column in names:
            table[int(line) - 1][names.index(column)] = str(value).strip()
    return table


def _in_columns(head: GridHead, table: Table) -> Table:
    """
    Return rows in the columns of the grid, whatever theirs are, without headings; a choice may be named as people read it, and a
    day as they type it.

    :raises Invalid: when a column is missing that every row needs
    """
    kind_columns = [one.field for one in head.columns]
    places = {one.name: at for at, one in enumerate(kind_columns)}
    found = master_workbook.column_places(head.kind, table[0]) if table else {}
    if kind_columns[0].name in found:
        places, table = found, table[1:]
    rows = []
    for cells in table:
        row = [cells[places[one.name]] if places.get(one.name, len(cells)) < len(cells) else "" for one in kind_columns]
        if any(row):
            rows.append([_value(column, fold(cell).strip()) for column, cell in zip(head.columns, row, strict=True)])
    return rows


def _value(column: GridColumn, typed: str) -> str:
    named = {text: key for key, says in column.choices.items() for text in (says.th.casefold(), says.en.casefold())}
    return named.get(typed.casefold(), as_kept(column.field, typed))


def _packed(table: Table) -> str:
    return base64.urlsafe_b64encode(zlib.compress(orjson.dumps(table))).decode()


def _unpacked(text: str, columns: int) -> Table:
    """:raises Invalid: for what was not packed here"""
    try:
        unpacked = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text), MOST_UNPACKED)
        table = [[str(cell) for cell in row] for row in orjson.loads(unpacked)]
    except (zlib.error, ValueError, TypeError) as fault:
        raise required("/pasted") from fault
    if not table or any(len(row) != columns for row in table):
        raise required("/pasted")
    return table


async def _import(
    place: GridPlace, page: PageRequest, table: Table, session: AsyncSession, *, confirm: bool, dry_run: bool = False
) -> MasterImport:
    import_rows = member_rows.import_rows if place.has_members else master_import.import_rows
    return await import_rows(
        page.context,
        session,
        place.kind,
        owner=place.owner,
        rows=table,
        pasted=True,
        confirm_series=confirm,
        dry_run=dry_run,
    )


async def _dry_run(place: GridPlace, page: PageRequest, db: Database, table: Table) -> MasterImport:
    async with db.reading() as session:
        return await _import(place, page, table, session, confirm=False, dry_run=True)


async def _show(page: PageRequest, head: GridHead, table: Table, found: MasterImport) -> Response:
    rows = [ShownRow(one.line, one.change, _cells(head, table[one.line - 1])) for one in found.rows]
    # What changes is of more interest than what stays.
    shown = sorted(rows, key=lambda row: (row.change == "same", row.line))[:SHOWN]
    counts = {change: found.count(change) for change in get_args(Verdict)}
    return page.show(RowCheckPage(head=head, rows=shown, packed=_packed(table), total=len(table), counts=counts))


async def _refused(page: PageRequest, head: GridHead, table: Table, error: DomainError) -> Response:
    """:raises DomainError: when the refusal has a page of its own"""
    if has_own_page(error):
        raise error
    faults: dict[int, dict[str, list[str]]] = {}
    for one in error.fields:
        line, _, name = one.pointer.removeprefix("/").partition("/")
        if line.isdecimal() and 0 < int(line) <= len(table):
            said = faults.setdefault(int(line), {}).setdefault(name, [])
            said.append(one.text.say(page.language, one.values))
    rows = [ShownRow(line, "", _cells(head, table[line - 1]), faults[line]) for line in sorted(faults)]
    return page.show(
        RowCheckPage(
            head=head,
            rows=rows,
            packed=_packed(table),
            total=len(table),
            series=error.series if isinstance(error, PrintedCodeChanges) else (),
            faults=form_errors(error, page.language),
        )
    )


def _cells(head: GridHead, row: Sequence[str]) -> dict[str, str]:
    return {column.field.name: cell for column, cell in zip(head.columns, row, strict=False)}
