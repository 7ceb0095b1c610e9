"""
Import people from a spreadsheet: check, correct, invite.

Nothing is stored in between: the page contains the rows, which are checked again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from saraban.attachments.dependencies import OneFile
from saraban.identity.dependencies import invitation_base
from saraban.identity.domain.people_workbook import COLUMNS
from saraban.identity.service import PeopleImport, import_people, read_people_sheet
from saraban.imports.domain import MOST_FAULTS, shown_fault
from saraban.kit.errors import DomainError, Invalid, Text
from saraban.kit.http import Db, written_file
from saraban.kit.sheet_columns import SheetColumn, SheetRow
from saraban.kit.workbooks import write_table, write_template
from saraban.web.shell.form_state import FormState
from saraban.web.shell.forms import CurrentForm, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute
from saraban.web.shell.sheets import pack_rows, read_sent_file, unpack_rows

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/people/import")

CREATE: Final = "user.create"
_LINKS: Final = (
    SheetColumn("username", Text("ชื่อผู้ใช้", "User name")),
    SheetColumn("name", Text("ชื่อ", "Name")),
    SheetColumn("link", Text("ลิงก์", "Link")),
)


class PeopleImportPage(PageModel, template="people/people_import.html"):
    columns: Sequence[SheetColumn]
    headings: Mapping[str, Text]
    found: PeopleImport | None
    report: Mapping[str, object]
    left_out: Sequence[Mapping[str, object]]
    packed: str
    links: Sequence[SheetRow]
    is_done: bool
    mails: bool


@router.get("")
async def show(page: CurrentPage) -> Response:
    page.caller.require_somewhere(CREATE)
    return _page(page)


@router.get("/template")
async def template(page: CurrentPage) -> Response:
    page.caller.require_somewhere(CREATE)
    write = partial(write_template, columns=COLUMNS, name="People")
    return await written_file("people.xlsx", partial(asyncio.to_thread, write))


@router.post("")
async def check(page: CurrentPage, sent: OneFile, db: Db) -> Response:
    """Run the import, roll it back, and show the result."""
    page.caller.require_somewhere(CREATE)
    try:
        rows = await read_sent_file(page, sent, partial(read_people_sheet, sheet=sent.sheet))
        result = await db.transact(import_people, page.context, rows=rows, dry_run=True)
    except DomainError as error:
        if has_own_page(error):
            raise
        return _page(page, error=error)
    return _page(page, found=result, packed=pack_rows(rows), left_out=[row for row in rows if row.is_left_out])


@router.post("/commit")
async def commit(form: CurrentForm) -> Response:
    """Invite all people. Without mail, this page shows the links once."""
    page = form.page
    page.caller.require_somewhere(CREATE)
    try:
        rows = unpack_rows(form.text("rows") or "", COLUMNS)
        result = await form.transact(import_people, rows=rows)
    except DomainError as error:
        if has_own_page(error):
            raise
        return _page(page, error=error)
    base = invitation_base(page.request)
    links = [
        SheetRow(number, {"username": person.username, "name": person.display_name, "link": f"{base}{person.path}"})
        for number, person in enumerate(result.invitations if base is not None else (), 2)
    ]
    return _page(page, found=result, links=links, packed=pack_rows(links), done=True)


@router.post("/links")
async def links_file(form: CurrentForm) -> Response:
    """The links are not stored, so the page sends them back for the file."""
    form.page.caller.require_somewhere(CREATE)
    rows = unpack_rows(form.text("rows") or "", _LINKS)
    cells = [[*row.cells.values()] for row in rows]
    write = partial(write_table, columns=_LINKS, rows=cells, name="Invitations")
    return await written_file("invitations.xlsx", partial(asyncio.to_thread, write))


def _page(
    page: PageRequest,
    *,
    found: PeopleImport | None = None,
    error: DomainError | None = None,
    packed: str = "",
    links: Sequence[SheetRow] = (),
    left_out: Sequence[SheetRow] = (),
    done: bool = False,
) -> Response:
    row_faults = (
        [fault for fault in error.fields if fault.pointer.count("/") == 2] if isinstance(error, Invalid) else []
    )
    faults = [shown_fault(int(fault.pointer.split("/")[1]), fault) for fault in row_faults[:MOST_FAULTS]]
    return page.show(
        PeopleImportPage(
            columns=COLUMNS,
            headings={column.key: column.heading for column in COLUMNS},
            found=found,
            report={"faults": faults, "refused": len(row_faults)},
            left_out=[shown_fault(row.number, row.faults[0]) for row in left_out],
            packed=packed,
            links=links,
            is_done=done,
            mails=invitation_base(page.request) is None,
            state=FormState(error=None if row_faults else error),
        ),
        status=422 if error is not None else None,
    )
