"""Outcomes of final states, from the word `outcome` or a well-known name, and past labels."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, get_args

from saraban.kit.errors import Text

Outcome = Literal["approved", "approved_with_comments", "revise_resubmit", "rejected", "closed", "withdrawn"]

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
WORDS: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "approved": Text("อนุมัติ", "Approved"),
        "approved_with_comments": Text("อนุมัติโดยมีความเห็น", "Approved with comments"),
        "revise_resubmit": Text("ให้แก้ไขแล้วส่งใหม่", "Revise and resubmit"),
        "rejected": Text("ไม่อนุมัติ", "Rejected"),
        "closed": Text("ปิดเรื่อง", "Closed"),
        "withdrawn": Text("ถอนเรื่อง", "Withdrawn"),
    }
)
STATE_NAMES: Final[Mapping[str, Text]] = MappingProxyType(
    {
        "draft": Text("ฉบับร่าง", "Draft"),
        "in_review": Text("อยู่ระหว่างพิจารณา", "In review"),
        "pending_review": Text("รอตรวจสอบ", "Pending review"),
        "pending_approval": Text("รออนุมัติ", "Pending approval"),
        "submitted": Text("ส่งแล้ว รอตอบรับ", "Submitted"),
        "routing": Text("อยู่ระหว่างเวียน", "In circulation"),
        "awaiting_response": Text("รอคำตอบ", "Awaiting response"),
        "responded": Text("ตอบแล้ว", "Responded"),
        "approved": Text("อนุมัติแล้ว", "Approved"),
        "acknowledged": Text("รับทราบแล้ว", "Acknowledged"),
        "completed": Text("เสร็จสิ้น", "Completed"),
        "rejected": Text("ไม่อนุมัติ", "Rejected"),
        "revision_requested": Text("ขอให้แก้ไข", "Revision requested"),
        "returned": Text("ส่งคืนแล้ว", "Returned"),
        "closed": Text("ปิดเรื่องแล้ว", "Closed"),
        "cancelled": Text("ยกเลิกแล้ว", "Cancelled"),
        "terminated": Text("ยุติแล้ว", "Terminated"),
    }
)
# For versions from before `outcome`, and for those that rely on the state's name.
BY_NAME: Final[Mapping[str, Outcome]] = MappingProxyType(
    {
        "approved": "approved",
        "approved_as_noted": "approved_with_comments",
        "revision_requested": "revise_resubmit",
        "returned": "revise_resubmit",
        "rejected": "rejected",
        "completed": "closed",
        "cancelled": "withdrawn",
    }
)


OVERRIDDEN: Final = Text(" (ผู้ดูแลบังคับเปลี่ยนขั้นตอน)", " (override)")

_ENGLISH: Final[dict[str, str]] = {
    "Submit": "Submitted",
    "Approve": "Approved",
    "Approve as noted": "Approved as noted",
    "Approve for construction": "Approved for construction",
    "Endorse": "Endorsed",
    "Refer to owner": "Referred to owner",
    "Request revision": "Revision requested",
    "Reject": "Rejected",
    "Acknowledge": "Acknowledged",
    "Return": "Returned",
    "Start circulation": "Circulation started",
    "Respond": "Responded",
    "Ask again": "Asked again",
    "Close": "Closed",
    "Complete": "Completed",
    "Close circulation": "Circulation closed",
    "Force close": "Force closed",
}

_THAI: Final[dict[str, str]] = {
    "ส่งเอกสาร": "ส่งแล้ว",
    "ส่ง": "ส่งแล้ว",
    "ส่งแบบ": "ส่งแบบแล้ว",
    "ส่งคำถาม": "ส่งคำถามแล้ว",
    "อนุมัติ": "อนุมัติแล้ว",
    "อนุมัติตามหมายเหตุ": "อนุมัติตามหมายเหตุแล้ว",
    "อนุมัติเพื่อก่อสร้าง": "อนุมัติเพื่อก่อสร้างแล้ว",
    "เห็นชอบและเสนอ": "เห็นชอบและเสนอแล้ว",
    "เสนอเจ้าของงานพิจารณา": "เสนอเจ้าของงานแล้ว",
    "ขอให้แก้ไข": "ขอให้แก้ไขแล้ว",
    "รับทราบ": "รับทราบแล้ว",
    "ส่งคืน": "ส่งคืนแล้ว",
    "เริ่มเวียน": "เริ่มเวียนแล้ว",
    "ตอบกลับ": "ตอบแล้ว",
    "ตอบคำถาม": "ตอบคำถามแล้ว",
    "ถามเพิ่ม": "ถามเพิ่มแล้ว",
    "ปิดเรื่อง": "ปิดเรื่องแล้ว",
    "ปิดใบเวียน": "ปิดใบเวียนแล้ว",
    "ปิดโดยไม่รอคำตอบ": "ปิดโดยไม่รอคำตอบแล้ว",
}


def past_tense(label: Text) -> Text:
    """Return the label of an action in the past tense; a custom label stays unchanged."""
    return Text(
        _past_label(label.th, _THAI, OVERRIDDEN.th),
        _past_label(label.en, _ENGLISH, OVERRIDDEN.en),
    )


def _past_label(label: str, past_by_label: dict[str, str], mark: str) -> str:
    bare = label.removesuffix(mark)
    return past_by_label.get(bare, bare) + label[len(bare) :]
