"""
People from a spreadsheet: sent in and checked, shown with every fault, then invited.

Nothing is kept between the two: the page carries what was read, packed, and it is checked again when it comes back.
"""

import asyncio
import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import ClassVar, Final

import orjson
from fastapi import APIRouter
from starlette.responses import Response

from saraban.attachments.dependencies import OneFile, SentFile
from saraban.identity.dependencies import invitation_base
from saraban.identity.domain.people_workbook import COLUMNS, PeopleColumn
from saraban.identity.service import PeopleImport, import_people, read_people_sheet, write_template
from saraban.kit.child_processes import CHILDREN
from saraban.kit.errors import DomainError, FieldProblem, Invalid, Text, invalid
from saraban.kit.http import Db, workbook_response
from saraban.kit.workbooks import SheetWriter
from saraban.web.shell.forms import CurrentForm, form_errors, has_own_page
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute, prefix="/people/import")

CREATE: Final = "user.create"
MOST_BYTES: Final = 5 * 1024 * 1024
SHOWN: Final = 200  # faults on the page
Rows = Sequence[Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleImportPage(PageModel):
    template: ClassVar[str] = "people/people_import.html"

    columns: Sequence[PeopleColumn]
    headings: Mapping[str, Text]
    found: PeopleImport | None
    problems: Sequence[tuple[int, str, FieldProblem]]
    more: int
    packed: str
    links: Sequence[tuple[str, str, str]]
    done: bool
    mails: bool


@router.get("")
async def show(page: CurrentPage) -> Response:
    """The form that takes a file, and the way to the empty sheet."""
    page.caller.require_somewhere(CREATE)
    return _page(page)


@router.get("/template")
async def template(page: CurrentPage) -> Response:
    page.caller.require_somewhere(CREATE)
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / "people.xlsx"
    await asyncio.to_thread(write_template, path)
    return workbook_response(path, "xlsx", folder)


@router.post("")
async def check(page: CurrentPage, sent: OneFile, db: Db) -> Response:
    """Do what the file asks for and take it back, and show what would come of it."""
    page.caller.require_somewhere(CREATE)
    try:
        rows = await _rows(page, sent)
        work = partial(import_people, page.context, rows=rows, dry_run=True)
        found = await db.transact(work)
    except DomainError as error:
        if has_own_page(error):
            raise
        return _page(page, error=error)
    return _page(page, found=found, packed=_pack(rows))


@router.post("/commit")
async def commit(form: CurrentForm) -> Response:
    """Invite everybody. Where nothing is mailed, the links are told here, once."""
    page = form.page
    page.caller.require_somewhere(CREATE)
    try:
        rows = _unpack(form.text("rows") or "")
        work = partial(import_people, page.context, rows=rows)
        found = await form.db.transact(work)
    except DomainError as error:
        if has_own_page(error):
            raise
        return _page(page, error=error)
    base = invitation_base(page.request)
    links = [] if base is None else [(one.username, one.display_name, base + one.path) for one in found.invitations]
    return _page(page, found=found, links=links, packed=_pack(links), done=True)


@router.post("/links")
async def links_file(form: CurrentForm) -> Response:
    """The links of the page as a file: they are kept nowhere, so the page sends them along."""
    form.page.caller.require_somewhere(CREATE)
    rows = _unpack(form.text("rows") or "")
    folder = TemporaryDirectory(prefix="saraban-")
    path = Path(folder.name) / "invitations.xlsx"
    await asyncio.to_thread(_write_links, path, rows)
    return workbook_response(path, "xlsx", folder)


def _write_links(path: Path, rows: Rows) -> None:
    with SheetWriter(path, ["ชื่อผู้ใช้ / User name", "ชื่อ / Name", "ลิงก์ / Link"], "Invitations") as sheet:
        for row in rows:
            sheet.add([str(cell) for cell in row[:3]])


async def _rows(page: PageRequest, sent: SentFile) -> Rows:
    suffix = ".csv" if sent.name.lower().endswith(".csv") else ".xlsx"
    with NamedTemporaryFile(prefix="saraban-", suffix=suffix) as file:
        size = 0
        async for chunk in sent.chunks():
            size += len(chunk)
            if size > MOST_BYTES:
                raise invalid("/file", "too_large", "ไฟล์ใหญ่เกิน 5 MB", "The file is larger than 5 MB.")
            file.write(chunk)
        file.flush()
        return await CHILDREN.run(page.caller.public_id, partial(read_people_sheet, Path(file.name)))


def _pack(rows: Rows) -> str:
    return base64.b64encode(zlib.compress(orjson.dumps(rows, default=str))).decode()


def _unpack(packed: str) -> Rows:
    """
    :raises Invalid: for what this page did not pack
    """
    try:
        opened = zlib.decompressobj().decompress(base64.b64decode(packed, validate=True), 4 * MOST_BYTES)
        rows = orjson.loads(opened)
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            raise ValueError(packed[:50])  # noqa: TRY301  one way out for whatever is wrong
    except (ValueError, zlib.error, binascii.Error) as fault:
        raise invalid("/file", "malformed", "กรุณาอัปโหลดไฟล์อีกครั้ง", "Upload the file again.") from fault
    return rows


def _page(
    page: PageRequest,
    *,
    found: PeopleImport | None = None,
    error: DomainError | None = None,
    packed: str = "",
    links: Sequence[tuple[str, str, str]] = (),
    done: bool = False,
) -> Response:
    of_rows = [one for one in error.fields if one.pointer.count("/") == 2] if isinstance(error, Invalid) else []
    problems = [(int(row), key, one) for one in of_rows for _, row, key in [one.pointer.split("/")]]
    return page.show(
        PeopleImportPage(
            columns=COLUMNS,
            headings={column.key: column.heading for column in COLUMNS},
            found=found,
            problems=problems[:SHOWN],
            more=max(0, len(problems) - SHOWN),
            packed=packed,
            links=links,
            done=done,
            mails=invitation_base(page.request) is None,
            faults=form_errors(None if problems else error, page.language),
        ),
        status=422 if error is not None else None,
    )
