"""Names of the audit trail's actions and kinds."""

from typing import Final

from saraban.documents.drawing import domain as drawings
from saraban.kit.errors import Text
from saraban.setup.domain import master_kinds


def _as_title(words: Text) -> Text:
    return Text(words.th, words.en[:1].upper() + words.en[1:])


# By `entity_type`.
KINDS: Final[dict[str, Text]] = {
    "correspondence": Text("หนังสือรับ–ส่ง", "Correspondence"),
    "rfa": Text("RFA", "RFA"),
    "transmittal": Text("ใบนำส่ง", "Transmittal"),
    "circulation": Text("ใบเวียน", "Circulation"),
    "attachment": Text("ไฟล์แนบ", "Attachment"),
    "user": Text("บัญชีผู้ใช้", "Account"),
    "delegation": Text("การมอบหมายงาน", "Delegation"),
    "workflow_definition": Text("กระบวนงาน", "Workflow"),
    "workflow_choice": Text("กระบวนงานของเอกสาร", "Workflow assignment"),
    "number_import": Text("การนำเข้าเลขที่", "Import of numbers"),
    "drawing_import": Text("การนำเข้าแบบ", "Import of drawings"),
    "webhook": Text("เว็บฮุก", "Webhook"),
    "event": Text("เหตุการณ์", "Event"),
    "audit_journal": Text("สมุดประวัติการใช้งาน", "Audit journal"),
    "role": Text("บทบาท", "Role"),
    "access": Text("การเข้าถึง", "Access"),
    "export": Text("ไฟล์ส่งออก", "Export"),
    **{kind.entity_type: _as_title(kind.singular) for kind in drawings.KINDS.values()},
    **{kind.name: _as_title(kind.singular) for kind in master_kinds.KINDS},
}

# Parts of a project file, by the `section` of an entry.
_SECTIONS: Final[dict[str, Text]] = {
    "organizations": Text("องค์กร", "organizations"),
    "correspondenceTypes": Text("ประเภทเอกสาร", "document types"),
    "project": Text("โครงการ", "project"),
    "members": Text("องค์กรในโครงการ", "members"),
    "contracts": Text("สัญญา", "contracts"),
    "numberFormats": Text("รูปแบบเลขที่", "number formats"),
    "assignments": Text("กระบวนงานของเอกสาร", "workflow assignment"),
    "calendar": Text("ปฏิทิน", "calendar"),
    "reviewTeams": Text("ทีมพิจารณา", "review teams"),
    "people": Text("ผู้ใช้งาน", "people"),
    **{name: kind.plural for name, kind in master_kinds.FILE_LISTS.items()},
}

# Actions that are not `<noun>.<verb>`.
_WHOLE: Final[dict[str, Text]] = {
    "security": Text("เหตุการณ์ด้านความปลอดภัย", "Security events"),
    "login.success": Text("เข้าสู่ระบบ", "Signed in"),
    "login.failed": Text("เข้าสู่ระบบไม่สำเร็จ", "Sign-in failed"),
    "login.throttled": Text("ถูกหน่วงการเข้าสู่ระบบ", "Sign-in delayed after failures"),
    "login.address_throttled": Text("ถูกหน่วงการเข้าสู่ระบบจากที่อยู่นี้", "Sign-in delayed from this address"),
    "login.token_reused": Text("ใช้โทเคนที่ใช้ไปแล้วซ้ำ", "Token used a second time"),
    "logout": Text("ออกจากระบบ", "Signed out"),
    "access.refused": Text("ถูกปฏิเสธการเข้าถึง", "Access refused"),
    "attachment.view": Text("เปิดดูไฟล์", "File viewed"),
    "attachment.download": Text("ดาวน์โหลดไฟล์", "File downloaded"),
    "export.download": Text("ดาวน์โหลดไฟล์ส่งออก", "Export downloaded"),
    "user.limit": Text("กำหนดเพดานการออกเลขของบัญชี", "Limit of numbers set"),
    "user.change": Text("แก้ไขข้อมูลบัญชี", "Account changed"),
    "user.unlock": Text("ปลดล็อกบัญชี", "Account unlocked"),
    "user.reset_password": Text("ตั้งรหัสผ่านใหม่ให้บัญชี", "Password set by an administrator"),
    "user.change_password": Text("เปลี่ยนรหัสผ่านของตน", "Own password changed"),
    "user.change_password_failed": Text("เปลี่ยนรหัสผ่านไม่สำเร็จ", "Change of password failed"),
    "user.accept_invitation": Text("ตั้งรหัสผ่านด้วยลิงก์", "Password set by a link"),
    "user.request_reset": Text("ขอลิงก์ตั้งรหัสผ่านใหม่ทางอีเมล", "Password reset requested by e-mail"),
    "user.make_reset_link": Text("สร้างลิงก์ตั้งรหัสผ่านใหม่", "Link to reset the password made"),
    "user.invite": Text("ส่งคำเชิญ", "Invitation made"),
    "user.end_session": Text("สิ้นสุดเซสชัน", "Session ended"),
    "user.end_sessions": Text("สิ้นสุดการใช้งานทุกอุปกรณ์", "Sessions ended"),
    "user.grant_role": Text("มอบบทบาท", "Role given"),
    "user.revoke_role": Text("ถอนบทบาท", "Role taken back"),
    "project.reminders": Text("ตั้งการเตือนกำหนดของโครงการ", "Reminders of the project set"),
    "project.drawing_settings": Text("ตั้งค่าทะเบียนแบบ", "Register of drawings set up"),
    "project.apply": Text("นำไฟล์โครงการมาใช้", "Project file applied"),
    "calendar.weekend": Text("กำหนดวันหยุดประจำสัปดาห์", "Weekend set"),
    "calendar.day_added": Text("เพิ่มวันในปฏิทินโครงการ", "Day added to the project calendar"),
    "calendar.day_removed": Text("ลบวันออกจากปฏิทินโครงการ", "Day removed from the project calendar"),
    "review_team.saved": Text("บันทึกทีมพิจารณา", "Review team saved"),
    "review_team.removed": Text("ลบทีมพิจารณา", "Review team removed"),
    "review_team.member_saved": Text("บันทึกสมาชิกทีมพิจารณา", "Member of a review team saved"),
    "project.save_member": Text("บันทึกองค์กรในโครงการ", "Member of a project saved"),
    "project.remove_member": Text("นำองค์กรออกจากโครงการ", "Member of a project removed"),
    "contract.save_member": Text("บันทึกคู่สัญญา", "Party of a contract saved"),
    "contract.remove_member": Text("นำคู่สัญญาออก", "Party of a contract removed"),
    "review_team.member_removed": Text("นำสมาชิกออกจากทีมพิจารณา", "Member of a review team removed"),
    "event.requeue": Text("นำเหตุการณ์กลับมาส่งใหม่", "Event put back into the queue"),
    "event.drop": Text("ยกเลิกการส่งเหตุการณ์", "Failed event dropped"),
    "audit.purge": Text("ลบแถวที่พ้นระยะเวลาเก็บรักษา", "Rows past their retention deleted"),
    "number_import.uploaded": Text("อัปโหลดไฟล์นำเข้าเลขที่", "Import of numbers uploaded"),
    "number_import.started": Text("เริ่มนำเข้าเลขที่", "Import of numbers started"),
    "drawing_import.uploaded": Text("อัปโหลดไฟล์นำเข้าแบบ", "Import of drawings uploaded"),
    "drawing_import.started": Text("เริ่มนำเข้าแบบ", "Import of drawings started"),
    "attachment.upload": Text("อัปโหลดไฟล์", "File uploaded"),
    "attachment.refuse": Text("ปฏิเสธไฟล์ที่อัปโหลด", "Uploaded file refused"),
    "webhook.rotate": Text("ออกรหัสลับของเว็บฮุกใหม่", "Secret of a webhook renewed"),
    "webhook.switch_off": Text("ปิดเว็บฮุกที่ส่งไม่สำเร็จ", "Failing webhook switched off"),
    "delegation.revoke": Text("ยกเลิกการมอบหมายงาน", "Delegation revoked"),
    "workflow.transition": Text("ดำเนินการตามขั้นตอน", "Workflow action taken"),
    "workflow.answer": Text("ตอบการพิจารณา", "Review answered"),
    "workflow.force_proceed": Text("บังคับเปลี่ยนขั้นตอน", "Step overridden"),
    "workflow.reassign": Text("มอบหมายขั้นตอนให้ผู้อื่น", "Step reassigned"),
    "workflow.terminate": Text("ยุติกระบวนงาน", "Workflow terminated"),
    "workflow.publish": Text("เผยแพร่เวอร์ชันของกระบวนงาน", "Version of a workflow published"),
    "workflow.activate": Text("เปิดใช้กระบวนงาน", "Workflow activated"),
    "workflow.deactivate": Text("ปิดใช้กระบวนงาน", "Workflow deactivated"),
    "workflow.migrate": Text("ย้ายเวอร์ชันของกระบวนงาน", "Moved to another version of a workflow"),
    "workflow.choose": Text("กำหนดกระบวนงานให้เอกสาร", "Workflow assigned to documents"),
    "workflow.take_back": Text("ยกเลิกการกำหนดกระบวนงาน", "Workflow assignment taken back"),
}

# `<noun>.<verb>`: the Thai verb stands before its noun, the English one behind.
_VERBS: Final[dict[str, Text]] = {
    "create": Text("เพิ่ม", "created"),
    "edit": Text("แก้ไข", "edited"),
    "change": Text("แก้ไข", "changed"),
    "correct": Text("แก้ไขข้อมูลฉบับของ", "revision corrected"),
    "close": Text("ปิดใช้", "closed"),
    "reopen": Text("กลับมาเปิดใช้", "reopened"),
    "enable": Text("เปิดใช้", "opened"),
    "disable": Text("ปิดใช้", "closed"),
    "move": Text("ย้าย", "moved"),
    "remove": Text("ลบ", "removed"),
    "reorder": Text("จัดลำดับ", "put in another order"),
    "import": Text("นำเข้า", "imported"),
    "revise": Text("ออกฉบับแก้ไขของ", "revised"),
    "withdraw-revision": Text("ถอนฉบับแก้ไขของ", "revision withdrawn"),
    "cancel": Text("ยกเลิก", "cancelled"),
    "start-approval": Text("เริ่มขั้นตอนอนุมัติของ", "approval started"),
    "respond": Text("ตอบ", "answered"),
    "renumber": Text("เปลี่ยนเลขที่", "renumbered"),
}


def action_words(code: str, section: object = None) -> Text:
    """:param section: the part of a project file that the entry is about"""
    if (part := _SECTIONS.get(str(section))) is not None:
        words = action_words(code)
        return words if words.th.endswith(part.th) else Text(f"{words.th}: {part.th}", f"{words.en}: {part.en}")
    if code in _WHOLE:
        return _WHOLE[code]
    module, _, verb = code.rpartition(".")
    noun, verb_words = KINDS.get(module), _VERBS.get(verb)
    if noun is None or verb_words is None:
        return Text(code, code)
    gap = " " if noun.th[:1].isascii() else ""
    return Text(f"{verb_words.th}{gap}{noun.th}", f"{noun.en} {verb_words.en}")


def kind_words(kind: str) -> Text:
    return KINDS.get(kind, Text(kind, kind))


# The actions of the filter `security`: sign-ins, sessions, passwords, roles, refusals and downloads.
SECURITY: Final = tuple(
    code
    for code in _WHOLE
    if code.startswith(("login.", "logout", "access.", "export.", "user.end_session"))
    or code in {"attachment.view", "attachment.download", "user.grant_role", "user.revoke_role"}
    or (code.startswith("user.") and "password" in code)
)
_KEPT: Final = ("create", "edit", "close", "reopen")
DOCUMENTS: Final = ("correspondence", "rfa", "transmittal", "circulation")
# The actions that pages offer as filters.
ACTIONS: Final = (
    *(f"{kind}.{verb}" for kind in DOCUMENTS for verb in ("create", "edit", "revise", "cancel")),
    *(
        f"{kind.entity_type}.{verb}"
        for kind in drawings.KINDS.values()
        for verb in ("create", "change", "revise", "correct", "start-approval")
    ),
    *_WHOLE,
    *(f"user.{verb}" for verb in ("create", "edit", "enable", "disable")),
    *(f"{thing}.{verb}" for thing in ("organization", "project", "contract", "role") for verb in _KEPT),
    *(f"webhook.{verb}" for verb in ("create", "change", "remove")),
    "delegation.create",
)
