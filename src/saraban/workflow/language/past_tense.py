"""What a step that was taken is called: the label of its action in the past tense, where the label is a usual one."""

from typing import Final

from saraban.kit.errors import Text

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
    """Return the label of an action as a history says it; a label of an author's own stays as it is."""
    return Text(
        _past(label.th, _THAI, OVERRIDDEN.th),
        _past(label.en, _ENGLISH, OVERRIDDEN.en),
    )


def _past(label: str, known: dict[str, str], mark: str) -> str:
    bare = label.removesuffix(mark)
    return known.get(bare, bare) + label[len(bare) :]
