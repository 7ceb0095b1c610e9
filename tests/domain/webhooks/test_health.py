"""When a webhook is left alone: by time and by what was given up, never by a single bad hour."""

from datetime import UTC, datetime, timedelta

import pytest

from saraban.webhooks.domain import WebhookHealth

NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class TestHopeless:
    @pytest.mark.parametrize(
        ("age", "given_up", "expected"),
        [
            (HOUR, 3, False),
            (HOUR, 1000, False),
            (6 * HOUR, 99, False),
            (6 * HOUR, 100, True),
            (2 * DAY, 99, False),
            (3 * DAY, 2, False),
            (3 * DAY, 3, True),
        ],
    )
    def test_takes_days_or_a_hundred_messages(self, age: timedelta, given_up: int, *, expected: bool) -> None:
        assert WebhookHealth(NOW - age, given_up).is_hopeless(now=NOW) is expected

    def test_is_nothing_that_works(self) -> None:
        assert not WebhookHealth(None, 100).is_hopeless(now=NOW)


class TestAfter:
    def test_counts_from_the_first_failure_until_something_gets_through(self) -> None:
        first = WebhookHealth().after(delivered=False, gave_up=False, now=NOW)
        later = first.after(delivered=False, gave_up=True, now=NOW + HOUR)

        assert (first.failing_since, first.given_up) == (NOW, 0)
        assert (later.failing_since, later.given_up) == (NOW, 1)
        assert later.after(delivered=True, gave_up=False, now=NOW + DAY) == WebhookHealth()
