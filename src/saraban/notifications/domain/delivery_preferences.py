"""By which channels a person is told, and when the e-mail goes out: digests, quiet hours, several changes in one letter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from saraban.kit.json import JsonObject
from saraban.notifications.domain.delivery_preferences import ACTION, NoticeKind


@dataclass(frozen=True, slots=True)
class DeliveryPreferences:
    """
    What one person chose; hours are those of the deployment's zone.

    :param channels: by kind, `{"inApp": bool, "email": bool, "webhook": bool}`; a kind that is not there goes by the
        first two: nothing is sent to a machine that nobody asked for
    """

    by_mail: bool = True
    digest: bool = False
    digest_hour: int = 8
    quiet_from: int | None = None
    quiet_until: int | None = None
    channels: Mapping[str, JsonObject] = field(default_factory=dict)

    def chose(self, kind: NoticeKind, channel: str) -> bool:
        return bool(self.channels.get(kind, {}).get(channel, channel != "webhook"))


def channels_of(preferences: DeliveryPreferences, kind: NoticeKind, *, mail_is_on: bool) -> tuple[bool, bool]:
    """
    Return whether a notice goes into the application, and whether it goes by e-mail.

    :param mail_is_on: without, whoever wanted e-mail alone is told in the application: nothing gets lost
    """
    wants_mail = preferences.by_mail and preferences.chose(kind, "email")
    by_mail = wants_mail and mail_is_on
    in_app = preferences.chose(kind, "inApp") or (not by_mail and (wants_mail or kind in ACTION))
    return in_app, by_mail


def send_time(preferences: DeliveryPreferences, *, told_at: datetime, zone: ZoneInfo, gather: timedelta) -> datetime:
    """
    Return the moment from which an e-mail may be sent.

    :param gather: how long further changes of the same document are waited for
    """
    at = _next_hour(told_at, preferences.digest_hour, zone) if preferences.digest else told_at + gather
    return after_quiet(preferences, at, zone)


def is_quiet(preferences: DeliveryPreferences, at: datetime, zone: ZoneInfo) -> bool:
    if preferences.quiet_from is None or preferences.quiet_until is None:
        return False
    hour, first, end = at.astimezone(zone).hour, preferences.quiet_from, preferences.quiet_until
    return first <= hour < end if first <= end else hour >= first or hour < end


def after_quiet(preferences: DeliveryPreferences, at: datetime, zone: ZoneInfo) -> datetime:
    """Return `at`, or the end of the quiet hours that it falls into."""
    if not is_quiet(preferences, at, zone) or preferences.quiet_until is None:
        return at
    return _next_hour(at, preferences.quiet_until, zone)


def _next_hour(at: datetime, hour: int, zone: ZoneInfo) -> datetime:
    """The next time after `at` that the clock on the wall shows this full hour."""
    local = at.astimezone(zone)
    found = datetime.combine(local.date(), time(hour), zone)
    if found <= local:
        found = datetime.combine(local.date() + timedelta(days=1), time(hour), zone)
    return found.astimezone(UTC)
