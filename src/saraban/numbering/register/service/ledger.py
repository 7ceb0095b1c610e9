"""
The register of numbers: the series of a project, the ledger of each, its export, and how full the fullest are. One number
with everything that became of it, what the reader may still do with it, and where an old number leads.
"""

import base64
import csv
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self
from uuid import UUID
from zoneinfo import ZoneInfo

import orjson
from sqlalchemy.ext.asyncio import AsyncSession
from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError

from saraban.identity.domain.context import Caller, RequestContext, Scope
from saraban.kit.db import Database
from saraban.kit.errors import Invalid, NotFound, invalid
from saraban.kit.pagination import Page
from saraban.kit.spreadsheets import DANGEROUS
from saraban.kit.text import fold
from saraban.numbering.issue.domain import NumberActor, required_state
from saraban.numbering.issue.repository import (
    by_holder,
    by_printed_number,
    by_public_id,
    project_and_type_of,
    recorded_issue,
)
from saraban.numbering.issue.service import monitoring
from saraban.numbering.issue.service.lifecycle import MANAGE_NUMBERS, VIEW_COUNTERS, may_see
from saraban.numbering.issue.service.monitoring import SeriesUtilization
from saraban.numbering.issue.service.number_plan import FormatChoice, format_choice, reason_of
from saraban.numbering.issue.service.number_request import NumberRequest
from saraban.numbering.register.domain import ExportedNumber, LedgerLine, NumberRow, SeriesRow, ledger_lines
from saraban.numbering.register.repository import ledger
from saraban.numbering.series.domain.counter import LARGEST
from saraban.numbering.series.domain.states import NumberState
from saraban.numbering.series.domain.template import Template, TemplateInvalid, reason_text
from saraban.numbering.series.domain.tokens import RFA_TYPE
from saraban.numbering.series.models import LedgerEntry, NumberOperation, NumberRendering
from saraban.numbering.series.repository import database_now
from saraban.projects import service as projects
from saraban.projects.service import ProjectRef

PAGE = 2000
LEDGER_HEADINGS = (
    "เลขที่เอกสาร / Document number",
    "ประเภท / Type",
    "ผู้ส่ง / Originator",
    "ผู้รับ / Recipient",
    "ชุดเลข / Series",
    "ลำดับ / Sequence",
    "ฉบับแก้ไข / Revision",
    "สถานะ / Status",
    "ที่มา / Source",
    "ชนิดเอกสาร / Document kind",
    "เอกสาร / Document publicId",
    "เหตุผล / Reason",
    "ผู้ใช้ / User",
    "ออกเมื่อ / Issued at",
    "ยืนยันเมื่อ / Confirmed at",
    "ยกเลิกการจองเมื่อ / Released at",
    "ยกเลิกเลขที่เมื่อ / Voided at",
    "publicId",
    "ออกแทนเลขที่ / Replaces",
    "แทนด้วยเลขที่ / Replaced by",
    "รูปแบบ / Format",
    "เหตุผลที่ใช้รูปแบบ / Reason for format",
)
_IN_USE = timedelta(days=60)
_LOOKED_AT = 200
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class SeriesLedger:
    """
    A page of the account of a series.

    :param counter: where the main counter stands; nothing above it is missing
    """

    project_code: str
    series: str
    counter: int
    lines: list[LedgerLine[NumberRow]]
    next_cursor: str | None


async def _viewed(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> ProjectRef:
    """:raises Forbidden: for who may not see the counters of the project"""
    project = await projects.find_project(session, public_id=public_id, pointer="query:projectPublicId")
    ctx.caller.require(VIEW_COUNTERS, Scope(project=project.id))
    return project


async def list_series(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    text: str | None = None,
    cursor: str | None = None,
    limit: int = 50,
) -> Page[SeriesRow]:
    """
    Return the series of a project by name: those that count, and those that were only imported or stated.

    :param text: only those whose name contains it
    :raises Forbidden: for who may not see the counters of the project
    """
    project = await _viewed(ctx, session, project_public_id)
    after = _decoded(cursor) if cursor else None
    rows = await ledger.series_page(
        session, project_id=project.id, text=fold(text) if text else None, after=after, limit=limit + 1
    )
    more = len(rows) > limit
    return Page(list(rows[:limit]), _encoded(rows[limit - 1].series) if more else None)


async def series_ledger(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID,
    series: str,
    first: int = 1,
    cursor: str | None = None,
    limit: int = 50,
) -> SeriesLedger:
    """
    Return what became of the numbers of a series, in order, holes with their reasons among them.

    :param first: the sequence to begin with, where no cursor says it
    :param limit: numbers on a page; its holes come on top
    :raises NotFound: for a series that never counted and has no number
    :raises Forbidden: for who may not see the counters of the project
    """
    project = await _viewed(ctx, session, project_public_id)
    series = fold(series)
    counter = (await ledger.counters_of(session, project_id=project.id, series=series)).get(0)
    ranges = await ledger.ranges_of(session, project_id=project.id, series=series)
    after = _sequence(cursor) if cursor else first - 1
    rows = await ledger.numbers_page(
        session, project_id=project.id, series=series, ranges=ranges, after=after, limit=limit + 1
    )
    if counter is None and not rows:
        raise NotFound("There is no such series.")
    gaps, _ = await ledger.gaps_of(session, project_id=project.id, series=series)
    more = len(rows) > limit
    if more:
        rows = _whole(rows[:limit], following=rows[limit])
    lines = list(ledger_lines(rows, after=after, counter=counter or 0, gaps=gaps, upto=0 if more else None))
    following = _encoded(rows[-1].sequence) if more else None
    return SeriesLedger(project.code, series, counter or 0, lines, following)


def _whole(rows: Sequence[NumberRow], *, following: NumberRow) -> Sequence[NumberRow]:
    """A page ends between two sequences, never within one that two widths have printed."""
    kept = [row for row in rows if row.sequence != following.sequence]
    return kept or rows


def _encoded(position: object) -> str:
    return base64.urlsafe_b64encode(str(position).encode()).rstrip(b"=").decode()


def _decoded(cursor: str) -> str:
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except ValueError as fault:
        raise _malformed() from fault


def _sequence(cursor: str) -> int:
    position = _decoded(cursor)
    if not (position.isascii() and position.isdigit() and len(position) <= 10 and int(position) <= LARGEST):
        raise _malformed()
    return int(position)


def _malformed() -> Invalid:
    return invalid("query:cursor", "malformed", "ตัวชี้หน้าไม่ถูกต้อง", "The cursor is not valid for this list.")


async def ledger_rows(
    ctx: RequestContext,
    db: Database,
    *,
    project_public_id: UUID,
    type_code: str | None = None,
    series: str | None = None,
) -> AsyncIterator[list[object]]:
    """
    Return the numbers of a project in the order of issue; times are local and without a zone, as sheets have them.

    No connection is held while the taker of the rows is busy. Who may not have them is refused before the first row.

    :raises Forbidden: for who may not see the counters of the project
    """
    async with db.reading() as session:
        project = await _viewed(ctx, session, project_public_id)
        if type_code is not None:
            await projects.find_type(session, code=type_code, pointer="query:type")
    return _rows(db, project.id, ctx.zone, type_code, fold(series) if series else None)


async def _rows(
    db: Database, project_id: int, zone: ZoneInfo, type_code: str | None, series: str | None
) -> AsyncIterator[list[object]]:
    after = 0
    while True:
        async with db.reading() as session:
            page = await ledger.export_page(
                session, project_id=project_id, type_code=type_code, series=series, after=after, limit=PAGE
            )
        for row in page:
            yield [*(_cell(cell, zone) for cell in row.cells), _why(row)]
        if len(page) < PAGE:
            return
        after = page[-1].id


def _why(row: ExportedNumber) -> str:
    reason = reason_of(row.source, row.format_source, row.narrowing)
    words = reason_text(reason, type_code=row.type_code, narrowing=row.narrowing)
    return f"{words.th} / {words.en}"


def _cell(cell: object, zone: ZoneInfo) -> object:
    if isinstance(cell, datetime):
        return cell.astimezone(zone).replace(tzinfo=None)
    return str(cell) if isinstance(cell, UUID) else cell


async def write_export(path: Path, given: AsyncIterator[list[object]]) -> int:
    """Write the rows to a sheet, and say how many there were."""
    count = 0
    with SheetWriter(path, LEDGER_HEADINGS) as sheet:
        async for row in given:
            sheet.add(row)
            count += 1
    return count


async def measure_utilization(session: AsyncSession, *, now: datetime) -> Sequence[SeriesUtilization]:
    """Bring the metric up to date: few series, however many there are."""
    rows = await ledger.fullest_series(session, since=now - _IN_USE, most=_LOOKED_AT)
    used = [
        SeriesUtilization(project, series, last / (10**width - 1))
        for project, series, last, template in rows
        if (width := _width(template))
    ]
    monitoring.UTILIZATION.series = sorted(used, key=lambda one: one.ratio, reverse=True)[:_SHOWN]
    return monitoring.UTILIZATION.series


def _width(template: str | None) -> int:
    """0 where a number of old was taken over without a format that can be read."""
    try:
        return Template.parse(template or "", drawing=True).width
    except TemplateInvalid:
        return 0


_OPTIONS = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "remove_timezone": True}


class SheetWriter:
    """A sheet that is written row by row, to a path that ends in `.csv` or `.xlsx`."""

    def __init__(self, path: Path, headings: Sequence[str]) -> None:
        self._file = self._book = None
        self._row = 0
        if path.suffix.lower() == ".csv":
            self._file = path.open("w", encoding="utf-8-sig", newline="")
            self._csv = csv.writer(self._file)
        else:
            self._book = Workbook(str(path), dict(_OPTIONS))
            self._dates = self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
            self._bold = self._book.add_format({"bold": True})
            self._sheet = self._book.add_worksheet("Numbers")
            self._sheet.freeze_panes(1, 0)
            self._sheet.set_column(0, len(headings) - 1, 22)
        self._put(headings, bold=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._book is not None:
            try:
                self._book.close()
            except FileCreateError as error:
                raise error.args[0] from None  # what the system said, a full disk for example

    def add(self, cells: Sequence[object]) -> None:
        self._put(cells, bold=False)

    def explain(self, title: str, rows: Sequence[Sequence[str]]) -> None:
        """Add a second sheet; a CSV has none."""
        if self._book is not None:
            sheet = self._book.add_worksheet(title)
            sheet.set_column(0, 3, 40)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row, self._bold if number == 0 else None)

    def _put(self, cells: Sequence[object], *, bold: bool) -> None:
        if self._file is not None:
            self._csv.writerow([harmless(cell) for cell in cells])
            return
        for column, cell in enumerate(cells):
            self._write(column, cell, bold=bold)
        self._row += 1

    def _write(self, column: int, cell: object, *, bold: bool) -> None:
        if isinstance(cell, datetime):
            self._sheet.write_datetime(self._row, column, cell, self._dates)
        elif isinstance(cell, int | float):
            self._sheet.write_number(self._row, column, cell)
        elif cell is not None:
            self._sheet.write_string(self._row, column, str(cell), self._bold if bold else None)


def harmless(cell: object) -> object:
    """Keep a spreadsheet from taking a text of a CSV for a formula."""
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ", timespec="seconds")
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(DANGEROUS) else cell


async def audit_trail(session: AsyncSession, *, number: str) -> list[NumberOperation]:
    """
    Return what was done with a number, oldest first.

    :raises NotFound: when nothing was ever printed like it
    """
    found = await ledger.operations_of_number(session, fold(number))
    if not found:
        raise NotFound(f"No document was ever numbered {number}.")
    return found


@dataclass(frozen=True, slots=True)
class NumberResolution:
    """The entry a number was printed for, and the one that is in its place now; the same where nothing replaced it."""

    asked: LedgerEntry
    current: LedgerEntry


async def resolve_number(
    ctx: RequestContext, session: AsyncSession, *, project_public_id: UUID, number: str
) -> NumberResolution:
    """
    Find what a printed number became, however often it was replaced since.

    :raises NotFound: also where the caller neither administers the project nor is one of the number's parties
    """
    project = await projects.find_project(session, public_id=project_public_id, pointer="query:projectPublicId")
    entry = await by_printed_number(session, project_id=project.id, number=fold(number))
    if entry is None or not may_see(ctx, entry):
        raise NotFound("No such number is known here.")
    current, seen = entry, {entry.public_id}
    while current.replaced_by_uuid is not None and current.replaced_by_uuid not in seen:
        following = await by_public_id(session, current.replaced_by_uuid)
        if following is None:
            break
        current = following
        seen.add(current.public_id)
    return NumberResolution(entry, current)


async def rfa_type_of(session: AsyncSession, *, number: UUID) -> str | None:
    """Return the code of the RFA type that a number was issued for; None for what is no RFA."""
    issued_for = await recorded_issue(session, number)
    if issued_for is not None:
        found = orjson.loads(issued_for[1]).get("rfaType")
        return str(found) if found else None
    entry = await by_public_id(session, number)
    return entry.format_values.get(RFA_TYPE) if entry else None


@dataclass(frozen=True, slots=True)
class NumberHistory:
    """
    A number's life.

    :param neighbours: the numbers it replaces and was replaced by, as they are printed now
    :param may_void: the reader may make it void now
    :param may_replace: and have another drawn for the same parties
    :param may_settle: it is the reader's own reservation, to confirm or give up, and not yet over by the database's clock
    """

    entry: LedgerEntry
    format: FormatChoice
    project: UUID
    project_code: str
    type_code: str
    renderings: Sequence[NumberRendering]
    history: Sequence[NumberOperation]
    neighbours: Mapping[UUID, str]
    may_void: bool
    may_replace: bool
    may_settle: bool


async def number_history(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberHistory:
    """
    :raises NotFound: also for who neither sees the project's counters nor belongs to the number's originator
    """
    entry = await by_public_id(session, public_id)
    if entry is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, project_code, type_code = await project_and_type_of(session, entry)
    beside = [one for one in (entry.replaces_uuid, entry.replaced_by_uuid) if one is not None]
    may_void = _may_void(ctx.caller, entry)
    choice = await format_choice(session, public_id)
    assert choice is not None, "the number was there a moment ago, and none is ever deleted"
    return NumberHistory(
        entry=entry,
        format=choice,
        project=project,
        project_code=project_code,
        type_code=type_code,
        renderings=await ledger.renderings(session, entry),
        history=await ledger.operations_on(session, public_id),
        neighbours=await ledger.printed_numbers(session, beside) if beside else {},
        may_void=may_void,
        may_replace=may_void and await recorded_issue(session, public_id) is not None,
        may_settle=_may_settle(ctx.caller, entry, now=await database_now(session)),
    )


def _may_void(caller: Caller, entry: LedgerEntry) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.VOID, NumberActor.ADMINISTRATOR)
        and entry.holder_public_id is None
        and caller.may(MANAGE_NUMBERS, Scope(project=entry.project_id))
    )


def _may_settle(caller: Caller, entry: LedgerEntry, *, now: datetime) -> bool:
    return (
        entry.document_number_status == required_state(NumberState.CONFIRMED, NumberActor.RESERVER)
        and entry.user_id == caller.user_id
        and entry.expires_at is not None
        and entry.expires_at > now
    )


async def request_like(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> NumberRequest:
    """
    Return the request that draws a number for the same parties, type and codes as this one was issued for.

    :raises NotFound: also for a number whose issue is not recorded: nobody knows what to issue another one for
    """
    entry = await by_public_id(session, public_id)
    kept = await recorded_issue(session, public_id)
    if entry is None or kept is None or not may_see(ctx, entry):
        raise NotFound("There is no such number.")
    project, _, type_code = await project_and_type_of(session, entry)
    detail = await projects.read_project(ctx, session, public_id=project)
    issued_for = orjson.loads(kept[1])
    organizations = {one.organization_code: one.public_id for one in detail.organizations}
    contracts = {one.contract_code: one.public_id for one in detail.contracts}
    if issued_for["originator"] not in organizations:
        raise NotFound("The organization that the number was issued for has left the project.")
    return NumberRequest(
        project_public_id=project,
        correspondence_type_code=type_code,
        originator_organization_public_id=organizations[issued_for["originator"]],
        recipient_organization_public_id=organizations.get(issued_for.get("recipient")),
        contract_public_id=contracts.get(issued_for.get("contract")),
        sub_type_code=issued_for.get("subType"),
        rfa_type_code=issued_for.get("rfaType"),
        discipline_code=issued_for.get("discipline"),
        category_code=issued_for.get("category"),
        revision=entry.revision_label if "{REV}" in entry.format_template else None,
    )


async def number_of_holder(ctx: RequestContext, session: AsyncSession, *, holder: UUID) -> UUID | None:
    """Return the public id of the number that a document carries, to who may read the number's life."""
    entry = await by_holder(session, holder)
    return entry.public_id if entry is not None and may_see(ctx, entry) else None
