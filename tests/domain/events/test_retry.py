"""What becomes of a failed delivery."""

from datetime import timedelta

import pytest

from saraban.events.domain import next_attempt


class TestDecide:
    @pytest.mark.parametrize(
        ("attempts", "expected", "verdict"),
        [
            (1, False, timedelta(milliseconds=500)),
            (2, False, timedelta(seconds=1)),
            (3, False, None),
            (9, False, None),
            (1, True, None),
        ],
    )
    def test_waits_twice_as_long_each_time_and_then_gives_up(
        self, attempts: int, expected: bool, verdict: timedelta | None
    ) -> None:
        assert next_attempt(attempts, expected=expected) == verdict
