"""The notices that an event causes, and their texts in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from saraban.kit.errors import Text
from saraban.kit.json import Json, JsonObject, as_list, as_object, as_text
from saraban.workflow.engine.pending_assignees import SubjectState
from saraban.workflow.language.outcome import past_tense
from saraban.workflow.language.subject import SubjectFacts

WEBHOOK_OFF = "webhook.switched_off"


@dataclass(frozen=True, slots=True)
class Audience:
    """
    People by public id. Only those who can see the subject are notified.

    :param acts: of `organizations`, notify the members whom the step asks instead
    :param users: notified whatever their permissions are
    :param parties: `originator`, `recipients` (once issued) or `author` of the document
    """

    organizations: frozenset[UUID] = frozenset()
    users: frozenset[UUID] = frozenset()
    parties: frozenset[str] = frozenset()
    acts: bool = False

    def __bool__(self) -> bool:
        return bool(self.organizations or self.users or self.parties)


@dataclass(frozen=True, slots=True)
class Notice:
    template: str
    values: JsonObject
    entity_type: str
    entity_id: str
    actor: UUID | None
    audience: Audience
    stand: SubjectState | None = None


_DOCUMENT_NOTICES = {
    "document.created": ("created", Audience(parties=frozenset({"originator"}))),
    "document.revised": ("revised", Audience(parties=frozenset({"originator"}))),
    "document.cancelled": ("cancelled", Audience(parties=frozenset({"originator", "recipients", "author"}))),
}


def notices(name: str, payload: JsonObject) -> list[Notice]:
    """Return the notices of an event; a person in two audiences gets only the first."""
    if name == "workflow.transitioned":
        return _transition_notices(payload)
    if name == "document.reminded":
        return [_reminder_notice(payload)]
    if name == "workflow.unattended":
        return [_notice("unattended", payload, _audience(payload.get("notify")))]
    if name == WEBHOOK_OFF:
        return [_webhook_notice(payload)]
    if name in _DOCUMENT_NOTICES:
        template, audience = _DOCUMENT_NOTICES[name]
        users_of_event = _audience(payload.get("notify"))
        return [_notice(template, payload, replace(audience, users=users_of_event.users))]
    return []


def _webhook_notice(payload: JsonObject) -> Notice:
    """Notify only owners: others may not know of the webhook."""
    url, since = str(payload["url"]), str(payload["failingSince"])
    return Notice(
        template=f"webhook_{payload['because']}",
        values={"url": url, "host": url.split("/")[2], "since": f"{since[:10]} {since[11:16]} UTC"},
        entity_type="webhook",
        entity_id=str(payload["webhookPublicId"]),
        actor=None,
        audience=Audience(users=frozenset(UUID(str(user)) for user in as_list(payload["userPublicIds"]))),
    )


def _transition_notices(payload: JsonObject) -> list[Notice]:
    waiting, watchers = replace(_audience(payload.get("waiting")), acts=True), _audience(payload.get("notify"))
    outcome = "finished" if payload.get("terminal") else "moved"
    task = "waiting"
    if payload.get("returned"):
        task = outcome = "returned"
    if payload.get("comment"):
        outcome += "_with_comment"
        task = outcome if payload.get("returned") else task
    pairs = ((task, waiting), (outcome, watchers))
    return [_notice(template, payload, audience) for template, audience in pairs if audience]


def _reminder_notice(payload: JsonObject) -> Notice:
    stage = int(str(payload["stage"]))
    template = "due_today" if stage == 0 else "due_soon" if stage < 0 else "overdue"
    parties = frozenset({"author"}) if stage > 0 else frozenset[str]()
    return _notice(template, payload, replace(_audience(payload.get("waiting")), parties=parties, acts=True))


def _notice(template: str, payload: JsonObject, audience: Audience) -> Notice:
    actor = as_object(payload.get("actor"))
    values = {
        "number": payload.get("number") or payload.get("documentNumber"),
        "subject": payload.get("title") or payload.get("subject"),
        "state": payload.get("stateLabel") or payload.get("to"),
        "action": payload.get("actionLabel") or payload.get("action"),
        "actor": actor.get("displayName"),
        "comment": payload.get("comment"),
        "revision": payload.get("revision"),
        "reason": payload.get("reason"),
        "days": payload.get("days"),
        "due": payload.get("due"),
        "dueOn": payload.get("dueOn"),
        "instance": payload.get("instancePublicId"),
    }
    return Notice(
        template=template,
        values={name: value for name, value in values.items() if value is not None},
        entity_type=str(payload.get("documentKind") or payload.get("kind") or ""),
        entity_id=str(payload.get("documentPublicId") or ""),
        actor=_id(actor.get("publicId") or payload.get("actorPublicId")),
        audience=audience,
        stand=_subject_state(payload),
    )


def add_facts(notice: Notice, facts: SubjectFacts | None) -> Notice:
    if facts is None:
        return notice
    days = [as_text(notice.values.get("dueOn")), facts.due_date.isoformat() if facts.due_date else None]
    further: dict[str, Json] = {
        "project": facts.context.get("projectCode"),
        "sender": facts.context.get("originatorCode"),
        # The text of a reminder contains the date.
        "dueOn": None if "due" in notice.values else min(filter(None, days), default=None),
    }
    return replace(notice, values={**notice.values, **{name: value for name, value in further.items() if value}})


def _subject_state(payload: JsonObject) -> SubjectState | None:
    entity = payload.get("entityId")
    if not entity:
        return None
    definition = _id(payload.get("definitionPublicId"))
    state = as_text(payload.get("to") or payload.get("state"))
    return SubjectState(str(entity), str(payload.get("entityType") or ""), state, definition)


def _audience(part: Json) -> Audience:
    people = as_object(part)
    return Audience(
        organizations=frozenset(UUID(str(as_object(row)["publicId"])) for row in as_list(people.get("organizations"))),
        users=frozenset(UUID(str(user)) for user in as_list(people.get("users"))),
    )


def _id(text: Json) -> UUID | None:
    return UUID(str(text)) if text else None


@dataclass(frozen=True, slots=True)
class NoticeText:
    title: Text
    message: Text


TEMPLATES: Mapping[str, NoticeText] = {
    "waiting": NoticeText(
        Text("{number} รอคุณดำเนินการ", "{number} awaits your action"),
        Text("“{subject}” อยู่ในสถานะ {state}", "“{subject}” now has the status {state}."),
    ),
    "unattended": NoticeText(
        Text("{number} ไม่มีผู้ดำเนินการ", "{number} awaits nobody"),
        Text(
            "ผู้ที่ “{subject}” รออยู่ปิดบัญชีหรือย้ายองค์กรแล้ว กรุณามอบหมายให้ผู้อื่น",
            "The assignee of “{subject}” closed the account or left the organization. Reassign it.",
        ),
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
            "{url} ไม่รับข้อความเลยตั้งแต่ {since} จึงหยุดส่ง แก้ไขปลายทางแล้วเปิดใช้อีกครั้งได้ ข้อความระหว่างที่หยุดจะไม่ถูกส่งย้อนหลัง",
            "{url} has accepted no message since {since}. Enable it again when it works; events in the meantime are not sent later.",
        ),
    ),
    "webhook_gone": NoticeText(
        Text("หยุดส่ง webhook ไปยัง {host}", "The webhook to {host} was disabled"),
        Text(
            "{url} ตอบว่าเลิกใช้แล้ว (410) จึงหยุดส่ง หากยังใช้อยู่ให้เปิดใช้อีกครั้ง",
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
    # Old notifications without a template, whose text the migration copied.
    "plain": NoticeText(Text("{title}", "{title}"), Text("{message}", "{message}")),
}

TITLE_LENGTH = 255


def render_notice(template: str, values: JsonObject, language: str) -> tuple[str, str]:
    """
    Return title and message.

    :param values: texts, or `{"th", "en"}`
    """
    words = {name: _translate(_to_past_tense(name, value), language) for name, value in values.items()}
    texts = TEMPLATES[template]
    title, message = _fill(texts.title, language, words), _fill(texts.message, language, words)
    return title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…", message


def _to_past_tense(name: str, value: object) -> object:
    if name != "action" or not isinstance(value, Mapping):
        return value
    label = past_tense(Text(str(value.get("th") or ""), str(value.get("en") or "")))
    return {"th": label.th, "en": label.en}


def _translate(value: object, language: str) -> str:
    if isinstance(value, Mapping):
        return str(value.get(language) or value.get("en") or "")
    return "" if value is None else str(value)


def _fill(text: Text, language: str, values: Mapping[str, str]) -> str:
    """Fill in one pass, so that a subject that contains `{state}` is printed unchanged."""
    pieces = (text.th if language == "th" else text.en).split("{")
    parts = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}")
        parts += [values.get(name, "–"), rest]
    return "".join(parts)
