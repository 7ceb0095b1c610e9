"""Shipped master data, and references to projects, parties and master data."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from saraban.identity.domain.catalogue import PartyRole
from saraban.kit.errors import Text


@dataclass(frozen=True, slots=True)
class ProjectRef:
    id: int
    public_id: UUID
    code: str
    name: str
    name_en: str | None = None


@dataclass(frozen=True, slots=True)
class OrganizationRef:
    id: int
    public_id: UUID
    code: str
    name: str
    role: PartyRole


@dataclass(frozen=True, slots=True)
class Party:
    id: int
    public_id: UUID
    code: str
    role: PartyRole


def by_role(parties: Iterable[Party]) -> dict[str, frozenset[int]]:
    keys_of_role: dict[str, set[int]] = {}
    for party in parties:
        keys_of_role.setdefault(party.role, set()).add(party.id)
    return {part: frozenset(keys) for part, keys in keys_of_role.items()}


@dataclass(frozen=True, slots=True)
class ContractRef:
    id: int
    public_id: UUID
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class TypeRef:
    id: int
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class DisciplineRef:
    id: int
    code: str
    contract_id: int


RfaItemsRule = Literal["none", "optional", "required"]


@dataclass(frozen=True, slots=True)
class RfaTypeRef:
    """:param items: a value of `RfaItemsRule`"""

    id: int
    code: str
    contract_id: int
    items: str = "optional"


@dataclass(frozen=True, slots=True)
class SubTypeRef:
    """`number` is printed by `{SUB_TYPE}` (REQ-FMT-13)."""

    id: int
    code: str
    number: str
    contract_id: int


@dataclass(frozen=True, slots=True)
class PrintableCodes:
    organizations: frozenset[str]
    disciplines: frozenset[str]
    rfa_types: frozenset[str]
    sub_type_numbers: frozenset[str]
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class MasterCode:
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


_TYPE_NAMES = {offer.code: offer.says for offer in CORRESPONDENCE_TYPES}


def shipped_type_name(code: str) -> Text:
    return _TYPE_NAMES.get(code) or Text(code, code)
