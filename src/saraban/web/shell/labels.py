"""Names and colours of codes in both languages."""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

from saraban.attachments.domain import TextProblem
from saraban.attachments.domain.kinds import KINDS
from saraban.documents.circulation.domain import RoutingKind, RoutingStatus
from saraban.documents.drawing.domain import KINDS as DRAWINGS
from saraban.identity.domain.catalogue import PartyRole, role_words
from saraban.imports.domain import ImportState
from saraban.kit.errors import Text
from saraban.numbering.register.domain import GapReason
from saraban.numbering.series.domain.states import NumberSource, NumberState, OperationCode
from saraban.numbering.series.domain.template import Narrowing
from saraban.projects.domain import master_data
from saraban.workflow.language.outcome import STATE_NAMES, WORDS, past_tense

_TONES: Final[dict[str, tuple[str, ...]]] = {
    "yellow": ("draft",),
    "blue": ("in_review", "pending_review", "submitted", "routing", "awaiting_response"),
    "orange": ("pending_approval", "responded"),
    "green": ("approved", "acknowledged", "completed", "closed"),
    "red": ("rejected", "revision_requested", "returned"),
    "grey": ("cancelled", "terminated"),
}
STATES: Final = {code: (STATE_NAMES[code], tone) for tone, codes in _TONES.items() for code in codes}

NUMBER_STATES: Final[dict[str, tuple[Text, str]]] = {
    NumberState.RESERVED: (Text("จองไว้", "Reserved"), "yellow"),
    NumberState.CONFIRMED: (Text("ออกแล้ว", "Issued"), "green"),
    NumberState.CANCELLED: (Text("ยกเลิกการจองแล้ว", "Reservation released"), "grey"),
    NumberState.EXPIRED: (Text("การจองหมดอายุ", "Reservation expired"), "grey"),
    NumberState.VOID: (Text("ยกเลิกเลขที่แล้ว", "Void"), "red"),
    GapReason.SKIPPED: (Text("ข้ามเลข", "Skipped"), "grey"),
    GapReason.BARRED: (Text("ระงับการใช้", "Blocked"), "grey"),
    GapReason.KEPT: (Text("จองไว้", "Reserved"), "blue"),
    GapReason.BEFORE_LEDGER: (Text("ก่อนเริ่มใช้ระบบ", "Pre-system"), "grey"),
    GapReason.NOT_ISSUED: (Text("ยังไม่ออกเลข", "Not issued"), "grey"),
    GapReason.OTHER_ORGANIZATION: (Text("ของหน่วยงานอื่น", "Another organization's"), "grey"),
    GapReason.UNEXPLAINED: (Text("ไม่ทราบสาเหตุ", "Unexplained"), "red"),
}

IMPORT_STATES: Final[dict[str, tuple[Text, str]]] = {
    ImportState.CHECKING: (Text("กำลังตรวจ", "Checking"), "yellow"),
    ImportState.CHECKED: (Text("รอยืนยันการนำเข้า", "Awaiting confirmation"), "blue"),
    ImportState.IMPORTING: (Text("กำลังนำเข้า", "Importing"), "yellow"),
    ImportState.DONE: (Text("นำเข้าแล้ว", "Imported"), "green"),
    ImportState.FAILED: (Text("ไม่สำเร็จ", "Failed"), "red"),
    "REFUSED": (Text("ไม่ผ่านทุกแถว", "All rows rejected"), "red"),
}

NUMBER_SOURCES: Final[dict[str, Text]] = {
    NumberSource.OVERRIDE: Text("ออกนอกระบบ", "Issued outside the system"),
    NumberSource.IMPORT: Text("นำเข้า", "Imported"),
    NumberSource.MIGRATED: Text("ย้ายจากระบบเดิม", "Migrated"),
}

_NUMBER_OPERATIONS: Final[dict[str, Text]] = {
    OperationCode.GENERATE: Text("ออกเลขที่แล้ว", "Issued"),
    OperationCode.RESERVE: Text("จองแล้ว", "Reserved"),
    OperationCode.CONFIRM: Text("ยืนยันแล้ว", "Confirmed"),
    OperationCode.CANCEL: Text("ยกเลิกการจองแล้ว", "Reservation released"),
    OperationCode.EXPIRE: Text("การจองหมดอายุแล้ว", "Reservation expired"),
    OperationCode.VOID: Text("ยกเลิกเลขที่แล้ว", "Voided"),
    OperationCode.OVERRIDE: Text("บันทึกเลขที่ออกนอกระบบแล้ว", "Registered"),
    OperationCode.IMPORT: Text("นำเข้าแล้ว", "Imported"),
    OperationCode.REVISE: Text("พิมพ์ใหม่ตามฉบับแก้ไขแล้ว", "Printed for a revision"),
    OperationCode.SKIP: Text("ข้ามเลขแล้ว", "Skipped"),
    OperationCode.RANGE: Text("กำหนดช่วงเลขแล้ว", "Range set or released"),
    OperationCode.RESET: Text("ปรับตัวนับแล้ว", "Counter reset"),
    OperationCode.FORMAT_CHANGE: Text("เปลี่ยนรูปแบบแล้ว", "Format changed"),
}


def number_operation(code: str) -> Text:
    return _NUMBER_OPERATIONS.get(code, Text(code, code))


OUTCOMES: Final[Mapping[str, Text]] = WORDS
OUTCOME_TONES: Final[dict[str, str]] = {
    "approved": "green",
    "approved_with_comments": "green",
    "closed": "green",
    "revise_resubmit": "red",
    "rejected": "red",
    "withdrawn": "grey",
}

PRIORITIES: Final[dict[str, tuple[Text, str]]] = {
    "URGENT": (Text("ด่วนที่สุด", "Urgent"), "red"),
    "HIGH": (Text("ด่วน", "High"), "orange"),
    "MEDIUM": (Text("ปกติ", "Normal"), "yellow"),
    "LOW": (Text("ไม่ด่วน", "Low"), "green"),
}

PURPOSES: Final[dict[str, Text]] = {
    "FOR_APPROVAL": Text("เพื่ออนุมัติ", "For approval"),
    "FOR_INFORMATION": Text("เพื่อทราบ", "For information"),
    "FOR_REVIEW": Text("เพื่อพิจารณา", "For review"),
    "OTHER": Text("อื่น ๆ", "Other"),
}

PARTS: Final[dict[str, Text]] = {
    RoutingKind.MAIN: Text("ผู้รับผิดชอบหลัก", "Main"),
    RoutingKind.ACTION: Text("ผู้ดำเนินการ", "Action"),
    RoutingKind.INFORMATION: Text("เพื่อทราบ", "Information"),
}

ANSWERS: Final[dict[str, tuple[Text, str]]] = {
    RoutingStatus.PENDING: (Text("ยังไม่ตอบ", "Pending"), "yellow"),
    RoutingStatus.IN_PROGRESS: (Text("กำลังดำเนินการ", "In progress"), "blue"),
    RoutingStatus.COMPLETED: (Text("ตอบแล้ว", "Responded"), "green"),
    RoutingStatus.REJECTED: (Text("ไม่รับดำเนินการ", "Declined"), "red"),
}

# Messages after a form was carried out.
DONE: Final[dict[str, Text]] = {
    "act": Text("ดำเนินการแล้ว", "Recorded"),
    "branch": Text("บันทึกคำตอบของคุณแล้ว", "Response recorded."),
    "respond": Text("บันทึกคำตอบของคุณแล้ว", "Response recorded."),
    "cancel": Text("ยกเลิกเอกสารแล้ว", "Document cancelled."),
    "revise": Text("สร้างฉบับร่างของฉบับแก้ไขแล้ว", "Draft of the next revision created."),
}

ACTIONS: Final[dict[str, Text]] = {
    "submit": Text("ส่งแล้ว", "Submitted"),
    "approve": Text("อนุมัติแล้ว", "Approved"),
    "reject": Text("ไม่อนุมัติ", "Rejected"),
    "request-revision": Text("ขอให้แก้ไขแล้ว", "Revision requested"),
    "acknowledge": Text("รับทราบแล้ว", "Acknowledged"),
    "return": Text("ส่งคืนแล้ว", "Returned"),
    "start": Text("เริ่มเวียนแล้ว", "Circulation started"),
    "respond": Text("ตอบแล้ว", "Responded"),
    "ask-again": Text("ถามเพิ่มแล้ว", "Asked again"),
    "close": Text("ปิดเรื่องแล้ว", "Closed"),
    "complete": Text("ปิดใบเวียนแล้ว", "Circulation closed"),
    "force-close": Text("ปิดโดยไม่รอคำตอบแล้ว", "Force closed"),
    "reassign": Text("มอบหมายให้ผู้อื่นแล้ว", "Reassigned"),
    "create": Text("จัดทำแล้ว", "Created"),
    "edit": Text("แก้ไขแล้ว", "Edited"),
    "revise": Text("ออกฉบับแก้ไขแล้ว", "Revision created"),
    "cancel": Text("ยกเลิกแล้ว", "Cancelled"),
    "renumber": Text("เปลี่ยนเลขที่แล้ว", "Renumbered"),
    "withdraw-revision": Text("ถอนฉบับแก้ไขแล้ว", "Revision withdrawn"),
    "terminate": Text("ยุติแล้ว", "Terminated"),
    "force": Text("บังคับเปลี่ยนขั้นตอนแล้ว", "Step overridden"),
}

ACTION_TONES: Final[dict[str, str]] = {
    "reject": "danger",
    "force-close": "danger",
    "request-revision": "warning",
    "return": "warning",
}


def action(code: str) -> Text:
    """Return the label of an action; audit codes such as `rfa.create` lose their prefix."""
    name = code.rpartition(".")[2]
    return ACTIONS.get(name, Text(code, code))


def past(label: Text) -> Text:
    return past_tense(Text(label.th, label.en))


def state(code: str | None) -> Text | None:
    return STATES.get(code, (Text(code, code), ""))[0] if code else None


def role(name: str) -> Text:
    return role_words(name)


def in_order_of_form(names: Iterable[str]) -> list[str]:
    places = {name: place for place, name in enumerate(FIELDS)}
    return sorted(names, key=lambda name: places.get(name, len(places)))


def outcome(code: str | None, means: str | None = None) -> tuple[str, str]:
    """Return the colour and icon of a step by its target state."""
    ends = {"red": ("red", "x"), "grey": ("grey", "ban")}
    has_meaning = code in STATES or means is not None
    return ends.get(tone(code, means), ("green", "check")) if has_meaning else ("green", "check")


def tone(code: str | None, means: str | None = None) -> str:
    """:param means: outcome of a final state; the name of a custom state has no colour"""
    if means in OUTCOME_TONES:
        return OUTCOME_TONES[means]
    return STATES[code][1] if code in STATES else "grey"


PARTY_ROLES: Final[dict[str, Text]] = {
    PartyRole.OWNER: Text("เจ้าของงาน", "Owner"),
    PartyRole.DESIGNER: Text("ผู้ออกแบบ", "Designer"),
    PartyRole.CONSULTANT: Text("ที่ปรึกษา", "Consultant"),
    PartyRole.CONTRACTOR: Text("ผู้รับเหมา", "Contractor"),
    PartyRole.OTHER: Text("ฝ่ายอื่น", "Other party"),
}

RFA_ITEMS: Final[dict[str, Text]] = {
    "none": Text("ไม่มี", "None"),
    "optional": Text("มีหรือไม่ก็ได้", "Optional"),
    "required": Text("ต้องมี", "Required"),
}
# Of tags.
COLORS: Final[dict[str, Text]] = {
    "default": Text("ค่าเริ่มต้น", "Default"),
    "slate": Text("เทา", "Slate"),
    "red": Text("แดง", "Red"),
    "orange": Text("ส้ม", "Orange"),
    "amber": Text("เหลืองอำพัน", "Amber"),
    "yellow": Text("เหลือง", "Yellow"),
    "green": Text("เขียว", "Green"),
    "teal": Text("เขียวหัวเป็ด", "Teal"),
    "blue": Text("น้ำเงิน", "Blue"),
    "indigo": Text("คราม", "Indigo"),
    "violet": Text("ม่วงคราม", "Violet"),
    "purple": Text("ม่วง", "Purple"),
    "pink": Text("ชมพู", "Pink"),
    "rose": Text("กุหลาบ", "Rose"),
}

# Tones of tag colours; the others are grey.
TAG_TONES: Final[dict[str, str]] = {
    **{color: color for color in ("red", "orange", "yellow", "green", "blue", "indigo")},
    "amber": "orange",
    "teal": "green",
    "violet": "indigo",
    "purple": "indigo",
    "pink": "red",
    "rose": "red",
}

# Names of form fields, in their order, for messages that are not beside the field.
FIELDS: Final[dict[str, Text]] = {
    "username": Text("ชื่อผู้ใช้", "User name"),
    "email": Text("อีเมล", "E-mail"),
    "firstName": Text("ชื่อ", "First name"),
    "lastName": Text("นามสกุล", "Last name"),
    "drawsPerMinute": Text("จำนวนเลขที่ต่อนาที", "Numbers a minute"),
    "level": Text("บทบาท", "Role"),
    "placePublicId": Text("ขอบเขต", "Place"),
    "until": Text("ถึงวันที่", "Last day"),
    "current": Text("รหัสผ่านปัจจุบัน", "Current password"),
    "password": Text("รหัสผ่านใหม่", "New password"),
    "repeat": Text("ยืนยันรหัสผ่านใหม่", "Repeat new password"),
    "organization": Text("รหัสองค์กร", "Organization code"),
    "organization-name": Text("ชื่อองค์กร", "Organization name"),
    "organization-name-en": Text("ชื่อองค์กรภาษาอังกฤษ", "Organization name in English"),
    "projectCode": Text("รหัสโครงการ", "Project code"),
    "projectName": Text("ชื่อโครงการ", "Project name"),
    "projectNameEn": Text("ชื่อโครงการภาษาอังกฤษ", "Project name in English"),
    "copyOf": Text("โครงการต้นแบบ", "Project to copy"),
    "projectPublicId": Text("โครงการ", "Project"),
    "originatorOrganizationPublicId": Text("จาก", "From"),
    "organizationPublicId": Text("จาก", "From"),
    "contractPublicId": Text("สัญญา", "Contract"),
    "correspondenceTypeCode": Text("ประเภทเอกสาร", "Document type"),
    "rfaTypeCode": Text("ประเภท RFA", "RFA type"),
    "disciplineCode": Text("สาขางาน", "Discipline"),
    "subTypeCode": Text("ประเภทย่อย", "Sub type"),
    "to": Text("ถึง", "To"),
    "assignees": Text("รายชื่อผู้รับเวียน", "Distribution"),
    "subject": Text("เรื่อง", "Subject"),
    "body": Text("รายละเอียด", "Body"),
    "documentDate": Text("วันที่เอกสาร", "Document date"),
    "senderNumber": Text("เลขที่ของผู้ส่ง", "Sender's number"),
    "senderDate": Text("ลงวันที่ (ของผู้ส่ง)", "Sender's date"),
    "receivedDate": Text("วันที่รับ", "Date received"),
    "dueDate": Text("กำหนดตอบ", "Due date"),
    "deadlineDate": Text("กำหนดตอบ", "Due date"),
    "priority": Text("ความเร่งด่วน", "Priority"),
    "remarks": Text("หมายเหตุ", "Remarks"),
    "items": Text("รายการ", "Items"),
    "lines": Text("รายการแบบ", "Drawings"),
    "shopNumbers": Text("เลขที่แบบขยาย", "Numbers of shop drawings"),
    "contractNumbers": Text("เลขที่แบบคู่สัญญา", "Numbers of contract drawings"),
    "asbuiltNumbers": Text("เลขที่แบบก่อสร้างจริง", "Numbers of as-built drawings"),
    "categoryCode": Text("หมวด", "Category"),
    "subCategoryCode": Text("หมวดย่อย", "Sub category"),
    "volumeCode": Text("เล่ม", "Volume"),
    "correspondencePublicId": Text("เอกสารที่เวียน", "Circulated document"),
    "referencePublicIds": Text("เอกสารอ้างอิง", "References"),
    "attachmentPublicIds": Text("ไฟล์แนบ", "Attachments"),
    "documentNumber": Text("เลขที่ตามที่พิมพ์ในเอกสาร", "Number as printed"),
    "sequence": Text("เลขลำดับ", "Sequence"),
    "issuedOn": Text("วันที่ออก", "Date issued"),
    "revision": Text("ฉบับที่ (Rev.)", "Rev."),
    "series": Text("ชุดเลข", "Series"),
    "firstNumber": Text("ลำดับแรก", "First sequence"),
    "lastNumber": Text("ลำดับสุดท้าย", "Last sequence"),
    "template": Text("รูปแบบ", "Format"),
    "file": Text("ไฟล์", "File"),
    "workflowCode": Text("กระบวนงาน", "Workflow"),
    "weekend": Text("วันหยุดประจำสัปดาห์", "Weekend"),
    "date": Text("วัน", "Day"),
    "before": Text("วันทำการก่อนกำหนด", "Working days before"),
    "after": Text("วันทำการหลังกำหนด", "Working days after"),
    "every": Text("เตือนซ้ำทุก (วันทำการ)", "Repeat every (working days)"),
    "hour": Text("ส่งตั้งแต่เวลา", "Send from (time)"),
    "delegatePublicId": Text("ผู้รับมอบหมาย", "Delegate"),
    "startsOn": Text("วันแรก", "First day"),
    "endsOn": Text("วันสุดท้าย", "Last day"),
    "workflowCodes": Text("เฉพาะงานเหล่านี้", "Only for these documents"),
    "reason": Text("เหตุผล", "Reason"),
    "code": Text("รหัส", "Code"),
    "nameTh": Text("ชื่อภาษาไทย", "Name in Thai"),
    "nameEn": Text("ชื่อภาษาอังกฤษ", "Name in English"),
    "userPublicId": Text("สมาชิก", "Member"),
    "role": Text("หน้าที่ในทีม", "Role in the team"),
}

TEXT_PROBLEMS: Final[dict[TextProblem, Text]] = {
    problem: Text(f"ค้นข้อความในไฟล์ไม่ได้: {thai}", f"Text cannot be searched: {english}")
    for problem, thai, english in (
        (TextProblem.PASSWORD, "ไฟล์ถูกล็อกด้วยรหัสผ่าน", "the file has a password"),
        (TextProblem.DAMAGED, "ไฟล์เสียหาย", "the file is damaged"),
        (
            TextProblem.NO_UNICODE,
            "ฟอนต์ของหน้าส่วนใหญ่ไม่มีรหัสยูนิโคด ให้บันทึกไฟล์ PDF ใหม่",
            "the fonts of most pages have no Unicode; export the PDF again",
        ),
        (TextProblem.TOO_LARGE, "ไฟล์มีขนาดใหญ่เกินไปเมื่อคลายแล้ว", "unpacked, the file is too large"),
        (TextProblem.TIMED_OUT, "ใช้เวลาอ่านนานเกินไป", "reading it takes too long"),
        (TextProblem.OUT_OF_MEMORY, "ใช้หน่วยความจำมากเกินไป", "reading it takes too much memory"),
        (
            TextProblem.CRASHED,
            "โปรแกรมอ่านไฟล์หยุดทำงานหรือหน่วยความจำไม่พอ",
            "the program that reads it broke off or lacked memory",
        ),
        (TextProblem.MISSING, "ไม่พบไฟล์ในที่เก็บ", "the file is not in the storage"),
    )
} | {
    TextProblem.CUT: Text("ค้นได้เฉพาะข้อความหนึ่งล้านอักขระแรกของไฟล์", "Only the first million characters are searched"),
    TextProblem.NO_TEXT: Text("ไฟล์ภาพสแกน ค้นหาข้อความข้างในไม่ได้", "Scanned image: its text cannot be searched"),
    TextProblem.KIND: Text("ไฟล์ชนิดนี้ค้นหาข้อความข้างในไม่ได้", "The text of this kind of file cannot be searched"),
}

# Types of files that browsers show; the others are downloaded.
SHOWN: Final = frozenset(kind.mime_type for kind in KINDS if kind.inline)


def is_shown(file: object) -> bool:
    """Return whether browsers show the file; files of steps have no type."""
    return getattr(file, "mime_type", None) in SHOWN


_KINDS: Final = {"RFA": "rfa", "TRANSMITTAL": "transmittal", "CIRCULATION": "circulation"}


# Current names of document types, read once per request.
TYPE_NAMES: Final[ContextVar[Mapping[str, Text]]] = ContextVar("type_names", default=MappingProxyType({}))


def type_name(code: str) -> Text:
    return TYPE_NAMES.get().get(code) or master_data.shipped_type_name(code)


_DEFAULT: Final = Text("ค่าเริ่มต้น", "Default")


def format_name(type_code: str | None, narrowing: Narrowing) -> Text:
    name = type_name(type_code) if type_code else _DEFAULT
    if not any(narrowing):
        return name
    return Text(f"{name.th} · {narrowing.say('th')}", f"{name.en} · {narrowing.say('en')}")


def kind_of(type_code: str) -> str:
    return _KINDS.get(type_code, "correspondence")


def external_register(series: str) -> str | None:
    """Return the register whose external numbers a series contains, or None."""
    register = series.removesuffix(":")
    return register if series.endswith(":") and register in DRAWINGS else None


_FROM_OUTSIDE: Final = Text("{register}: เลขที่จากภายนอก", "{register}: numbers from outside")


def series_name(language: str, series: str) -> str:
    if (external := external_register(series)) is not None:
        return _FROM_OUTSIDE.say(language, {"register": DRAWINGS[external].plural.say(language)})
    register, colon, rest = series.replace("{SEQ}", "…").partition(":")
    return f"{DRAWINGS[register].plural.say(language)}: {rest}" if colon and register in DRAWINGS else register
