"""Questions about permissions, and the reasons in the answers."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from saraban.identity.domain.access import Reason
from saraban.kit.errors import Text


@dataclass(frozen=True, slots=True)
class AccessQuestion:
    """
    :param wanted: a permission; of a document also `view`, `edit` or a workflow action
    :param level: of the place, without a document
    """

    wanted: str
    person: UUID | None = None
    document: UUID | None = None
    level: str | None = None
    place: UUID | None = None
    username: str = ""


_OF_DOCUMENTS: Final = ("document", "correspondence", "rfa", "drawing", "circulation", "transmittal")
_OF_NUMBERS: Final = ("numbering.view_formats", "numbering.view_counters")
_DECIDES: Final = ("workflow.action_review", "workflow.force_proceed")


def counts_for_a_member(permission: str) -> bool:
    return permission.partition(".")[0] in _OF_DOCUMENTS or permission in {*_OF_NUMBERS, *_DECIDES}


def counts_in_a_contract(permission: str) -> bool:
    return counts_for_a_member(permission) and permission not in _OF_NUMBERS


SAYS: Final[dict[Reason, Text]] = {
    Reason.GRANTED: Text("ทำได้ เพราะมีบทบาทนี้", "Allowed, because of this role."),
    Reason.GRANTED_WITHIN: Text(
        "ทำได้ เฉพาะในองค์กรหรือสัญญาของบทบาทนี้", "Allowed, for the organization or contract of the role alone."
    ),
    Reason.NO_ROLE_NEEDED: Text("ทำได้ โดยไม่ต้องมีบทบาทเฉพาะ", "Allowed; it takes no role."),
    Reason.DELEGATED: Text("ทำได้ในฐานะผู้รับมอบหมาย", "Allowed in the place of somebody who is away."),
    Reason.MISSING: Text("ไม่มีบทบาทใดให้สิทธิ์นี้", "No role of theirs gives this permission."),
    Reason.ELSEWHERE: Text("มีสิทธิ์นี้ที่อื่น แต่ไม่มีที่นี่", "They hold this permission elsewhere, not here."),
    Reason.UPCOMING: Text("บทบาทที่ให้สิทธิ์นี้ยังไม่เริ่มมีผล", "The role that would allow it has not begun."),
    Reason.ENDED: Text("บทบาทที่ให้สิทธิ์นี้สิ้นสุดแล้ว", "The role that would allow it has ended."),
    Reason.ROLE_CLOSED: Text("บทบาทที่ให้สิทธิ์นี้ถูกปิด", "The role that would allow it is closed."),
    Reason.ACCOUNT_CLOSED: Text("บัญชีนี้ปิดแล้ว", "The account is closed."),
    Reason.NOT_ISSUED: Text(
        "เอกสารยังเป็นฉบับร่าง เห็นเฉพาะองค์กรต้นเรื่อง", "It is a draft: only its originator's people see it."
    ),
    Reason.NO_PARTY: Text("องค์กรของผู้นี้ไม่เกี่ยวข้องกับเอกสาร", "None of their organizations has a part in the document."),
    Reason.FINISHED: Text("เอกสารสิ้นสุดกระบวนงานแล้ว", "The workflow of the document has ended."),
    Reason.NO_ACTION: Text("สถานะปัจจุบันไม่มีการดำเนินการนี้", "The present status has no such action."),
    Reason.ASSIGNED: Text("ขั้นตอนนี้มอบหมายให้ผู้อื่น", "The step is assigned to another person."),
    Reason.SUBMITTER: Text("ผู้ส่งเอกสารตัดสินเอกสารของตนไม่ได้", "Whoever submitted it does not decide about it."),
    Reason.NAMED: Text("ขั้นตอนนี้ระบุบุคคลอื่น", "The workflow names another person for this step."),
    Reason.ROLE: Text("ขั้นตอนนี้ต้องการบทบาทอื่น", "The step asks for another role."),
    Reason.SEAT: Text("ขั้นตอนนี้อยู่ที่ฝ่ายอื่น", "The step is another party's."),
    Reason.CONDITION: Text("ยังไม่ครบเงื่อนไขของการดำเนินการนี้", "The condition of this action is not met."),
    Reason.NOT_EDITABLE: Text("แก้ไขได้เฉพาะในสถานะที่เปิดให้แก้ไข", "The present status cannot be edited."),
}
