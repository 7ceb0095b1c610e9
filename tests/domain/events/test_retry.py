"""What becomes of a failed delivery."""

from datetime import timedelta

import pytest

from saraban.events.domain import GiveUp, RetryAfter, next_attempt


class TestDecide:
    @pytest.mark.parametrize(
        ("attempts", "expected", "verdict"),
        [
            (1, False, RetryAfter(timedelta(milliseconds=500))),
            (2, False, RetryAfter(timedelta(seconds=1))),
            (3, False, GiveUp()),
            (9, False, GiveUp()),
            (1, True, GiveUp()),
        ],
    )
    def test_waits_twice_as_long_each_time_and_then_gives_up(
        self, attempts: int, expected: bool, verdict: RetryAfter | GiveUp
    ) -> None:
        assert next_attempt(attempts, expected=expected) == verdict
