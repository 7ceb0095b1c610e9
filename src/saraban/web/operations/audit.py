"""The audit trail page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Query
from pydantic import Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from saraban.kit.dates import parse_date
from saraban.kit.errors import Forbidden, Text
from saraban.kit.http import PageCursor, ReadSession
from saraban.kit.json import Json
from saraban.kit.schema import PeriodQuery
from saraban.ops import audit_trail, audit_words
from saraban.ops.audit_trail import AuditEntryOut, AuditObjectOut, AuditQuery
from saraban.setup.domain import master_kinds
from saraban.web.shell import labels
from saraban.web.shell.document_kinds import BY_NAME
from saraban.web.shell.form_state import FormErrors
from saraban.web.shell.forms import AddressFilters, usable_query
from saraban.web.shell.page import CurrentPage, PageModel, PageRequest, day_text
from saraban.web.shell.session import PageRoute

router = APIRouter(include_in_schema=False, route_class=PageRoute)

Period = TypeVar("Period", bound=PeriodQuery)
ROWS: Final = 50
_LONGEST: Final = 300
_YES, _NO = Text("ใช่", "Yes"), Text("ไม่ใช่", "No")
# Fields that no form has; the others use the labels of forms.
FIELDS: Final[Mapping[str, Text]] = {
    "status": Text("สถานะ", "Status"),
    "action": Text("การดำเนินการ", "Action"),
    "documentNumber": Text("เลขที่เอกสาร", "Document number"),
    "number": Text("เลขที่เอกสาร", "Document number"),
    "oldNumber": Text("เลขที่เดิม", "Number before"),
    "username": Text("ชื่อผู้ใช้", "User name"),
    "email": Text("อีเมล", "E-mail"),
    "role": Text("บทบาท", "Role"),
    "level": Text("ระดับ", "Level"),
    "place": Text("ขอบเขต", "Place"),
    "name": Text("ชื่อ", "Name"),
    "isActive": Text("ใช้งาน", "Active"),
    "fileName": Text("ไฟล์", "File"),
    "size": Text("ขนาด", "Size"),
    "values": Text("ข้อมูลที่มากับขั้นตอน", "Values of the step"),
    "onBehalfOfPublicId": Text("ดำเนินการแทน", "On behalf of"),
    "version": Text("เวอร์ชัน", "Version"),
    "migrated": Text("เวอร์ชัน", "Version"),
    "reassigned": Text("มอบหมายใหม่", "Reassigned"),
    "section": Text("ส่วนของไฟล์", "Part of the file"),
    "operator": Text("ผู้ใช้ที่เครื่อง", "Operator at the terminal"),
    "team": Text("ทีม", "Team"),
    "user": Text("ผู้ใช้", "User"),
    "url": Text("ที่อยู่ปลายทาง", "Address"),
    "events": Text("เหตุการณ์", "Events"),
    "fields": Text("ช่องที่แก้ไข", "Fields edited"),
    "delegatorPublicId": Text("ผู้มอบหมาย", "Delegator"),
    "kind": Text("ชนิด", "Kind"),
    "day": Text("วัน", "Day"),
    "path": Text("ที่อยู่ของคำขอ", "Address of the request"),
    "query": Text("ตัวกรอง", "Query"),
    "permission": Text("สิทธิ์ที่ต้องมี", "Permission needed"),
    "problem": Text("รหัสข้อผิดพลาด", "Error code"),
    "method": Text("วิธีเรียก", "Method"),
    "scale": Text("มาตราส่วน", "Scale"),
    "sheetSize": Text("ขนาดกระดาษ", "Sheet size"),
    "zone": Text("โซน", "Zone"),
    "volumePage": Text("หน้าในเล่ม", "Page of the volume"),
    "tags": Text("ป้ายกำกับ", "Tags"),
    "title": Text("ชื่อแบบ", "Title"),
    "titleEn": Text("ชื่อแบบภาษาอังกฤษ", "Title in English"),
    "legacyNumber": Text("เลขที่เดิม", "Legacy number"),
    "files": Text("ไฟล์", "Files"),
    "permissions": Text("สิทธิ์", "Permissions"),
    "daysBefore": Text("เตือนก่อนกำหนด (วันทำการ)", "Reminders before (working days)"),
    "daysAfter": Text("เตือนหลังกำหนด (วันทำการ)", "Reminders after (working days)"),
    "everyDays": Text("เตือนซ้ำทุก (วันทำการ)", "Reminders again every (working days)"),
    "atHour": Text("เวลาที่เตือน", "Hour of reminders"),
}


_MASTER_FIELDS: Final = {field.name: field.label for kind in master_kinds.KINDS for field in kind.fields}


class AuditFilters(AddressFilters):
    person: str = Field("", max_length=100)
    object: str = Field("", max_length=255)
    kind: str = Field("", max_length=50)
    action: str = Field("", max_length=100)
    since: str = Field("", alias="from", max_length=40)
    until: str = Field("", max_length=40)


class AuditTrailPage(
    PageModel,
    template="operations/audit.html",
    fragments=("operations/parts/audit_rows.html", "operations/parts/audit_list.html"),
):
    rows: Sequence["AuditLine"]
    next_cursor: str | None
    asked: AuditFilters
    export: str
    kind_names: Mapping[str, Text]
    actions: Mapping[str, Text]
    sees_all: bool


@dataclass(frozen=True, slots=True)
class FieldWords:
    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """:param step: label of the workflow step"""

    entry: AuditEntryOut
    url: str
    step: str
    changes: list[FieldWords]
    facts: list[FieldWords]


@router.get("/audit")
async def show(
    page: CurrentPage, session: ReadSession, asked: Annotated[AuditFilters, Query()], cursor: PageCursor = None
) -> Response:
    if not audit_trail.may_read(page.context):
        raise Forbidden("The audit trail is for those who may see it.")
    query, faults = usable_filters(page, AuditQuery, asked.given)
    reading = await audit_trail.read_trail(page.context, session, query, cursor=cursor, limit=ROWS)
    model = AuditTrailPage(
        rows=[_row(page, entry, reading.names) for entry in reading.page.items],
        next_cursor=reading.page.next_cursor,
        asked=asked,
        export=urlencode(query.model_dump(mode="json", by_alias=True, exclude_none=True)),
        kind_names=audit_words.KINDS,
        actions={code: audit_words.action_words(code) for code in audit_words.ACTIONS},
        sees_all=audit_trail.sees_all(page.context),
        faults=faults,
    )
    return page.show_list(model, cursor, address="/audit" + (f"?{asked.query}" if asked.query else ""))


def usable_filters(page: PageRequest, schema: type[Period], given: Mapping[str, str]) -> tuple[Period, FormErrors]:
    """Return the valid filters, with days in order, and errors by field."""
    query, faults = usable_query(page, schema, given)
    if query.since and query.until and query.since > query.until:
        query = query.model_copy(update={"since": query.until, "until": query.since})
    return query, faults


def _row(page: PageRequest, entry: AuditEntryOut, names: Mapping[str, str]) -> AuditLine:
    return AuditLine(
        entry,
        _address(entry.object) if entry.object else "",
        _step(page, entry),
        [
            FieldWords(
                _field_label(page, change.field),
                _value_words(page, change.field, change.before, names),
                _value_words(page, change.field, change.after, names),
            )
            for change in entry.changes
        ],
        [
            FieldWords(_field_label(page, name), "", _value_words(page, name, value, names))
            for name, value in entry.details.items()
        ],
    )


def _step(page: PageRequest, entry: AuditEntryOut) -> str:
    action = entry.details.get("action")
    is_step = isinstance(action, str) and entry.action.startswith("workflow.")
    return labels.action(str(action)).say(page.language) if is_step else ""


def _address(subject: AuditObjectOut) -> str:
    """Return the page of an object, or the audit trail filtered by it."""
    if subject.reference is None:
        return ""
    if subject.kind in BY_NAME:
        return f"{BY_NAME[subject.kind].url}/{subject.reference}"
    pages_by_kind = {"event": "/events", "number_import": "/numbers/imports"}
    if subject.kind in pages_by_kind:
        return f"{pages_by_kind[subject.kind]}/{subject.reference}"
    return "/audit?" + urlencode({"object": subject.reference, "kind": subject.kind})


def _field_label(page: PageRequest, name: str) -> str:
    """Return the label of a field; of a path, the label of its last part."""
    if not name:
        return ""
    *place, last = name.split(" · ")
    last = to_camel(last)
    words = FIELDS.get(last) or labels.FIELDS.get(last) or _MASTER_FIELDS.get(last)
    return " · ".join([*place, words.say(page.language) if words else last])


def _value_words(page: PageRequest, field: str, value: Json, names: Mapping[str, str]) -> str:
    """Format a value: names for public ids, dates in the reader's era, labels for states."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return (_YES if value else _NO).say(page.language)
    if isinstance(value, str):
        return names.get(value) or _text_words(page, field, value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(names.get(item, item) for item in value) or "–"
    return value if isinstance(value, str) else _shorten(orjson.dumps(value).decode())


def _text_words(page: PageRequest, field: str, value: str) -> str:
    if field == "status" and (state := labels.state(value)) is not None:
        return state.say(page.language)
    if field == "action":
        return labels.action(value).say(page.language)
    if field.endswith(("Date", "On", "day")) and (day := parse_date(value)) is not None:
        return day_text(day, page.language)
    return _shorten(value)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
