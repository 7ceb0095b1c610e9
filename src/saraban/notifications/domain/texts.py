"""What a notification says, in both languages; which one is the reader's choice at the time of reading."""

from collections.abc import Mapping
from dataclasses import dataclass

from saraban.kit.errors import Text
from saraban.kit.json import JsonObject
from saraban.workflow.language.outcome import past_tense


@dataclass(frozen=True, slots=True)
class NoticeText:
    title: Text
    message: Text


TEMPLATES: Mapping[str, NoticeText] = {
    "waiting": NoticeText(
        Text("{number} รอคุณดำเนินการ", "{number} awaits your action"),
        Text("“{subject}” อยู่ในสถานะ {state}", "“{subject}” now has the status {state}."),
    ),
    "settled": NoticeText(
        Text("{number} ไม่รอคุณดำเนินการแล้ว", "{number} no longer awaits your action"),
        Text("“{subject}” มีการดำเนินการแล้ว", "“{subject}” has been acted on."),
    ),
    "returned": NoticeText(
        Text("{number} ถูกส่งกลับให้แก้ไข", "{number} was returned for revision"),
        Text("“{subject}” ส่งกลับให้แก้ไขโดย {actor}", "“{subject}” was returned for revision by {actor}."),
    ),
    "returned_with_comment": NoticeText(
        Text("{number} ถูกส่งกลับให้แก้ไข", "{number} was returned for revision"),
        Text(
            "“{subject}” ส่งกลับให้แก้ไขโดย {actor}: “{comment}”",
            "“{subject}” was returned for revision by {actor}: “{comment}”",
        ),
    ),
    "moved": NoticeText(
        Text("{number}: {state}", "{number}: {state}"),
        Text("“{subject}” – {action} โดย {actor}", "“{subject}” – {action} by {actor}"),
    ),
    "moved_with_comment": NoticeText(
        Text("{number}: {state}", "{number}: {state}"),
        Text("“{subject}” – {action} โดย {actor}: “{comment}”", "“{subject}” – {action} by {actor}: “{comment}”"),
    ),
    "finished": NoticeText(
        Text("{number}: {state}", "{number}: {state}"),
        Text("“{subject}” ดำเนินการเสร็จสิ้นแล้ว โดย {actor}", "“{subject}” was completed by {actor}."),
    ),
    "finished_with_comment": NoticeText(
        Text("{number}: {state}", "{number}: {state}"),
        Text(
            "“{subject}” ดำเนินการเสร็จสิ้นแล้ว โดย {actor}: “{comment}”",
            "“{subject}” was completed by {actor}: “{comment}”",
        ),
    ),
    "created": NoticeText(
        Text("ร่างเอกสารใหม่ {number}", "New draft {number}"),
        Text("“{subject}” รอส่งจากองค์กรของคุณ", "“{subject}” awaits submission by your organization."),
    ),
    "revised": NoticeText(
        Text("{number} มีฉบับแก้ไขใหม่", "{number} has a new revision"),
        Text("ฉบับที่ (Rev.) {revision} ของ “{subject}” รอส่ง", "Rev. {revision} of “{subject}” awaits submission."),
    ),
    "cancelled": NoticeText(
        Text("{number} ถูกยกเลิก", "{number} was cancelled"),
        Text("“{subject}” ถูกยกเลิก เหตุผล: {reason}", "“{subject}” was cancelled. Reason: {reason}"),
    ),
    "due_soon": NoticeText(
        Text("{number} ครบกำหนดในอีก {days} วันทำการ", "{number} is due, working days left: {days}"),
        Text("“{subject}” ครบกำหนดวันที่ {due}", "“{subject}” is due on {due}."),
    ),
    "due_today": NoticeText(
        Text("{number} ครบกำหนดวันนี้", "{number} is due today"),
        Text("“{subject}” ครบกำหนดวันที่ {due}", "“{subject}” is due on {due}."),
    ),
    "overdue": NoticeText(
        Text("{number} เกินกำหนด {days} วันทำการ", "{number} is overdue, working days: {days}"),
        Text("“{subject}” ครบกำหนดเมื่อวันที่ {due}", "“{subject}” was due on {due}."),
    ),
    "webhook_failing": NoticeText(
        Text("หยุดส่ง webhook ไปยัง {host}", "The webhook to {host} was disabled"),
        Text(
            "{url} ไม่รับข้อความเลยตั้งแต่ {since} จึงหยุดส่ง แก้ไขปลายทางแล้วเปิดใช้ใหม่ได้ ข้อความระหว่างที่หยุดจะไม่ถูกส่งย้อนหลัง",
            "{url} has accepted no message since {since}. Enable it again when it works; events in the meantime are not sent later.",
        ),
    ),
    "webhook_gone": NoticeText(
        Text("หยุดส่ง webhook ไปยัง {host}", "The webhook to {host} was disabled"),
        Text(
            "{url} ตอบว่าเลิกใช้แล้ว (410) จึงหยุดส่ง หากยังใช้อยู่ให้เปิดใช้ใหม่",
            "{url} has answered that it is gone (410). Enable it again if it is still in use.",
        ),
    ),
    "webhook_address": NoticeText(
        Text("หยุดส่ง webhook ไปยัง {host}", "The webhook to {host} was disabled"),
        Text(
            "{url} เป็นที่อยู่ที่ webhook ส่งไปไม่ได้ จึงหยุดส่ง กรุณาตั้งใหม่ด้วยที่อยู่ที่เปิดบนอินเทอร์เน็ต",
            "Webhooks may not be sent to {url}. Set it up with a public internet address.",
        ),
    ),
    # Notifications from before templates were kept: their own words, as the migration carried them over.
    "plain": NoticeText(Text("{title}", "{title}"), Text("{message}", "{message}")),
}

TITLE_LENGTH = 255


def render_notice(template: str, values: JsonObject, language: str) -> tuple[str, str]:
    """
    Return title and message.

    :param values: texts, or mappings `{"th", "en"}` of which the reader's language is taken
    """
    chosen = {name: _in_language(_as_done(name, value), language) for name, value in values.items()}
    texts = TEMPLATES[template]
    title, message = _fill(texts.title, language, chosen), _fill(texts.message, language, chosen)
    return title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…", message


def _as_done(name: str, value: object) -> object:
    """Put the label of the action that was taken into the past tense."""
    if name != "action" or not isinstance(value, Mapping):
        return value
    label = past_tense(Text(str(value.get("th") or ""), str(value.get("en") or "")))
    return {"th": label.th, "en": label.en}


def _in_language(value: object, language: str) -> str:
    if isinstance(value, Mapping):
        return str(value.get(language) or value.get("en") or "")
    return "" if value is None else str(value)


def _fill(text: Text, language: str, values: Mapping[str, str]) -> str:
    """One pass over the template, so that a subject that contains `{state}` is printed as it is."""
    pieces = (text.th if language == "th" else text.en).split("{")
    parts = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        parts += [values.get(name, "–"), rest]
    return "".join(parts)
