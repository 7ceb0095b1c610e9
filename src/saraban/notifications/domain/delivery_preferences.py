"""Kinds of notices, their channels, and when e-mail is sent."""

from datetime import UTC, datetime, time, timedelta
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo

from saraban.identity.domain.account import DeliveryPreferences
from saraban.kit.errors import Text

NoticeKind = Literal["waiting", "reminder", "finished", "moved", "created", "revised", "cancelled", "webhook"]
KINDS: Final[tuple[NoticeKind, ...]] = get_args(NoticeKind)

# Notices that ask for an action always keep one channel.
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

_KIND_BY_TEMPLATE: Final[dict[str, NoticeKind]] = {
    **{kind: kind for kind in KINDS if kind not in {"reminder", "webhook"}},
    "moved_with_comment": "moved",
    "finished_with_comment": "finished",
    "returned": "waiting",
    "returned_with_comment": "waiting",
    "settled": "waiting",
    "unattended": "waiting",
    "webhook_failing": "webhook",
    "webhook_gone": "webhook",
    "webhook_address": "webhook",
    "due_soon": "reminder",
    "due_today": "reminder",
    "overdue": "reminder",
}


def kind_of(template: str) -> NoticeKind:
    return _KIND_BY_TEMPLATE[template]


def channels_of(preferences: DeliveryPreferences, kind: NoticeKind, *, mail_is_on: bool) -> tuple[bool, bool]:
    """
    Return (in the application, by e-mail).

    Without a mail server, notices for which only e-mail was chosen go to the application.
    """
    wants_mail = preferences.by_mail and preferences.chose(kind, "email")
    by_mail = wants_mail and mail_is_on
    in_app = preferences.chose(kind, "inApp") or (not by_mail and (wants_mail or kind in ACTION))
    return in_app, by_mail


def send_time(preferences: DeliveryPreferences, *, told_at: datetime, zone: ZoneInfo, gather: timedelta) -> datetime:
    at = _next_hour(told_at, preferences.digest_hour, zone) if preferences.digest else told_at + gather
    return after_quiet(preferences, at, zone)


def is_quiet(preferences: DeliveryPreferences, at: datetime, zone: ZoneInfo) -> bool:
    if preferences.quiet_from is None or preferences.quiet_until is None:
        return False
    hour, first, end = at.astimezone(zone).hour, preferences.quiet_from, preferences.quiet_until
    return first <= hour < end if first <= end else hour >= first or hour < end


def after_quiet(preferences: DeliveryPreferences, at: datetime, zone: ZoneInfo) -> datetime:
    if not is_quiet(preferences, at, zone) or preferences.quiet_until is None:
        return at
    return _next_hour(at, preferences.quiet_until, zone)


def _next_hour(at: datetime, hour: int, zone: ZoneInfo) -> datetime:
    local = at.astimezone(zone)
    moment = datetime.combine(local.date(), time(hour), zone)
    if moment <= local:
        moment = datetime.combine(local.date() + timedelta(days=1), time(hour), zone)
    return moment.astimezone(UTC)
