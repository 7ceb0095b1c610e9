"""The retry budgets, as tables (REQ-LCK-06 to REQ-LCK-08)."""

import pytest

from saraban.kit.errors import DomainError
from saraban.numbering.issue.domain import (
    Attempts,
    Failure,
    NumberingBusy,
    NumberingConflict,
    NumberingFailed,
    RetryBudget,
)


def delays(failure: Failure, *, elapsed: float = 0.0) -> tuple[list[float], type[DomainError]]:
    attempts, given = Attempts(RetryBudget()), []
    while True:
        try:
            given.append(attempts.after(failure, elapsed=elapsed))
        except DomainError as end:
            return given, type(end)


class TestAttempts:
    @pytest.mark.parametrize(
        ("failure", "expected", "end"),
        [
            (Failure.LOCK, [1, 2, 4, 8, 16], NumberingBusy),
            (Failure.CONFLICT, [0, 0], NumberingConflict),
            (Failure.CONNECTION, [1, 2, 4], NumberingFailed),
        ],
    )
    def test_follow_the_specification(self, failure: Failure, expected: list[float], end: type[DomainError]) -> None:
        assert delays(failure) == (expected, end)

    def test_stop_waiting_for_a_lock_at_the_deadline(self) -> None:
        assert delays(Failure.LOCK, elapsed=33.0) == ([1.0], NumberingBusy)

    def test_give_each_class_its_own_budget(self) -> None:
        attempts = Attempts(RetryBudget())
        attempts.after(Failure.CONFLICT, elapsed=0)
        attempts.after(Failure.CONFLICT, elapsed=0)

        assert attempts.after(Failure.CONNECTION, elapsed=0) == 1.0
        assert attempts.retries == 3

    def test_spend_nothing_on_a_number_that_was_taken(self) -> None:
        attempts = Attempts(RetryBudget())
        for _ in range(100):
            attempts.after(Failure.TAKEN, elapsed=0)

        assert attempts.retries == 0
        assert attempts.after(Failure.CONFLICT, elapsed=0) == 0.0

    @pytest.mark.parametrize("failure", [Failure.LOCK, Failure.CONFLICT, Failure.COLLISION, Failure.TAKEN])
    def test_end_at_the_deadline_whatever_they_wait_for(self, failure: Failure) -> None:
        with pytest.raises(NumberingBusy):
            Attempts(RetryBudget()).after(failure, elapsed=35.0)

    def test_end_at_the_deadline_of_a_lost_database_with_what_is_the_matter(self) -> None:
        with pytest.raises(NumberingFailed):
            Attempts(RetryBudget()).after(Failure.CONNECTION, elapsed=34.5)

    @pytest.mark.parametrize("failure", list(Failure))
    def test_are_too_late_for_what_kept_the_series_last(self, failure: Failure) -> None:
        attempts = Attempts(RetryBudget())
        attempts.met = failure

        expected = NumberingFailed if failure is Failure.CONNECTION else NumberingBusy
        assert type(attempts.too_late()) is expected
        assert type(Attempts(RetryBudget()).too_late()) is NumberingBusy

    def test_leave_less_and_less_time_to_wait(self) -> None:
        attempts = Attempts(RetryBudget(deadline=35))

        assert [attempts.left(elapsed) for elapsed in (0, 30, 40)] == [35, 5, 0]

    def test_say_when_to_come_back(self) -> None:
        attempts = Attempts(RetryBudget(lock=0))

        with pytest.raises(NumberingBusy) as caught:
            attempts.after(Failure.LOCK, elapsed=0)

        assert caught.value.retry_after == 3
