"""What becomes of a failed delivery."""

from datetime import timedelta

import pytest

from saraban.events.domain.retry import Dead, RetryAt, decide


class TestDecide:
    @pytest.mark.parametrize(
        ("attempts", "expected", "verdict"),
        [
            (1, False, RetryAt(timedelta(milliseconds=500))),
            (2, False, RetryAt(timedelta(seconds=1))),
            (3, False, Dead()),
            (9, False, Dead()),
            (1, True, Dead()),
        ],
    )
    def test_waits_twice_as_long_each_time_and_then_gives_up(
        self, attempts: int, expected: bool, verdict: RetryAt | Dead
    ) -> None:
        assert decide(attempts, expected=expected) == verdict
