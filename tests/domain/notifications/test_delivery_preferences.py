"""When an e-mail goes out, and by which channels a notice comes."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saraban.identity.domain.account import DeliveryPreferences
from saraban.notifications.domain.delivery_preferences import (
    ACTION,
    KINDS,
    NoticeKind,
    channels_of,
    is_quiet,
    kind_of,
    send_time,
)
from saraban.notifications.domain.notices import TEMPLATES

BANGKOK = ZoneInfo("Asia/Bangkok")
GATHER = timedelta(minutes=4)
HOURS = st.integers(0, 23)
WISHES = st.builds(
    DeliveryPreferences,
    digest=st.booleans(),
    digest_hour=HOURS,
    quiet_from=st.none() | HOURS,
    quiet_until=st.none() | HOURS,
)
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def at(hour: int, minute: int = 0, day: int = 20) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=BANGKOK)


class TestGoesOutAt:
    @pytest.mark.parametrize(
        ("preferences", "told_at", "expected"),
        [
            (DeliveryPreferences(), at(10), at(10, 4)),
            (DeliveryPreferences(digest=True, digest_hour=8), at(10), at(8, day=21)),
            (DeliveryPreferences(digest=True, digest_hour=17), at(10), at(17)),
            (DeliveryPreferences(digest=True, digest_hour=10), at(10), at(10, day=21)),
            (DeliveryPreferences(quiet_from=20, quiet_until=7), at(19, 57), at(7, day=21)),
            (DeliveryPreferences(quiet_from=20, quiet_until=7), at(6, 30), at(7)),
            (DeliveryPreferences(quiet_from=20, quiet_until=7), at(7, 0), at(7, 4)),
            (DeliveryPreferences(quiet_from=12, quiet_until=13), at(12, 10), at(13)),
            (DeliveryPreferences(digest=True, digest_hour=6, quiet_from=20, quiet_until=7), at(10), at(7, day=21)),
            (DeliveryPreferences(quiet_from=8, quiet_until=8), at(8), at(8, 4)),
        ],
    )
    def test_waits_for_the_hour(self, preferences: DeliveryPreferences, told_at: datetime, expected: datetime) -> None:
        assert send_time(preferences, told_at=told_at, zone=BANGKOK, gather=GATHER) == expected

    @PATIENT
    @given(preferences=WISHES, told_at=MOMENTS, zone=st.sampled_from([BANGKOK, ZoneInfo("Europe/Berlin")]))
    def test_never_falls_into_quiet_hours_nor_gets_lost(
        self, preferences: DeliveryPreferences, told_at: datetime, zone: ZoneInfo
    ) -> None:
        found = send_time(preferences, told_at=told_at, zone=zone, gather=GATHER)

        assert not is_quiet(preferences, found, zone)
        assert told_at < found <= told_at + timedelta(days=2, hours=2)


class TestChannels:
    @given(
        kind=st.sampled_from(KINDS),
        by_mail=st.booleans(),
        in_app=st.booleans(),
        email=st.booleans(),
        mail_is_on=st.booleans(),
    )
    def test_leave_nobody_untold_who_has_to_act(
        self, *, kind: NoticeKind, by_mail: bool, in_app: bool, email: bool, mail_is_on: bool
    ) -> None:
        preferences = DeliveryPreferences(by_mail=by_mail, channels={kind: {"inApp": in_app, "email": email}})
        shown, sent = channels_of(preferences, kind, mail_is_on=mail_is_on)

        assert not (sent and not mail_is_on)
        assert shown or sent or (kind not in ACTION and not (by_mail and email))
        assert shown or not in_app


def test_every_template_has_a_kind() -> None:
    assert {kind_of(name) for name in TEMPLATES if name != "plain"} == set(KINDS)
