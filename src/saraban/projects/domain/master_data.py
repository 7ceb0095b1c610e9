"""Master data the product ships with: document types and the codes of their states. Data, no rules."""

from dataclasses import dataclass

from saraban.kit.errors import Text


@dataclass(frozen=True, slots=True)
class MasterCode:
    """A code with its name in both languages and its place in a list."""

    code: str
    says: Text
    order: int


def _offers(*rows: tuple[str, str, str]) -> tuple[MasterCode, ...]:
    return tuple(MasterCode(code, Text(th, en), 10 * place) for place, (code, th, en) in enumerate(rows, 1))


CORRESPONDENCE_TYPES = _offers(
    ("LETTER", "หนังสือ", "Letter"),
    ("MEMO", "บันทึกข้อความ", "Memorandum"),
    ("RFI", "คำขอข้อมูล (RFI)", "Request for Information (RFI)"),
    ("RFA", "คำขออนุมัติ (RFA)", "Request for Approval (RFA)"),
    ("TRANSMITTAL", "ใบนำส่ง", "Transmittal"),
    ("CIRCULATION", "ใบเวียนภายใน", "Circulation Sheet"),
    ("DRAWING", "แบบ", "Drawing"),
    ("EMAIL", "อีเมล", "Email"),
    ("INSTRUCTION", "คำสั่ง", "Instruction"),
    ("MOM", "รายงานการประชุม", "Minutes of Meeting"),
    ("NOTICE", "หนังสือแจ้ง", "Notice"),
    ("OTHER", "อื่น ๆ", "Other"),
)

_ROLES = (
    ("OWN", "เจ้าของงาน", "Owner"),
    ("DSN", "ผู้ออกแบบ", "Designer"),
    ("CSC", "ที่ปรึกษาควบคุมงาน", "Supervision Consultant"),
    ("CON", "ผู้รับเหมา", "Contractor"),
    ("OTH", "ฝ่ายอื่น", "Others"),
)
_ACTIONS = (
    ("SUB", "ส่งถึง", "Submitted to"),
    ("REP", "ตอบโดย", "Reply by"),
    ("RSB", "ส่งใหม่โดย", "Resubmitted by"),
    ("CLB", "ปิดโดย", "Closed by"),
    ("CCB", "ยกเลิกโดย", "Cancelled by"),
)

# The states that documents really pass through come first; the actions by party are kept for imported records.
CORRESPONDENCE_STATUSES = _offers(
    ("DRAFT", "ฉบับร่าง", "Draft"),
    ("SUBMITTED", "ส่งแล้ว", "Submitted"),
    ("IN_REVIEW", "อยู่ระหว่างพิจารณา", "In Review"),
    ("APPROVED", "อนุมัติ", "Approved"),
    ("REJECTED", "ไม่อนุมัติ", "Rejected"),
    ("CLOSED", "ปิดเรื่อง", "Closed"),
    ("CANCELLED", "ยกเลิก", "Cancelled"),
    *(
        (action + role, f"{action_th}{role_th}", f"{action_en} {role_en}")
        for action, action_th, action_en in _ACTIONS
        for role, role_th, role_en in _ROLES
        if role != "OTH" or action in {"SUB", "REP", "CLB"}
    ),
    ("TERMINATED", "ยุติ", "Terminated"),
    ("RESPONDED", "ตอบแล้ว", "Responded"),
)

RFA_STATUSES = _offers(
    ("DFT", "ฉบับร่าง", "Draft"),
    ("FAP", "เพื่อขออนุมัติ", "For Approval"),
    ("FRE", "เพื่อตรวจสอบ", "For Review"),
    ("FCO", "เพื่อการก่อสร้าง", "For Construction"),
    ("ASB", "แบบสร้างจริง", "As Built"),
    ("OBS", "เลิกใช้", "Obsolete"),
    ("CC", "ยกเลิก", "Cancelled"),
    ("TRM", "ยุติ", "Terminated"),
)

RFA_APPROVE_CODES = _offers(
    ("1A", "อนุมัติโดยเจ้าของงาน", "Approved by Authority"),
    ("1C", "อนุมัติโดยที่ปรึกษา", "Approved by Consultant"),
    ("1N", "อนุมัติตามหมายเหตุ", "Approved as Noted"),
    ("1R", "อนุมัติโดยมีข้อสังเกต", "Approved with Remarks"),
    ("3C", "มีความเห็นจากที่ปรึกษา", "Consultant Comments"),
    ("3R", "แก้ไขแล้วส่งใหม่", "Revise and Resubmit"),
    ("4X", "ไม่อนุมัติ", "Rejected"),
    ("5N", "ไม่ต้องดำเนินการต่อ", "No Further Action"),
)

CIRCULATION_STATUSES = _offers(
    ("OPEN", "เปิด", "Open"),
    ("IN_REVIEW", "อยู่ระหว่างเวียน", "In Review"),
    ("COMPLETED", "เสร็จสิ้น", "Completed"),
    ("CANCELLED", "ยกเลิก", "Cancelled"),
    ("TERMINATED", "ยุติ", "Terminated"),
)


def name_of(offers: tuple[MasterCode, ...], code: str, stored: str | None) -> Text:
    """Return a code's name in both languages; a code added later has the stored one only."""
    return next((one.says for one in offers if one.code == code), Text(stored or code, stored or code))


_TYPE_NAMES = {offer.code: offer.says for offer in CORRESPONDENCE_TYPES}


def type_name(code: str, stored: str) -> Text:
    """Return a document type's name in both languages; a type added later has the stored one only."""
    return _TYPE_NAMES.get(code) or Text(stored, stored)
