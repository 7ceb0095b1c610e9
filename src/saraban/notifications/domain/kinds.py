"""The kinds of notice that a person chooses channels for; several templates are one kind."""

from typing import Final, Literal, get_args

from saraban.kit.errors import Text

NoticeKind = Literal["waiting", "reminder", "finished", "moved", "created", "revised", "cancelled", "webhook"]
KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)

# Somebody has to act: such a notice always keeps one channel at least.
ACTION: Final[frozenset[NoticeKind]] = frozenset({"waiting", "reminder"})

NAMES: Final[dict[NoticeKind, Text]] = {
    "waiting": Text("เอกสารรอฉันดำเนินการ", "A document awaits my action"),
    "reminder": Text("ใกล้ครบกำหนดหรือเกินกำหนด", "A document is due soon or overdue"),
    "finished": Text("เอกสารดำเนินการเสร็จสิ้น", "A document was completed"),
    "moved": Text("เอกสารเปลี่ยนขั้นตอน", "A document changed status"),
    "created": Text("ร่างเอกสารใหม่ขององค์กร", "A new draft of my organization"),
    "revised": Text("ฉบับแก้ไขใหม่ขององค์กร", "A new revision of my organization"),
    "cancelled": Text("เอกสารถูกยกเลิก", "A document was cancelled"),
    "webhook": Text("หยุดส่ง webhook ที่ฉันดูแล", "A webhook of mine or of my project was disabled"),
}

_OF_TEMPLATE: Final[dict[str, NoticeKind]] = {
    **{kind: kind for kind in KINDS if kind not in {"reminder", "webhook"}},
    "moved_with_comment": "moved",
    "finished_with_comment": "finished",
    "returned": "waiting",
    "returned_with_comment": "waiting",
    "settled": "waiting",
    "webhook_failing": "webhook",
    "webhook_gone": "webhook",
    "webhook_address": "webhook",
    "due_soon": "reminder",
    "due_today": "reminder",
    "overdue": "reminder",
}


def kind_of(template: str) -> NoticeKind:
    """Return the kind that a template belongs to."""
    return _OF_TEMPLATE[template]
