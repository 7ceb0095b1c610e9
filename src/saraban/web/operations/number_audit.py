"""The number audit page: operations of a project, and refusals, one sentence each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.domain.context import Scope
from saraban.kit.dates import moments_of_days
from saraban.kit.errors import Forbidden, Text
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.schema import PeriodQuery, SingleLine
from saraban.numbering import service as numbering
from saraban.numbering.issue.domain import NumberErrorFilters
from saraban.numbering.issue.schemas import ErrorType
from saraban.numbering.register.schemas import NumberAuditQuery
from saraban.numbering.series.domain.states import RANGE_RELEASED, OperationCode, RangeKind
from saraban.numbering.series.models import NumberAudit
from saraban.ops.error_catalogue import loaded_errors
from saraban.ops.system_report import SEES
from saraban.projects.service import ProjectRef
from saraban.web.operations.audit import usable_filters
from saraban.web.shell import labels
from saraban.web.shell.form_state import FormErrors
from saraban.web.shell.forms import AddressFilters
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

ROWS: Final = 50
VIEW_COUNTERS: Final = "numbering.view_counters"
OPERATIONS, REFUSALS = "operations", "refusals"
_FORMAT_CHANGED: Final = Text(
    "{who} เปลี่ยนรูปแบบเลขที่ของ{type} เป็น {template}", "{who} changed the number format of {type} to {template}"
)
SENTENCES: Final[Mapping[str, Text]] = {
    OperationCode.GENERATE: Text("{who} ออกเลขที่ {number}", "{who} issued {number}"),
    OperationCode.RESERVE: Text("{who} จองเลขที่ {number}", "{who} reserved {number}"),
    OperationCode.CONFIRM: Text("{who} ยืนยันเลขที่ {number}", "{who} confirmed {number}"),
    OperationCode.CANCEL: Text("{who} ยกเลิกการจองเลขที่ {number}", "{who} released {number}"),
    OperationCode.EXPIRE: Text("การจองเลขที่ {number} หมดอายุ", "The reservation of {number} expired"),
    OperationCode.VOID: Text("{who} ยกเลิกเลขที่ {number}", "{who} voided {number}"),
    OperationCode.OVERRIDE: Text(
        "{who} บันทึกเลขที่ออกนอกระบบ {number}", "{who} registered {number}, issued outside the system"
    ),
    OperationCode.IMPORT: Text("{who} นำเข้าเลขที่ {number}", "{who} imported {number}"),
    OperationCode.REVISE: Text(
        "{who} พิมพ์เลขที่ {number} สำหรับฉบับแก้ไข ต่อจาก {before}", "{who} printed {number} for a revision, after {before}"
    ),
    OperationCode.SKIP: Text("{who} ข้ามลำดับที่ {stretch} ในชุด {series}", "{who} skipped {stretch} in {series}"),
    OperationCode.RANGE: Text("{who} กำหนดช่วงเลข {stretch} ในชุด {series}", "{who} set the range {stretch} in {series}"),
    OperationCode.RESET: Text(
        "{who} ปรับตัวนับของชุด {series} จาก {before} เป็น {after}",
        "{who} reset the counter of {series} from {before} to {after}",
    ),
    OperationCode.FORMAT_CHANGE: _FORMAT_CHANGED,
}
# Sentences of the variants of an operation.
_VARIANTS: Final[Mapping[tuple[str, str], Text]] = {
    (OperationCode.RANGE, RangeKind.KEPT): Text(
        "{who} จองช่วงเลข {stretch} ในชุด {series}", "{who} reserved the range {stretch} in {series}"
    ),
    (OperationCode.RANGE, RangeKind.BARRED): Text(
        "{who} ระงับช่วงเลข {stretch} ในชุด {series}", "{who} blocked the range {stretch} in {series}"
    ),
    (OperationCode.RANGE, RANGE_RELEASED): Text(
        "{who} ปลดช่วงเลข {stretch} ในชุด {series}", "{who} released the range {stretch} in {series}"
    ),
    (OperationCode.VOID, "replaced"): Text(
        "{who} ยกเลิกเลขที่ {number} และออก {after} แทน", "{who} voided {number} and issued {after} in its place"
    ),
    (OperationCode.FORMAT_CHANGE, "made"): Text(
        "{who} กำหนดรูปแบบเลขที่ของ{type} เป็น {template}", "{who} set the number format of {type} to {template}"
    ),
    (OperationCode.FORMAT_CHANGE, "deleted"): Text(
        "{who} ลบรูปแบบเลขที่ของ{type} {template}", "{who} deleted the number format {template} of {type}"
    ),
}
FAILURE_NAMES: Final[Mapping[str, Text]] = {
    "VALIDATION_ERROR": Text("ถูกปฏิเสธ", "Refused"),
    "LOCK_TIMEOUT": Text("รอคิวออกเลขนานเกินไป", "Waited too long for its turn"),
    "VERSION_CONFLICT": Text("ตัวนับถูกเปลี่ยนระหว่างออกเลข", "Counter changed meanwhile"),
    "DB_ERROR": Text("ฐานข้อมูลขัดข้อง", "Database failed"),
    "REDIS_ERROR": Text("Redis ขัดข้อง", "Redis failed"),
    "SEQUENCE_EXHAUSTED": Text("เลขในชุดหมด", "Digits exhausted"),
}
_OTHER: Final = Text("{who}: {operation} {number}", "{who}: {operation} {number}")
_REFUSED: Final = Text("{who} ไม่ได้ดำเนินการ: {said}", "{who} was refused: {said}")
_FAILED: Final = Text("คำขอของ {who} ไม่สำเร็จ: {said}", "A request of {who} failed: {said}")
_NOT_REACHED: Final = Text(
    "Redis ไม่ตอบ จึงออกเลข {numbers} เลขด้วยล็อกของฐานข้อมูล",
    "Redis did not answer; the lock of the database was used (numbers: {numbers})",
)
_SOMEBODY: Final = Text("ผู้ที่ไม่ทราบชื่อ", "somebody unknown")
_ALL_TYPES: Final = Text("เอกสารทุกประเภท", "all types")
_PLACEHOLDER: Final = re.compile(r"\{\w+\}")


class NumberAuditFilters(AddressFilters):
    project: str = Field("", max_length=50)
    operation: str = Field("", max_length=30)
    kind: str = Field("", max_length=30)
    person: str = Field("", max_length=100)
    number: str = Field("", max_length=255)
    series: str = Field("", max_length=255)
    since: str = Field("", alias="from", max_length=40)
    until: str = Field("", max_length=40)


class RefusalQuery(PeriodQuery):
    kind: ErrorType | None = None
    person: Annotated[str, SingleLine(50)] | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence whose number is a link."""

    before: str
    number: str
    url: str
    after: str


@dataclass(frozen=True, slots=True)
class NumberAuditLine:
    """:param more: the reason, or the request and trace of a refusal"""

    at: datetime
    says: Sentence
    more: str | None
    address: str | None


@dataclass(frozen=True, slots=True)
class Reading:
    lines: Sequence[NumberAuditLine]
    next_cursor: str | None
    faults: FormErrors


class NumberAuditPage(
    PageModel,
    template="operations/number_audit.html",
    fragments=(
        "operations/parts/number_audit_rows.html",
        "operations/parts/number_audit_list.html",
    ),
):
    tab: str
    read: Reading
    asked: NumberAuditFilters
    query: str
    is_narrowed: bool
    place: ProjectRef | None
    places: Sequence[ProjectRef]
    sees_refusals: bool
    operation_names: Mapping[str, Text]
    failure_names: Mapping[str, Text]


@router.get("/numbers/audit")
async def show(
    page: CurrentPage,
    session: ReadSession,
    asked: Annotated[NumberAuditFilters, Query()],
    tab: Annotated[str, Query(max_length=20)] = OPERATIONS,
    cursor: PageCursor = None,
) -> Response:
    """Callers see the operations of their projects; operators also the refusals of all."""
    places = [ref for ref in await page.projects_with(session, None) if page.may(VIEW_COUNTERS, ref)]
    sees_refusals = page.caller.may(SEES, Scope())
    if not (places or sees_refusals) or (tab == REFUSALS and not sees_refusals):
        raise Forbidden("The audit of numbers is for those who see the numbers of the project.")
    place = None
    if places and tab != REFUSALS:
        wanted_project = asked.project or str(page.project)
        place = next((ref for ref in places if str(ref.public_id) == wanted_project), places[0])
        page.set_project(place.public_id)
    reading = await (
        _read_refusals(page, session, asked, cursor)
        if place is None
        else _read_operations(page, session, asked, place, cursor)
    )
    filters = asked.given
    query = urlencode(filters | ({"project": str(place.public_id)} if place else {"tab": REFUSALS}))
    model = NumberAuditPage(
        read=reading,
        tab=OPERATIONS if place else REFUSALS,
        asked=asked,
        query=query,
        is_narrowed=bool(filters),
        place=place,
        places=places,
        sees_refusals=sees_refusals,
        operation_names={ref: labels.number_operation(ref) for ref in OperationCode},
        failure_names=FAILURE_NAMES,
        faults=reading.faults,
    )
    return page.show_list(model, cursor, address=f"/numbers/audit?{query}")


async def _read_operations(
    page: PageRequest, session: AsyncSession, asked: NumberAuditFilters, place: ProjectRef, cursor: str | None
) -> Reading:
    query, faults = usable_filters(page, NumberAuditQuery, asked.given)
    operations = await numbering.list_operations(
        page.context, session, query, project_public_id=place.public_id, cursor=cursor, limit=ROWS
    )
    lines = [
        NumberAuditLine(
            operation.audit.created_at,
            sentence(page.language, operation),
            operation.audit.reason,
            operation.audit.ip_address,
        )
        for operation in operations.items
    ]
    return Reading(lines, operations.next_cursor, faults)


async def _read_refusals(
    page: PageRequest, session: AsyncSession, asked: NumberAuditFilters, cursor: str | None
) -> Reading:
    query, faults = usable_filters(page, RefusalQuery, asked.given)
    period = moments_of_days(query.since, query.until, page.context.zone)
    filters = NumberErrorFilters(query.kind, query.person, None, *period)
    errors = await numbering.list_errors(page.context, session, filters, cursor=cursor, limit=ROWS)
    says = {error.code: error.says for error in loaded_errors()}
    return Reading([refusal(page.language, row, says) for row in errors.items], errors.next_cursor, faults)


def sentence(language: str, row: numbering.NumberOperation) -> Sentence:
    """Describe an operation; its number links to the history."""
    audit = row.audit
    code, is_revision = audit.operation, audit.operation == OperationCode.REVISE
    words = _VARIANTS.get((code, _operation_variant(audit)), SENTENCES.get(code, _OTHER))
    kind = labels.type_name(audit.document_type) if audit.document_type else _ALL_TYPES
    values = {
        "who": row.person or row.username,
        "operation": labels.number_operation(code).say(language),
        "series": labels.series_name(language, audit.series or ""),
        "stretch": "–".join(map(str, dict.fromkeys((audit.sequence_number, audit.skipped_to)))),
        "type": kind.say(language),
        "template": audit.template_used,
        "before": audit.old_value,
        "after": audit.new_value,
    }
    before, _, after = words.say(language).partition("{number}")
    number = (audit.new_value if is_revision else audit.generated_number) or ""
    url = f"/numbers/{audit.reservation_uuid}" if audit.reservation_uuid else ""
    return Sentence(before.format_map(values), number if "{number}" in words.th else "", url, after.format_map(values))


def _operation_variant(audit: NumberAudit) -> str:
    """Return the variant of an operation."""
    if audit.operation == OperationCode.RANGE:
        return str(orjson.loads(audit.new_value or "{}").get("state"))
    if audit.operation == OperationCode.VOID and audit.new_value:
        return "replaced"
    if audit.operation == OperationCode.FORMAT_CHANGE and not (audit.old_value and audit.new_value):
        return "made" if audit.new_value else "deleted"
    return ""


def refusal(language: str, row: numbering.NumberErrorRow, says: Mapping[str, Text]) -> NumberAuditLine:
    error = row.error
    context = error.context_data or {}
    code = str(context.get("code", ""))
    if error.error_type == "REDIS_ERROR":
        words, message = _NOT_REACHED, ""
    else:
        words = _REFUSED if error.error_type == "VALIDATION_ERROR" else _FAILED
        # The error's values are not stored; its message contains them.
        message = _PLACEHOLDER.sub("…", says[code].say(language)) if code in says else error.error_message or code
    who = row.person or row.username or _SOMEBODY.say(language)
    text = words.say(language).format(who=who, said=message, numbers=context.get("numbers", 1))
    details = [context.get("request"), context.get("series"), error.error_message, error.trace_id]
    return NumberAuditLine(
        error.created_at,
        Sentence(text, "", "", ""),
        " · ".join(str(detail) for detail in details if detail),
        error.ip_address,
    )
